/* SPDX-License-Identifier: MIT */
/* Makes system calls of numbers that were new when this was written, or are not yet given out.
 * Stopped by: seccomp (what it does not know is refused). */
#include "attack.h"

#define FIRST 456 /* after fchmodat2, which programs do use */
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
