/* SPDX-License-Identifier: MIT */
/* Makes itself less urgent. A thread of the lowest priority that holds a lock of the kernel, of a
 * directory or of its memory, while others of the job occupy the CPUs, holds up whoever needs that
 * lock: a neighbour, the daemon, the jail. The filter may also answer by itself that it is done, so
 * this looks what has become of the priority. Stopped by: seccomp. */
#include "attack.h"

#include <sys/resource.h>

#define IOPRIO_WHO_PROCESS 1
#define IOPRIO_IDLE (3 << 13)
#define SLICE_NS 100000000

struct attributes {
    uint32_t size, policy;
    uint64_t flags;
    int32_t nice;
    uint32_t priority;
    uint64_t runtime, deadline, period;
};

struct urgency {
    int nice, policy;
    long io;
    struct attributes all;
};

static struct urgency urgency(void)
{
    struct urgency now = {.policy = sched_getscheduler(0)};
    errno = 0;
    now.nice = getpriority(PRIO_PROCESS, 0);
    now.io = syscall(SYS_ioprio_get, IOPRIO_WHO_PROCESS, 0);
    if (errno != 0 || now.policy < 0 ||
        syscall(SYS_sched_getattr, 0, &now.all, sizeof(now.all), 0) < 0)
        unclear("reading the own priority: %s", errno_name(errno));
    return now;
}

/* Judges what the call WHAT with the result RESULT has changed SINCE. */
static void judge(long result, const char *what, const struct urgency *since)
{
    if (result < 0)
        barred("%s", what);
    struct urgency now = urgency();
    if (memcmp(&now, since, sizeof(now)) != 0)
        succeeded("%s: nice %d, policy %d, I/O %#lx, slice of %llu ns", what, now.nice, now.policy,
                  (unsigned long)now.io, (unsigned long long)now.all.runtime);
    if (result >= 0)
        (void)printf("refused: %s: done nothing\n", what);
}

int main(void)
{
    struct urgency before = urgency();
    struct attributes longer = before.all, idle = {.size = sizeof(idle), .policy = SCHED_IDLE};
    longer.runtime = SLICE_NS;
    judge(syscall(SYS_sched_setattr, 0, &longer, 0), "sched_setattr(a longer slice)", &before);
    judge(syscall(SYS_ioprio_set, IOPRIO_WHO_PROCESS, 0, IOPRIO_IDLE), "ioprio_set(idle)", &before);
    judge(setpriority(PRIO_PROCESS, 0, 19), "setpriority(19)", &before);
    judge(setpriority(PRIO_PROCESS, (id_t)getpid(), 19), "setpriority(19) by its pid", &before);
    judge(setpriority(PRIO_PGRP, 0, 19), "setpriority(19) of its group", &before);
    for (int policy = 0; policy < 16; policy++) {
        char what[64];
        (void)snprintf(what, sizeof(what), "sched_setscheduler(%d)", policy);
        judge(sched_setscheduler(0, policy, &(struct sched_param){0}), what, &before);
        (void)snprintf(what, sizeof(what), "sched_setscheduler(%d) and what is forked", policy);
        judge(sched_setscheduler(0, policy | SCHED_RESET_ON_FORK, &(struct sched_param){0}), what,
              &before);
    }
    judge(syscall(SYS_sched_setattr, 0, &idle, 0), "sched_setattr(SCHED_IDLE)", &before);
    all_barred();
}
