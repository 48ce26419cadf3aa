/* SPDX-License-Identifier: MIT */
/* Has the host write what everybody has changed to its disks, by syncfs of a file that every job
 * can read. The filter may also answer by itself that it is done, so this looks whether the kernel
 * sees the call: it knows no descriptor -1. Stopped by: seccomp. */
#include "attack.h"

int main(void)
{
    int fd = open("/usr", O_RDONLY | O_DIRECTORY);
    if (fd < 0)
        unclear("open /usr: %s", errno_name(errno));
    if (syscall(SYS_syncfs, fd) < 0) {
        barred("syncfs of /usr");
        all_barred();
    }
    if (syscall(SYS_syncfs, -1) < 0 && errno == EBADF)
        succeeded("the file system of /usr has been written to its disk");
    refused("the kernel does not see syncfs: done nothing");
}
