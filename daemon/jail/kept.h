/* SPDX-License-Identifier: MIT */
#pragma once
/* What a jail keeps of a session from one command to the next (enum link_act): processes, which are
 * bounded while no command runs as well, and files. A jail that has run a command of a session runs
 * no other job; the session ends with the jail.
 *
 * Invariant: while no command runs, the processes that live use at most as much CPU time together
 * as one command may, and at no time more memory or locks than the session may; if they do, all are
 * killed. */

#include "enclosure.h"
#include "tree_locks.h"

#include <stdbool.h>
#include <stdint.h>

struct kept {
    bool is_on;         /* the jail is that of a session */
    bool shares_domain; /* it is in the Landlock domain of the commands */
    struct tree_locks locks;
    uint64_t memory_bytes; /* limit of the processes together that the jail enforces; 0: none */
    uint64_t cpu_ms;       /* CPU time of the processes that live while no command runs */
    uint64_t reaped_ns;    /* CPU time of those that have died and whose parent was gone */
    uint64_t idle_used_ns; /* what all had used when the last command ended */
};

/* Prepares for the command REQUEST, which gets CGROUP (-1: none): *ret_cwd becomes the work
 * directory, borrowed, which is made for the first. A negative errno. */
int kept_begin(struct kept *kept, struct enclosure *enclosure, const struct link_job *request,
               int cgroup, int *ret_cwd);

/* Ends a command: reaps what has died; all that lives stays. */
void kept_end_command(struct kept *kept, const struct enclosure *enclosure);

/* Kills and reaps all processes of the session, while no command runs. */
void kept_kill(void);

/* The same while a command runs, whose program the caller reaps: as process 1 of the jail's pid
 * namespace. */
void kept_stop_all(void);

/* Waits until LINK can be read, and looks at the processes that live meanwhile. Returns at once
 * where there is no session. */
void kept_wait(struct kept *kept, const struct enclosure *enclosure, int link);

/* Ends the session: kills all processes and empties the directories. Without effect where there is
 * no session. */
void kept_end(struct kept *kept, struct enclosure *enclosure);
