/* SPDX-License-Identifier: MIT */
/* Allocates memory by brk and uses it. Argument: MiB.
 * Stopped by: rlimits (RLIMIT_AS), cgroup (memory.max). */
#include "attack.h"

int main(int argc, char **argv)
{
    long goal = argument_number(argc, argv, 1);
    for (long i = 0; i < goal; i++) {
        char *piece = sbrk(1 << 20);
        if (piece == (void *)-1) {
            barred("sbrk after %ld MiB", i);
            all_barred();
        }
        (void)memset(piece, 1, 1 << 20);
    }
    succeeded("%ld MiB by brk", goal);
}
