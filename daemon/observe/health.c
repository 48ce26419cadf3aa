/* SPDX-License-Identifier: MIT */
#include "health.h"

#include <stddef.h>

const char *health_look(struct health *health, const struct health_view *view)
{
    bool progressed = view->dispatched != health->dispatched;
    health->dispatched = view->dispatched;
    if (!view->can_dispatch)
        health->stuck = 0;
    else if (progressed)
        health->stuck = 1; /* the loop may be about to dispatch the next one */
    else
        health->stuck++;
    health->overdue = view->is_overdue ? health->overdue + 1 : 0;
    health->broken = view->has_no_jail && view->has_jobs ? health->broken + 1 : 0;
    if (health->overdue >= HEALTH_STUCK_LOOKS)
        return "a job runs on past its deadline";
    if (health->stuck >= HEALTH_STUCK_LOOKS)
        return "jobs wait, slots are idle, and nothing is started";
    if (health->broken >= HEALTH_BROKEN_LOOKS)
        return "jobs wait, and no slot can start a jail";
    return NULL;
}
