/* SPDX-License-Identifier: MIT */
/* Sets the CPU affinity of another process, to its current value, so that nothing changes.
 * Stopped by: pid_namespace (unless it is the parent), user_namespace, seccomp. */
#include "attack.h"

int main(int argc, char **argv)
{
    cpu_set_t cpus;
    pid_t pid = argument_process(argc, argv, 1);
    if (sched_getaffinity(pid, sizeof(cpus), &cpus) < 0) {
        barred("sched_getaffinity(%d)", (int)pid);
        if (sched_getaffinity(0, sizeof(cpus), &cpus) < 0)
            CPU_SET(0, &cpus);
    }
    if (sched_setaffinity(pid, sizeof(cpus), &cpus) == 0)
        succeeded("set the CPUs of process %d", (int)pid);
    barred("sched_setaffinity(%d)", (int)pid);
    all_barred();
}
