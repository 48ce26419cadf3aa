/* SPDX-License-Identifier: MIT */
/* Takes all that the kernel grants one uid of something, so that a job that runs at the same time
 * is refused. Arguments: take or look; watches, pipes, in_flight or signals; for take, the name of
 * a file that it makes when it has all, and then waits. It begins to take when it gets SIGUSR1,
 * which is awaited once there is a file of that name and "-waits": the supervisor must not lack
 * what it needs to start this job. Stopped by: own_uid; signals by rlimits, with a user namespace.
 */
#include "neighbour.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>

#define DESCRIPTORS 256
#define POLLED 120
#define PIPE_BYTES (1 << 20)
#define PIPE_DEFAULT 65536

/* Each of these takes one more. Returns false if the kernel refuses it. */

static bool watch(void)
{
    static int polled[POLLED], poller = -1, next = POLLED;
    if (next == POLLED) {
        poller = epoll_create1(0);
        next = 0;
    }
    if (polled[next] == 0)
        polled[next] = eventfd(0, 0);
    if (poller < 0 || polled[next] < 0)
        unclear("descriptors: %s", errno_name(errno));
    return epoll_ctl(poller, EPOLL_CTL_ADD, polled[next++], &(struct epoll_event){0}) == 0;
}

/* The kernel makes pipes smaller before it refuses any. */
static bool fill_pipe(void)
{
    int ends[2];
    if (pipe(ends) < 0)
        return false;
    int size = fcntl(ends[1], F_GETPIPE_SZ);
    (void)fcntl(ends[1], F_SETPIPE_SZ, PIPE_BYTES);
    errno = EPERM;
    return size == PIPE_DEFAULT;
}

static bool send_descriptor(void)
{
    static int ends[2] = {-1, -1};
    static int sent;
    union {
        char bytes[CMSG_SPACE(sizeof(int))];
        struct cmsghdr align;
    } control = {.bytes = {0}};
    char byte = 0;
    struct iovec data = {&byte, 1};
    struct msghdr message = {
        .msg_iov = &data,
        .msg_iovlen = 1,
        .msg_control = control.bytes,
        .msg_controllen = sizeof(control.bytes),
    };
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    *header = (struct cmsghdr){CMSG_LEN(sizeof(int)), SOL_SOCKET, SCM_RIGHTS};
    memcpy(CMSG_DATA(header), &(int){STDIN_FILENO}, sizeof(int));
    if (sent++ % 64 == 0 && socketpair(AF_UNIX, SOCK_STREAM, 0, ends) < 0)
        unclear("socketpair: %s", errno_name(errno));
    return sendmsg(ends[0], &message, 0) == 1;
}

static bool queue_signal(void)
{
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1};
    int timer;
    return syscall(SYS_timer_create, CLOCK_MONOTONIC, &event, &timer) == 0;
}

static const struct {
    const char *name;
    bool (*take)(void);
} quotas[] = {
    {"watches", watch},
    {"pipes", fill_pipe},
    {"in_flight", send_descriptor},
    {"signals", queue_signal},
};

static bool (*find(const char *name))(void)
{
    for (size_t i = 0; i < COUNT_OF(quotas); i++)
        if (strcmp(quotas[i].name, name) == 0)
            return quotas[i].take;
    unclear("there is no %s", name);
}

int main(int argc, char **argv)
{
    const char *name = argument(argc, argv, 2);
    bool (*take)(void) = find(name);
    struct rlimit descriptors = {DESCRIPTORS, DESCRIPTORS};
    (void)setrlimit(RLIMIT_NOFILE, &descriptors);
    if (strcmp(argument(argc, argv, 1), "look") == 0) {
        if (!take())
            succeeded("another job has taken all %s: %s", name, errno_name(errno));
        refused("%s are left", name);
    }
    const char *file = argument(argc, argv, 3);
    await_go(file);
    while (take())
        ;
    make(file, "");
    for (;;)
        (void)pause();
}
