/* SPDX-License-Identifier: MIT */
/* Takes a descriptor out of a process by pidfd_getfd.
 * Stopped by: pid_namespace (unless it is the parent), user_namespace, landlock, seccomp. */
#include "attack.h"

int main(int argc, char **argv)
{
    pid_t pid = argument_process(argc, argv, 1);
    int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
    if (pidfd < 0) {
        barred("pidfd_open(%d)", (int)pid);
        all_barred();
    }
    for (int fd = 0; fd < 16; fd++)
        if (syscall(SYS_pidfd_getfd, pidfd, fd, 0) >= 0)
            succeeded("took descriptor %d of process %d", fd, (int)pid);
    barred("pidfd_getfd");
    all_barred();
}
