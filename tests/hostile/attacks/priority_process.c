/* SPDX-License-Identifier: MIT */
/* Sets the priority, the scheduler and the I/O priority of another process, to their current
 * values. Stopped by: pid_namespace (unless it is the parent), user_namespace, seccomp. */
#include "attack.h"

#include <sys/resource.h>

#define IOPRIO_WHO_PROCESS 1
#define IOPRIO_NONE 0
#define IOPRIO_BEST_EFFORT_4 ((2 << 13) | 4)

int main(int argc, char **argv)
{
    pid_t pid = argument_process(argc, argv, 1);
    struct sched_param parameters = {0};
    errno = 0;
    int priority = getpriority(PRIO_PROCESS, (id_t)pid);
    if (errno != 0)
        barred("getpriority(%d)", (int)pid);
    if (setpriority(PRIO_PROCESS, (id_t)pid, errno ? 10 : priority) == 0)
        succeeded("set the priority of process %d", (int)pid);
    barred("setpriority(%d)", (int)pid);
    if (sched_setscheduler(pid, SCHED_OTHER, &parameters) == 0)
        succeeded("set the scheduler of process %d", (int)pid);
    barred("sched_setscheduler(%d)", (int)pid);
    if (syscall(SYS_ioprio_set, IOPRIO_WHO_PROCESS, pid, IOPRIO_BEST_EFFORT_4) == 0)
        succeeded("set the I/O priority of process %d", (int)pid);
    barred("ioprio_set(%d)", (int)pid);
    all_barred();
}
