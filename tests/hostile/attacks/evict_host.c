/* SPDX-License-Identifier: MIT */
/* Takes a file that every job reads out of the host's memory, by POSIX_FADV_DONTNEED: others wait
 * for the disk, and find out. The filter may also answer by itself that it is done, so this looks
 * whether the kernel sees the call: it knows no descriptor -1. Stopped by: seccomp. */
#include "attack.h"

int main(void)
{
    int fd = open("/usr/bin/env", O_RDONLY);
    if (fd < 0)
        unclear("open /usr/bin/env: %s", errno_name(errno));
    int error = posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
    if (error != 0) {
        errno = error;
        barred("posix_fadvise(POSIX_FADV_DONTNEED)");
        all_barred();
    }
    if (posix_fadvise(-1, 0, 0, POSIX_FADV_DONTNEED) == EBADF)
        succeeded("the host has dropped what it can of /usr/bin/env");
    refused("the kernel does not see the call: done nothing");
}
