/* SPDX-License-Identifier: MIT */
/* Sets the priority, the scheduler and the I/O priority of another process, to their current
 * values. The filter may also answer by itself that it is done, so this looks whether the kernel
 * sees the call: it knows no process of the highest number.
 * Stopped by: pid_namespace (unless it is the parent), user_namespace, seccomp. */
#include "attack.h"

#include <sys/resource.h>

#define IOPRIO_WHO_PROCESS 1
#define IOPRIO_NONE 0
#define IOPRIO_BEST_EFFORT_4 ((2 << 13) | 4)

#define NOBODY INT32_MAX

/* Judges the RESULT of a call for process PID, which for NOBODY had the result FOR_NOBODY. */
static void judge(long result, long for_nobody, const char *what, pid_t pid)
{
    if (result < 0)
        barred("%s(%d)", what, (int)pid);
    else if (for_nobody < 0)
        succeeded("%s of process %d", what, (int)pid);
    else
        (void)printf("refused: %s(%d): the kernel does not see the call\n", what, (int)pid);
}

int main(int argc, char **argv)
{
    pid_t pid = argument_process(argc, argv, 1);
    struct sched_param parameters = {0};
    errno = 0;
    int priority = getpriority(PRIO_PROCESS, (id_t)pid);
    if (errno != 0)
        barred("getpriority(%d)", (int)pid);
    priority = errno ? 10 : priority;
    long nobody = setpriority(PRIO_PROCESS, NOBODY, priority);
    judge(setpriority(PRIO_PROCESS, (id_t)pid, priority), nobody, "setpriority", pid);
    nobody = sched_setscheduler(NOBODY, SCHED_OTHER, &parameters);
    judge(sched_setscheduler(pid, SCHED_OTHER, &parameters), nobody, "sched_setscheduler", pid);
    nobody = syscall(SYS_ioprio_set, IOPRIO_WHO_PROCESS, NOBODY, IOPRIO_BEST_EFFORT_4);
    judge(syscall(SYS_ioprio_set, IOPRIO_WHO_PROCESS, pid, IOPRIO_BEST_EFFORT_4), nobody,
          "ioprio_set", pid);
    all_barred();
}
