/* SPDX-License-Identifier: MIT */
#pragma once
/* Whether the daemon does what it is there for. The service manager's watchdog is fed only then; a
 * daemon that is starved is killed and started anew, and clients submit again what was not
 * answered.
 *
 * That the question is asked at all shows that the event loop turns. Looked at twice in each period
 * of the watchdog, the daemon is ill where
 *
 *  - a job waits that may run, a slot is idle, and since the look before nothing was dispatched:
 * the two are brought together from the loop, so between two looks something is wrong in here;
 *  - a job runs on, well past its deadline: its clock does not work;
 *  - jobs wait, and for three periods no slot has had a jail that came up. The daemon retries by
 *    itself, with the layers that it found at its start. Started anew it finds out what the host
 *    grants now, and does with less, or ends and says which layer cannot be had and why.
 *
 * Not ill is a daemon whose slots are all busy, however long; whose clients do not read; that
 * drains; or that has nothing to do, with jails or without. Pure. */

#include <stdbool.h>
#include <stdint.h>

/* The looks for which it may be so. */
#define HEALTH_STUCK_LOOKS 2
#define HEALTH_BROKEN_LOOKS 6

/* What is seen in one look. */
struct health_view {
    bool can_dispatch;   /* a job that may run waits, and a slot is idle */
    uint64_t dispatched; /* jobs, since the start */
    bool is_overdue;     /* a job runs well past its deadline */
    bool has_no_jail;    /* no slot has one, and none has come up when it was last tried */
    bool has_jobs;       /* some wait */
};

struct health {
    uint64_t dispatched;
    unsigned stuck, overdue, broken; /* looks in a row */
};

/* NULL: it is well. Otherwise what is wrong, for people. */
const char *health_look(struct health *health, const struct health_view *view);
