/* SPDX-License-Identifier: MIT */
/* The shape of jail that a slot wants: its confinement, whether with the network, whether with an
 * interpreter. */
#include "slot.h"

bool slot_shape_fits(const struct slot *slot, const struct slot_job *job)
{
    return slot_jail_is_of(&slot->jail, job->confinement, &job->wish);
}

void slot_shape_choose(struct slot *slot)
{
    bool is_pending = slot->job.phase == SLOT_JOB_PENDING;
    struct confinement *confinement =
        is_pending ? slot->job.confinement : slot->config->confinement;
    struct jail_wish wish = is_pending ? slot->job.wish : slot->jail.wish;
    /* A shape that nobody waits for must not keep the slot from one that the host may grant. */
    if (!is_pending && slot_lacks_jail(slot))
        wish.networked = false;
    /* A slot that has once had a job for an interpreter keeps one. */
    wish.warm = wish.warm || slot->jail.wish.warm || confinement_is_eager(confinement);
    slot_jail_reshape(&slot->jail, confinement, &wish);
}

void slot_renew(struct slot *slot)
{
    if (slot_is_idle(slot) && slot->jail.confinement != slot->config->confinement)
        slot_jail_replace(&slot->jail);
}
