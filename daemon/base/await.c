/* SPDX-License-Identifier: MIT */
#include "await.h"
#include "clock.h"

#include "proto/util.h"

#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

bool await_readable(int fd, uint64_t deadline_ns)
{
    for (;;) {
        uint64_t now_ns = deadline_ns > 0 ? clock_now_ns() : 0;
        struct pollfd poll_fd = {.fd = fd, .events = POLLIN};
        int left_ms = now_ns < deadline_ns ? (int)((deadline_ns - now_ns) / NS_PER_MS) + 1 : 0;
        int n = poll(&poll_fd, 1, left_ms);
        if (n >= 0 || errno != EINTR)
            return n == 1;
    }
}

void kill_by_pidfd(int pidfd)
{
    if (pidfd >= 0)
        (void)syscall(SYS_pidfd_send_signal, pidfd, SIGKILL, NULL, 0);
}
