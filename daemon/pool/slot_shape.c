/* SPDX-License-Identifier: MIT */
/* The shape of jail that a slot wants: its confinement, whether with the network, whether with an
 * interpreter. */
#include "slot.h"

#include <string.h>

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

void slot_note_spawned(struct slot *slot, int r)
{
    const char *reason = confinement_take_reason(slot->jail.confinement);
    if (reason)
        log_slot(slot->config->log, LOG_WARNING, LOG_MESSAGE_ZYGOTE_LOST, slot->index, 0,
                 "the zygote, of which jails with an interpreter are copies, is lost: %s", reason);
    if (r == 0) {
        slot->config->tally->jails_started++;
        return;
    }
    slot->config->tally->jails_lost++;
    log_slot(slot->config->log, LOG_ERR, LOG_MESSAGE_JAIL_NOT_STARTED, slot->index, 0,
             "cannot start a jail: %s", strerror(-r));
}
