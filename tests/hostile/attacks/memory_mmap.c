/* SPDX-License-Identifier: MIT */
/* Allocates memory by mmap and uses it. Argument: MiB.
 * Stopped by: rlimits (RLIMIT_AS), cgroup (memory.max). */
#include "attack.h"

#include <sys/mman.h>

int main(int argc, char **argv)
{
    long goal = argument_number(argc, argv, 1);
    for (long i = 0; i < goal; i++)
        if (mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE,
                 -1, 0) == MAP_FAILED) {
            barred("mmap after %ld MiB", i);
            all_barred();
        }
    succeeded("%ld MiB by mmap", goal);
}
