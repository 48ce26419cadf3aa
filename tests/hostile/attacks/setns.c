/* SPDX-License-Identifier: MIT */
/* Enters the namespaces of another process, through /proc and by a pidfd.
 * Stopped by: pid_namespace with filesystem, user_namespace, seccomp. */
#include "attack.h"

int main(int argc, char **argv)
{
    static const char *const kinds[] = {"mnt", "net", "ipc", "uts", "pid", "user", "cgroup"};
    pid_t pid = argument_process(argc, argv, 1);
    char path[64];
    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        (void)snprintf(path, sizeof(path), "/proc/%d/ns/%s", (int)pid, kinds[i]);
        int fd = open(path, O_RDONLY);
        if (fd < 0)
            barred("open %s", path);
        else if (setns(fd, 0) == 0)
            succeeded("entered %s", path);
        else
            barred("setns to %s", path);
    }
    int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
    if (pidfd < 0)
        barred("pidfd_open(%d)", (int)pid);
    else if (setns(pidfd, CLONE_NEWNS) == 0)
        succeeded("entered the mount namespace of process %d", (int)pid);
    else
        barred("setns by a pidfd");
    all_barred();
}
