/* SPDX-License-Identifier: MIT */
/* Preloaded into a daemon: while the file exists that EPOLL_FULL names, epoll watches no more
 * files, as above fs.epoll.max_user_watches. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>

static char *path;

/* The daemon clears its environment. */
__attribute__((constructor)) static void keep_path(void)
{
    const char *name = getenv("EPOLL_FULL");
    path = name ? strdup(name) : NULL;
}

int epoll_ctl(int epfd, int op, int fd, struct epoll_event *event)
{
    if (op == EPOLL_CTL_ADD && path && access(path, F_OK) == 0) {
        errno = ENOSPC;
        return -1;
    }
    return (int)syscall(SYS_epoll_ctl, epfd, op, fd, event);
}
