/* SPDX-License-Identifier: MIT */
#pragma once
/* What the jail looks at while a job runs, because the kernel does not tell it: whether the job's
 * tmpfs or the host's file system is full; where no control group bounds memory, how much the job's
 * processes take together; where none counts CPU time, whether processes have ended; and how many
 * locks of files they hold. */

#include "tree_known.h"
#include "tree_locks.h"
#include "work.h"

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct looks {
    uint64_t memory_bytes;        /* limit of the tree that the jail enforces; 0: none */
    bool is_suspect;              /* to count that takes long, so the tree is held meanwhile */
    bool took_too_much;           /* the tree did */
    bool lacked_room;             /* the host's file system was full */
    bool met_full_disk;           /* the tmpfs was full, whatever is there at the job's end */
    bool candidate_met_full_disk; /* that of a joined candidate was */
    uint64_t next_ns;             /* when to look again */
    struct tree_locks locks;
    struct tree_known known; /* not looked at unless it is on */
};

/* Looks if it is time to, at WORK and at the processes that PROC shows, without those of the jail
 * and TWIN itself; but no longer at these once one of the COUNT descriptors UNTIL is ready. Returns
 * after how many milliseconds to look again; -1: there is nothing more to find out. The caller ends
 * a tree that took too much or holds too many locks. */
int looks_take(struct looks *looks, const struct work *work, int proc, struct tree_time_except twin,
               struct pollfd *until, nfds_t count);
