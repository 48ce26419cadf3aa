/* SPDX-License-Identifier: MIT */
#pragma once
/* For how much of its time the account of the running job is complete, and what its processes ran
 * and waited in that time.
 *
 * Theory of operation. When a process ends, the kernel adds its CPU time to that of the parent that
 * waits for it. If the parent ignores SIGCHLD, nobody gets that time, unless a control group counts
 * it. A job whose work is done by such children seems to do nothing; and whatever else of it wants
 * a CPU meanwhile seems to be starved by others.
 *
 * So the jail looks every now and then how many pids its namespace has given out, and how many are
 * in use. If both have grown alike since the last look, nothing has ended, and the times of what
 * lives are all there is. Otherwise nobody can tell what ran between the two looks: that is a gap.
 * The kernel counts a wait when it is over. So a wait in a gap may be counted in the interval after
 * it, which therefore belongs to the gap, too.
 *
 * Children that were waited for, and threads, leave gaps as well: their times are known, but not
 * that they were the only ones to end. */

#include "tree_time.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tree_known {
    bool is_on;
    /* At the last look: */
    uint64_t looked_ns; /* CLOCK_MONOTONIC */
    int64_t last_pid;   /* but for those that the looks themselves took */
    size_t tasks;       /* of the whole namespace */
    uint64_t run_ns, wait_ns, living_run_ns;
    bool is_exact;    /* last_pid and tasks belong together */
    bool is_calm;     /* nothing had ended since the look before */
    bool has_stirred; /* something may have run since the caller last cleared this */
    /* Since the job started: */
    uint64_t gap_ns;       /* time in gaps */
    uint64_t gap_until_ns; /* when the last one ended, or the job started; CLOCK_MONOTONIC */
    uint64_t known_run_ns, known_wait_ns; /* outside of gaps, as in struct tree_time */
    int64_t probes;                       /* pids that the looks took */
};

/* Begins with a job that starts at STARTED_NS, when the namespace has given out the pid LAST_PID
 * (-1: not known) and has TASKS threads. */
void tree_known_begin(struct tree_known *known, uint64_t started_ns, int64_t last_pid,
                      size_t tasks);

/* Looks. PROC shows all processes of this process's own pid namespace and no others; EXCEPT as in
 * tree_time_read(). */
void tree_known_look(struct tree_known *known, int proc, struct tree_time_except except);

/* Looks, and replaces the times in *time, which tree_time_read_settled() has just read, by those
 * outside of gaps. Returns how long the gaps were, in milliseconds, rounded up. */
uint32_t tree_known_tell(struct tree_known *known, int proc, struct tree_time_except except,
                         struct tree_time *time);
