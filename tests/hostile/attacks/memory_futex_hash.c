/* SPDX-License-Identifier: MIT */
/* Has the kernel make a large table for the futexes of a process. Nobody counts it. Stopped by:
 * seccomp. */
#include "attack.h"

#include <sys/prctl.h>

#define PR_FUTEX_HASH_ 78 /* since Linux 6.16 */
#define SET_SLOTS 1
#define GET_SLOTS 2

int main(void)
{
    if (prctl(PR_FUTEX_HASH_, SET_SLOTS, 4096UL, 0, 0) < 0 ||
        prctl(PR_FUTEX_HASH_, GET_SLOTS, 0, 0, 0) != 4096) {
        barred("PR_FUTEX_HASH");
        all_barred();
    }
    succeeded("a table of 4096 slots, and as many more as the kernel has memory for");
}
