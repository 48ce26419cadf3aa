/* SPDX-License-Identifier: MIT */
#include "slot_view.h"

static enum slot_activity activity(const struct slot *slot)
{
    switch (slot->jail.state) {
    case SLOT_JAIL_STARTING:
        return SLOT_COMES_UP;
    case SLOT_JAIL_UP:
        return slot->state == SLOT_IDLE ? SLOT_WAITS : SLOT_WORKS;
    case SLOT_JAIL_LEAVING:
        return SLOT_WAITS;
    case SLOT_JAIL_SWEEPING:
    case SLOT_JAIL_DYING:
    case SLOT_JAIL_STOPPED:
        return SLOT_IS_BROKEN;
    }
    return SLOT_IS_BROKEN;
}

void slot_look(const struct slot *slot, struct slot_view *ret)
{
    bool is_running = slot->state == SLOT_RUNNING;
    *ret = (struct slot_view){
        .index = slot->index,
        .activity = activity(slot),
        .jail_pid = slot->jail.pid,
        .owner = slot->job.owner,
        .started_ns = slot->job.result.started_ns,
        .trouble = slot_lacks_jail(slot) ? slot->jail.trouble : NULL,
        .remaining_ms = is_running ? slot_job_remaining_ms(&slot->job, clock_now_ns()) : 0,
    };
}
