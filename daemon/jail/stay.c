/* SPDX-License-Identifier: MIT */
#include "stay.h"

#include "proto/util.h"

#include <assert.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* Time for a judge to take a pair: it looks at the texts first. */
#define TAKES_MS 2000

static void forget(struct stay *stay)
{
    close_fd(stay->pidfd);
    close_fd(stay->seat);
    close_fd(stay->schedstat);
    int proc = stay->proc;
    *stay = (struct stay)STAY_NULL;
    stay->proc = proc;
}

bool stay_is_possible(const struct enclosure *enclosure, const struct link_job *request,
                      const int fds[LINK_JOB_FDS])
{
    static const enum layer needed[] = {LAYER_USER_NAMESPACE, LAYER_PID_NAMESPACE,
                                        LAYER_MOUNT_NAMESPACE, LAYER_RLIMITS, LAYER_TREE_KILL};
    for (size_t i = 0; i < ARRAY_SIZE(needed); i++)
        if (!layer_in(enclosure->layers, needed[i]))
            return false;
    if (layer_in(enclosure->layers, LAYER_LANDLOCK) && enclosure->ruleset < 0)
        return false; /* each job has a ruleset of its own */
    return request->act == LINK_RUN && request->client_no > 0 && request->candidate_argc > 0 &&
           request->is_joined != 1 && request->warm == 1 && request->has_bench != 1 &&
           request->readable_count == 0 && fds[LINK_CGROUP] < 0 && fds[LINK_COLLECTED] < 0 &&
           enclosure->work.is_tmpfs && request->strings_length <= STAY_STRINGS_MAX;
}

static bool is_alive(const struct stay *stay)
{
    struct pollfd end = {.fd = stay->pidfd, .events = POLLIN};
    return stay->pid > 0 && poll(&end, 1, 0) == 0;
}

void stay_end(struct stay *stay)
{
    siginfo_t end;
    /* A pid may be that of another process once children.c has reaped this one. */
    if (is_alive(stay))
        (void)kill(stay->pid, SIGKILL);
    while (stay->pidfd >= 0 && waitid(P_PIDFD, (id_t)stay->pidfd, &end, WEXITED | __WALL) < 0 &&
           errno == EINTR)
        ;
    forget(stay);
}

unsigned stay_sockets(const struct stay *stay)
{
    return stay->seat >= 0 ? 2 : 0;
}

/* --- the first pair ------------------------------------------------------------------------ */

int stay_offer(struct stay *stay)
{
    int ends[2];
    assert(stay->pid == 0 && stay->seat < 0);
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
        return -errno;
    stay->seat = ends[0];
    return ends[1];
}

void stay_note(struct stay *stay, const struct link_job *request, const char *strings, pid_t pid,
               int pidfd)
{
    assert(stay->pid == 0);
    if (pid > 0 && stay->seat >= 0) {
        stay->pidfd = fcntl(pidfd, F_DUPFD_CLOEXEC, 0);
        stay->schedstat = run_delay_open(stay->proc, pid);
    }
    if (stay->pidfd < 0 || stay->schedstat < 0) {
        forget(stay); /* it finds its seat gone, and ends with its pair */
        return;
    }
    stay->pid = pid;
    stay->is_on = true;
    stay->client_no = request->client_no;
    stay->any_address_space = request->any_address_space;
    stay->limits = request->limits;
    stay->length = request->strings_length;
    memcpy(stay->strings, strings, stay->length);
}

/* --- those after it ------------------------------------------------------------------------ */

static bool is_alike(const struct stay *stay, const struct link_job *request, const char *strings)
{
    struct limits limits = request->limits;
    /* The supervisor sees to the wall clock, and a turn names the CPU time. */
    limits.of[LIMIT_WALL_CLOCK] = stay->limits.of[LIMIT_WALL_CLOCK];
    limits.of[LIMIT_CPU] = stay->limits.of[LIMIT_CPU];
    return stay->client_no == request->client_no &&
           stay->any_address_space == request->any_address_space &&
           memcmp(&limits, &stay->limits, sizeof(limits)) == 0 &&
           stay->length == request->strings_length &&
           memcmp(stay->strings, strings, stay->length) == 0;
}

/* Waits at most MS for a word of the judge, which may be that it has ended. */
static enum link_seat hear(const struct stay *stay, int ms, struct link_seat_message *ret)
{
    struct pollfd seat = {.fd = stay->seat, .events = POLLIN};
    int r = poll(&seat, 1, ms) == 1 ? link_receive_seat(stay->seat, ret) : 0;
    return r == 1 ? (enum link_seat)ret->what : 0;
}

void stay_prepare(struct stay *stay, bool is_possible, const struct link_job *request,
                  const char *strings)
{
    if (!is_possible || !is_alive(stay) || !is_alike(stay, request, strings))
        stay_end(stay);
}

pid_t stay_begin(struct stay *stay, const struct link_job *request, const int fds[LINK_PAIR_CODE],
                 int *ret_pidfd)
{
    const struct link_turn turn = {.cpu_ms = request->limits.of[LIMIT_CPU]};
    struct link_seat_message message;
    assert(!stay->is_on && !stay->is_done);
    int pidfd = stay->pid > 0 ? fcntl(stay->pidfd, F_DUPFD_CLOEXEC, 0) : -1;
    if (pidfd >= 0) {
        stay->before = run_times_read(stay->schedstat);
        if (link_send_turn(stay->seat, &turn, fds) == 0 &&
            hear(stay, TAKES_MS, &message) == LINK_SEAT_TAKES) {
            stay->is_on = true;
            *ret_pidfd = pidfd;
            return stay->pid;
        }
        close_fd(pidfd);
    }
    stay_end(stay);
    /* It may have read the job, which another is to read from its start. */
    (void)lseek(fds[STDIN_FILENO], 0, SEEK_SET);
    return 0;
}

/* --- the end of a pair --------------------------------------------------------------------- */

bool stay_hear(struct stay *stay)
{
    struct link_seat_message message = {0};
    stay->is_done = hear(stay, 0, &message) == LINK_SEAT_DONE;
    stay->max_rss_bytes = message.max_rss_bytes;
    if (!stay->is_done)
        stay->seat = close_fd(stay->seat);
    return stay->is_done;
}

void stay_finish(struct stay *stay, struct children_usage *usage, uint64_t *ret_run_delay_ns)
{
    if (!stay->is_done) {
        /* What is known of a process that has ended is of all its pairs. */
        usage->cpu_us -= MIN(stay->before.run_ns / 1000, usage->cpu_us);
        if (*ret_run_delay_ns != UINT64_MAX)
            *ret_run_delay_ns -= MIN(stay->before.delay_ns, *ret_run_delay_ns);
        stay_end(stay);
        return;
    }
    struct run_times now = run_times_read(stay->schedstat);
    usage->cpu_us += (now.run_ns - MIN(now.run_ns, stay->before.run_ns)) / 1000;
    usage->max_rss_bytes = MAX(usage->max_rss_bytes, stay->max_rss_bytes);
    *ret_run_delay_ns = now.delay_ns - MIN(now.delay_ns, stay->before.delay_ns);
    stay->is_on = stay->is_done = false;
}
