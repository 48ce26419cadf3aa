/* SPDX-License-Identifier: MIT */
#pragma once
/* How long the processes of the running job have run, and how long they were ready to run without
 * a CPU. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct tree_time {
    uint64_t run_ns;  /* CPU time: of what lives, and of what it has waited for */
    uint64_t wait_ns; /* runnable without a CPU: of the threads that live, each counted in full, up
                         to the last time that it got one */
    bool is_ready;    /* one of the threads runs or waits for a CPU now */
    uint64_t usual_wait_ns; /* how long such a thread has waited as a rule before it ran */
    size_t tasks;           /* threads of all processes that PROC shows, whosever they are */

    /* To find out whether anything has run since an earlier call, if no thread has begun or ended
     * meanwhile: run_ns counts in ticks what threads ran that have ended. */
    uint64_t living_run_ns; /* CPU time of the threads that live, up to when each stopped last */
    bool is_running;        /* one of the threads, however urgent, runs or could run now */
    bool is_partial;        /* some thread could not be read */
};

/* A child that does not belong to the job, although some of its children do. Neither its own time
 * counts, nor the time of children that it had waited for before the job. */
struct tree_time_except {
    pid_t pid;           /* 0: there is none */
    uint64_t earlier_ns; /* CPU time of those children */
    pid_t inner;         /* a child of it that belongs to no job either; 0: there is none */
};

/* Sums up all descendants of this process but EXCEPT, whatever session they have moved to, from
 * PROC: a directory that hides no process, or -1 for /proc. The kernel does not tell how long
 * ended threads had waited. Threads that have made themselves less urgent than this process wait
 * by their own choice: of them only the CPU time counts. A negative errno if PROC cannot be
 * read. */
int tree_time_read(int proc, struct tree_time_except except, struct tree_time *ret);

/* Does the same for a job that started ELAPSED_NS ago. The kernel counts a wait when it is over. So
 * where a long one may be under way, waits for at most TREE_TIME_SETTLE_MS until some of the job
 * has run, and counts a usual wait in addition if the job could run again. If nothing has run,
 * though something could, counts all time that is not accounted for as a wait: of threads that take
 * the CPUs from each other, one would have run. */
int tree_time_read_settled(int proc, uint64_t elapsed_ns, struct tree_time_except except,
                           struct tree_time *ret);

#define TREE_TIME_SETTLE_MS 500
