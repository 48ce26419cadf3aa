/* SPDX-License-Identifier: MIT */
/* The states of a slot: the arrows between them, and what holds in each. */
#include "slot.h"

#define TO(state) (1u << SLOT_##state)

bool slot_may_enter(enum slot_state from, enum slot_state to)
{
    static const unsigned next[] = {
        [SLOT_DOWN] = TO(IDLE),
        [SLOT_IDLE] = TO(LAUNCHING) | TO(DOWN),
        [SLOT_LAUNCHING] = TO(RUNNING) | TO(IDLE) | TO(DOWN),
        [SLOT_RUNNING] = TO(RUNNING) | TO(ENDING) | TO(DOWN), /* itself: time is left */
        [SLOT_ENDING] = TO(ENDING) | TO(IDLE) | TO(DOWN),     /* itself: 1, 2 and 3 in slot.c */
    };
    return next[from] >> to & 1;
}

bool slot_is_consistent(const struct slot *slot)
{
    bool is_up = slot->jail.state == SLOT_JAIL_UP;
    enum slot_job_phase phase = slot->job.phase;
    switch (slot->state) {
    case SLOT_DOWN:
        return !is_up;
    case SLOT_IDLE:
        return is_up;
    case SLOT_LAUNCHING:
        return is_up && phase == SLOT_JOB_TAKEN;
    case SLOT_RUNNING:
        return is_up && phase == SLOT_JOB_TAKEN && slot->job.program_pidfd >= 0;
    case SLOT_ENDING:
        return is_up && (phase == SLOT_JOB_TAKEN || phase == SLOT_JOB_ENDED);
    }
    return false;
}

void slot_stop(struct slot *slot)
{
    slot_jail_stop(&slot->jail, slot->state == SLOT_IDLE);
}
