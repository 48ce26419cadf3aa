/* SPDX-License-Identifier: MIT */
#pragma once
/* Decides whether the daemon is healthy. Only a healthy daemon feeds the service manager's
 * watchdog; the manager kills and restarts one that does not, and clients resubmit what was not
 * answered.
 *
 * The daemon looks twice in each period of the watchdog, from the event loop, which turns
 * therefore. It is not healthy if
 *
 *  - a job that may run waits, a slot is idle, and nothing was dispatched since the last look: the
 *    loop dispatches at once, so something in the daemon is broken;
 *  - a job runs well past its deadline: deadlines are not enforced;
 *  - jobs wait or were refused for want of a jail, and for three periods no slot has had one. The
 * daemon retries by itself, but with the layers that it found at its start. A restarted one probes
 * what the host grants now, and does with less, or ends and says which layer cannot be had and why.
 *
 * A daemon is healthy while all its slots are busy, however long; while its clients do not read;
 * while it drains; and while it has nothing to do, with jails or without. Pure. */

#include <stdbool.h>
#include <stdint.h>

/* Looks in a row after which each condition counts. */
#define HEALTH_STUCK_LOOKS 2
#define HEALTH_BROKEN_LOOKS 6

/* A snapshot of the daemon. */
struct health_view {
    bool can_dispatch;   /* a job that may run waits, and a slot is idle */
    uint64_t dispatched; /* jobs, since the start */
    bool is_overdue;     /* a job runs well past its deadline */
    bool has_no_jail;    /* no slot has one, and each slot's last try to start one failed */
    bool has_jobs;       /* some wait, or have been refused since there is no jail */
};

struct health {
    uint64_t dispatched;
    unsigned stuck, overdue, broken; /* looks in a row */
};

/* Takes one look. Returns NULL if the daemon is healthy, otherwise what is wrong, for people. */
const char *health_look(struct health *health, const struct health_view *view);
