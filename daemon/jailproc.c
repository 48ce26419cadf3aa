/* SPDX-License-Identifier: MIT */
#include "jailproc.h"
#include "jail/link.h"

#include "proto/util.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

static int set_up_actions(posix_spawn_file_actions_t *actions, int link_fd)
{
    int r = posix_spawn_file_actions_addopen(actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    if (r == 0)
        r = posix_spawn_file_actions_addopen(actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    if (r == 0)
        r = posix_spawn_file_actions_adddup2(actions, link_fd, LINK_FD);
    if (r == 0)
        r = posix_spawn_file_actions_addclosefrom_np(actions, LINK_FD + 1);
    return -r;
}

/* Nothing of the daemon's environment: no credential is in any jail's /proc/PID/environ. */
static int spawn(const char *jail_path, const char *directory, int link_fd, pid_t *ret_pid)
{
    char *argv[] = {(char *)(uintptr_t)jail_path, (char *)(uintptr_t)directory, NULL};
    char *envp[] = {NULL};
    posix_spawn_file_actions_t actions;
    int r = -posix_spawn_file_actions_init(&actions);
    if (r < 0)
        return r;
    r = set_up_actions(&actions, link_fd);
    if (r == 0)
        r = -posix_spawn(ret_pid, jail_path, &actions, NULL, argv, envp);
    (void)posix_spawn_file_actions_destroy(&actions);
    return r;
}

int jailproc_spawn(const char *jail_path, const char *directory, struct jailproc *ret)
{
    int fds[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) < 0)
        return -errno;
    _cleanup_close_ int ours = fds[0], theirs = fds[1];
    if (fcntl(ours, F_SETFL, O_NONBLOCK) < 0)
        return -errno;

    pid_t pid = 0;
    int r = spawn(jail_path, directory, theirs, &pid);
    if (r < 0)
        return r;
    /* Nobody else waits for our children, so the pid is still this one's. */
    int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
    if (pidfd < 0) {
        r = -errno;
        (void)kill(pid, SIGKILL);
        (void)waitpid(pid, NULL, 0);
        return r;
    }
    *ret = (struct jailproc){.pid = pid, .pidfd = pidfd, .link_fd = TAKE_FD(ours)};
    return 0;
}
