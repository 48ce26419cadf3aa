/* SPDX-License-Identifier: MIT */
/* Makes system calls with recent numbers, and with numbers not yet assigned.
 * Stopped by: seccomp (the filter refuses unknown calls). */
#include "attack.h"

#define FIRST 456 /* after fchmodat2, which programs use */
#define LAST 1023

int main(void)
{
    for (long number = FIRST; number <= LAST; number++) {
        errno = 0;
        long result = syscall(number, -1L, -1L, -1L, -1L, -1L, -1L);
        if (result >= 0 || (errno != ENOSYS && errno != EPERM))
            succeeded("call %ld is known: %s", number, result >= 0 ? "done" : errno_name(errno));
    }
    refused("calls %d to %d: %s", FIRST, LAST, errno_name(errno));
}
