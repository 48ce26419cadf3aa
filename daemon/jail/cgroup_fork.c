/* SPDX-License-Identifier: MIT */
#include "cgroup_fork.h"

#include "proto/util.h"

#include <assert.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>

static pid_t fork_where_we_are(uint64_t flags, int *ret_pidfd)
{
    long pid = syscall(SYS_clone, flags | CLONE_PIDFD | SIGCHLD, NULL, ret_pidfd, NULL, NULL);
    return pid < 0 ? -errno : (pid_t)pid;
}

pid_t cgroup_fork(int leaf_fd, uint64_t flags, uint64_t pass, int *ret_pidfd, bool *ret_must_enter)
{
    int pidfd = -1;
    struct clone_args args = {
        .flags = flags | CLONE_PIDFD | (leaf_fd >= 0 ? CLONE_INTO_CGROUP : 0),
        .pidfd = (uintptr_t)&pidfd,
        .exit_signal = flags & CLONE_PARENT ? 0 : SIGCHLD, /* a sibling has that of its parent */
        .cgroup = leaf_fd >= 0 ? (uint64_t)leaf_fd : 0,
    };
    bool must_enter = false;
    pid_t pid = (pid_t)syscall(SYS_clone3, &args, sizeof(args), 0, 0, 0, pass);
    if (pid < 0)
        pid = -errno;
    if (pid == -ENOSYS) {
        must_enter = leaf_fd >= 0;
        pid = fork_where_we_are(flags, &pidfd);
    }
    if (pid >= 0)
        *ret_must_enter = must_enter;
    if (pid > 0)
        *ret_pidfd = pidfd;
    return pid;
}

static int write_procs(int leaf_fd, const char *pid)
{
    _cleanup_close_ int fd = openat(leaf_fd, "cgroup.procs", O_WRONLY | O_NOFOLLOW | O_CLOEXEC);
    ssize_t n = (ssize_t)strlen(pid);
    return fd < 0 || write(fd, pid, (size_t)n) != n ? -errno : 0;
}

int cgroup_enter(int leaf_fd)
{
    return write_procs(leaf_fd, "0");
}

int cgroup_move(int leaf_fd, pid_t pid)
{
    char text[16];
    assert(pid > 1); /* the kernel would take 0 for the jail itself */
    (void)snprintf(text, sizeof(text), "%d", (int)pid);
    return write_procs(leaf_fd, text);
}
