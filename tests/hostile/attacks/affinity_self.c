/* SPDX-License-Identifier: MIT */
/* Binds itself to one CPU. With many threads there, a job waits for a CPU that nobody but itself
 * uses, while its other CPUs are idle: if that moved its deadline, it would gain time.
 * Stopped by: seccomp. */
#include "attack.h"

int main(void)
{
    cpu_set_t cpus, one;
    if (sched_getaffinity(0, sizeof(cpus), &cpus) < 0)
        CPU_SET(0, &cpus);
    CPU_ZERO(&one);
    for (int cpu = 0; cpu < CPU_SETSIZE && CPU_COUNT(&one) == 0; cpu++)
        if (CPU_ISSET(cpu, &cpus))
            CPU_SET(cpu, &one);
    if (sched_setaffinity(0, sizeof(one), &one) == 0)
        succeeded("bound itself to one CPU");
    barred("sched_setaffinity(0)");
    all_barred();
}
