/* SPDX-License-Identifier: MIT */
#include "starvation.h"

#include "daemon/base/clock.h"
#include "proto/util.h"

/* The larger of a part of the limit and this time. */
#define STEP_PART 20
#define STEP_MIN_NS (10 * NS_PER_MS)

/* By the threads' own account. Of the time that they waited together, `foreign` is what others had
 * of the job's CPUs. The rest is what the job's threads took from each other. The same share of the
 * time in which any of them was runnable, which is at most `active`, is lost. */
static double lost_by_threads(const struct starvation *s)
{
    double elapsed = (double)(s->elapsed_ns - MIN(s->unknown_ns, s->elapsed_ns));
    double run = (double)s->run_ns, wait = (double)s->wait_ns;
    double left_by_job = MAX(elapsed * s->cpu_percent / 100 - run, 0.0);
    double foreign = MIN(wait, left_by_job), active = MIN(elapsed, run + wait);
    return foreign > 0 ? active * foreign / (run + foreign) : 0;
}

/* By the account of the cgroup, which includes processes that have ended. It is too high where the
 * kernel holds the group back for its own limit: while the job ran on all that it may use, it lost
 * nothing. */
static double lost_by_cgroup(const struct starvation *s)
{
    double at_full_speed = (double)s->run_ns * 100 / MAX(s->cpu_percent, 1u);
    double most = MAX((double)s->elapsed_ns - at_full_speed, 0.0);
    return MIN((double)s->pressure_ns, most);
}

uint64_t starvation_lost_ns(const struct starvation *starvation)
{
    double threads = lost_by_threads(starvation), cgroup = lost_by_cgroup(starvation);
    return MIN((uint64_t)MAX(threads, cgroup), starvation->elapsed_ns);
}

uint64_t starvation_step_ns(uint64_t limit_ns)
{
    return MAX(limit_ns / STEP_PART, STEP_MIN_NS);
}

static enum starvation_verdict judge(uint64_t limit_ns, uint64_t elapsed_ns, uint64_t lost_ns,
                                     uint64_t due_ns, uint64_t *ret_deadline_ns)
{
    uint64_t end_ns = MAX(due_ns, elapsed_ns);
    uint64_t wanted_ns = limit_ns + MIN(lost_ns, elapsed_ns);
    uint64_t deadline_ns = MIN(wanted_ns, limit_ns * STARVATION_FACTOR_MAX);
    if (wanted_ns < end_ns + starvation_step_ns(limit_ns))
        return STARVATION_OVER;
    if (deadline_ns <= end_ns)
        return STARVATION_STARVED;
    *ret_deadline_ns = deadline_ns;
    return STARVATION_MOVE;
}

enum starvation_verdict starvation_judge(uint64_t limit_ns, uint64_t elapsed_ns, uint64_t lost_ns,
                                         uint64_t due_ns, uint64_t *ret_deadline_ns)
{
    enum starvation_verdict verdict = judge(limit_ns, elapsed_ns, lost_ns, due_ns, ret_deadline_ns);
    if (verdict == STARVATION_MOVE || elapsed_ns >= due_ns)
        return verdict;
    /* It is over if it is even if all the time until its deadline is lost, too. */
    uint64_t unused_ns, most_ns = lost_ns + (due_ns - elapsed_ns);
    verdict = judge(limit_ns, due_ns, most_ns, due_ns, &unused_ns);
    return verdict == STARVATION_OVER ? STARVATION_OVER : STARVATION_OPEN;
}
