/* SPDX-License-Identifier: MIT */
#include "interrupt.h"

#include <assert.h>
#include <signal.h>
#include <sys/signalfd.h>

int interrupt_init(struct interrupt *ret)
{
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
    sigset_t set;
    (void)sigemptyset(&set);
    for (size_t i = 0; i < ARRAY_SIZE(signals); i++) {
        struct sigaction action;
        /* The kernel queues a blocked signal even if it is ignored, so leave ignored ones alone. */
        if (sigaction(signals[i], NULL, &action) == 0 && action.sa_handler != SIG_IGN)
            (void)sigaddset(&set, signals[i]);
    }
    int fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    if (fd < 0)
        return -errno;
    (void)sigprocmask(SIG_BLOCK, &set, NULL);
    assert(ret->fd < 0);
    ret->fd = fd;
    return 0;
}

unsigned interrupt_count(struct interrupt *interrupt)
{
    struct signalfd_siginfo info;
    unsigned n = 0;
    while (interrupt->fd >= 0 && read(interrupt->fd, &info, sizeof(info)) == sizeof(info))
        n++;
    return n;
}

void interrupt_deinit(struct interrupt *interrupt)
{
    interrupt->fd = close_fd(interrupt->fd);
}
