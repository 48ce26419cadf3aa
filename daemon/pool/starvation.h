/* SPDX-License-Identifier: MIT */
#pragma once
/* Decides, at a job's deadline or shortly before, what becomes of it: whether it is over, or has to
 * get the time back for which it waited for a CPU. Pure.
 *
 * Theory of operation. A job may take LIMIT of wall clock on a host that does nothing else. While
 * it is ready to run and others have the CPU, its clock stands still, so to say: the time that it
 * has lost so far is taken off the time that has passed. If that is less than LIMIT, the deadline
 * moves to where the job reaches LIMIT if it loses no more:
 *
 *     deadline = LIMIT + lost
 *
 * There the question is put again. So a job that goes on losing time moves on, in ever smaller
 * steps: one that does nothing but compute to LIMIT * (run + wait) / run. To move there at once, as
 * if it was to lose time at the same rate for ever, would be a gift to one that is starved only at
 * first. Time that it sleeps counts against it as ever.
 *
 * For some intervals nobody knows what ran, because a process ended whose CPU time was not
 * accounted for. The job may have used all CPUs then, so such an interval never counts as lost.
 *
 * A job cannot make itself starve. Threads that wait for each other's CPU time leave no CPU idle:
 * what they wait counts only as far as the job's CPUs were not running the job itself. In any case
 * a deadline moves to at most STARVATION_FACTOR_MAX times LIMIT, each time but the last by at least
 * starvation_step_ns(). A job that has not had its time by then is starved: nothing is known about
 * it. */

#include <stdint.h>

#define STARVATION_FACTOR_MAX 10

/* What is known of a job while it runs. Times in nanoseconds. */
struct starvation {
    uint64_t elapsed_ns;  /* since its program started */
    uint64_t unknown_ns;  /* part of elapsed_ns of which run_ns and wait_ns tell nothing */
    uint64_t run_ns;      /* CPU time of the whole tree */
    uint64_t wait_ns;     /* sum over its threads: runnable without a CPU; 0 if not known */
    uint64_t pressure_ns; /* its cgroup was runnable and none of it ran; 0 if not known */
    unsigned cpu_percent; /* what the job could use at most: 100 for each CPU, or a lower limit */
};

/* A deadline moves by at least this time, as long as it may: an idle sleeper waits for a CPU too,
 * whenever it wakes. */
uint64_t starvation_step_ns(uint64_t limit_ns);

/* How long the job stood still because others had the CPUs, at most elapsed_ns. Trusts no member of
 * STARVATION but elapsed_ns and cpu_percent. */
uint64_t starvation_lost_ns(const struct starvation *starvation);

enum starvation_verdict {
    STARVATION_OVER,    /* it has had its time, or will have had it at its deadline */
    STARVATION_MOVE,    /* *ret_deadline_ns is later than now, and than the deadline was */
    STARVATION_STARVED, /* it has not had its time, and its deadline cannot move further */
    STARVATION_OPEN,    /* it is too early to tell: ask again at the deadline */
};

/* Judges a job with the limit LIMIT_NS that has lost LOST_NS of ELAPSED_NS, and whose deadline is
 * DUE_NS or has passed. Only before DUE_NS is the verdict STARVATION_OPEN, if it
 * depends on what the job gets until then. For STARVATION_MOVE stores the new deadline in
 * *ret_deadline_ns. Both deadlines are counted as elapsed_ns is. */
enum starvation_verdict starvation_judge(uint64_t limit_ns, uint64_t elapsed_ns, uint64_t lost_ns,
                                         uint64_t due_ns, uint64_t *ret_deadline_ns);
