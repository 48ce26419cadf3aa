/* SPDX-License-Identifier: MIT */
#pragma once
/* A slot as status and metrics show it. Reads only.
 *
 * May include: slot. */

#include "slot.h"

enum slot_activity {
    SLOT_COMES_UP,  /* its jail was spawned and is not up */
    SLOT_WAITS,     /* it has a jail and no job */
    SLOT_WORKS,     /* its jail has a job */
    SLOT_IS_BROKEN, /* its jail is being replaced, or is gone for good */
};

struct slot_view {
    unsigned index;
    enum slot_activity activity;
    pid_t jail_pid;        /* 0: there is no jail */
    void *owner;           /* of the job; NULL: no job */
    uint64_t started_ns;   /* when the job's program started; 0: it has not */
    uint64_t remaining_ms; /* while the program runs: until its deadline */
    const char *trouble;   /* why the last attempt at a jail failed; NULL: it did not. Borrowed */
    bool is_retiring;      /* the pool has one slot too many (pool.h) */
};

/* All but `is_retiring`, which is the pool's to know. */
void slot_look(const struct slot *slot, struct slot_view *ret);
