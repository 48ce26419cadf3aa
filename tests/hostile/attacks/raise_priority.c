/* SPDX-License-Identifier: MIT */
/* Raises its own priority: nice, real time, locked memory, I/O.
 * Stopped by: user_namespace (no CAP_SYS_NICE, no CAP_IPC_LOCK), rlimits (RLIMIT_MEMLOCK). */
#include "attack.h"

#include <sys/mman.h>
#include <sys/resource.h>

#define IOPRIO_WHO_PROCESS 1
#define IOPRIO_REAL_TIME (1 << 13)

int main(void)
{
    struct sched_param parameters = {.sched_priority = 1};
    if (setpriority(PRIO_PROCESS, 0, -5) == 0)
        succeeded("nice -5");
    barred("setpriority(-5)");
    if (sched_setscheduler(0, SCHED_FIFO, &parameters) == 0)
        succeeded("SCHED_FIFO");
    barred("sched_setscheduler(SCHED_FIFO)");
    if (syscall(SYS_ioprio_set, IOPRIO_WHO_PROCESS, 0, IOPRIO_REAL_TIME) == 0)
        succeeded("real-time I/O");
    barred("ioprio_set(real time)");
    if (mlockall(MCL_CURRENT) == 0)
        succeeded("mlockall");
    barred("mlockall");
    all_barred();
}
