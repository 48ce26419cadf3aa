/* SPDX-License-Identifier: MIT */
#include "template_life.h"
#include "own_state.h"
#include "shield.h"

#include "proto/util.h"

#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Returns 1, 0 at the end of the link, or a negative errno: this process cannot have so many
 * descriptors, say. Those that are missing become -1. */
static int receive_fds(int link, int ret[SENT_COUNT], bool *ret_second)
{
    uint32_t mask = 0;
    int sent[SENT_COUNT];
    size_t count, next = 0;
    struct iovec iov = {&mask, sizeof(mask)};
    ssize_t n = link_receive_packet(link, &iov, 1, sent, SENT_COUNT, &count);
    if (n <= 0)
        return (int)n;
    *ret_second = (mask & SENT_SECOND) != 0;
    for (unsigned i = 0; i < SENT_COUNT; i++)
        ret[i] = mask & 1u << i && next < count ? sent[next++] : -1;
    return 1;
}

struct life {
    const struct template_parts *parts;
    struct lockdown lockdown; /* of all jobs, but for their descriptors */
    int link;
};

/* In the fork: becomes the job. */
_Noreturn static void run_job(struct life *life, const int fds[SENT_COUNT], bool is_second)
{
    struct lockdown *lockdown = &life->lockdown;
    struct lockdown_error error = {0};
    char go;
    if (fds[SENT_GATE] >= 0 && read(fds[SENT_GATE], &go, 1) != 1)
        _exit(127);
    lockdown->fds[STDIN_FILENO] = fds[SENT_STDIN];
    lockdown->fds[STDOUT_FILENO] = fds[SENT_STDOUT];
    lockdown->fds[STDERR_FILENO] = fds[SENT_STDERR];
    /* These go to numbers that the link has, and what is on its own place by then. */
    lockdown->fds[LINK_PAIR_READ] = fds[SENT_WIRE_READ];
    lockdown->fds[LINK_PAIR_WRITE] = fds[SENT_WIRE_WRITE];
    lockdown->fd_count = fds[SENT_WIRE_READ] >= 0 ? LINK_PAIR_STATUS : LINK_STANDARD_FDS;
    lockdown->cwd = fds[SENT_CWD];
    lockdown->ruleset = fds[SENT_RULESET];
    if (!lockdown_again(lockdown, &error)) {
        (void)!write(fds[SENT_FAILURE], &error, sizeof(error));
        _exit(127);
    }
    (void)prctl(PR_SET_DUMPABLE, 1); /* as after an execve, the program may inspect itself */
    /* Among them is the pipe, whose end tells the jail that the program runs. */
    (void)close_range(lockdown->fd_count, ~0U, 0);
    life->parts->start->interpreter->run_loaded(is_second);
}

/* Forks a job. Returns its pid or a negative errno. Functions that modules want to be called in a
 * process that forks are not: no code of the class runs in the template any more. */
static int32_t fork_one(struct life *life, const int fds[SENT_COUNT], bool is_second)
{
    long pid = syscall(SYS_clone, CLONE_PARENT, NULL, NULL, NULL, NULL);
    if (pid == 0)
        run_job(life, fds, is_second);
    return pid < 0 ? -errno : (int32_t)pid;
}

/* Tells the pid of a job that it has forked, or a negative errno. Returns false if the template
 * must end. */
static bool serve(struct life *life)
{
    int fds[SENT_COUNT];
    bool is_second = false;
    int r = receive_fds(life->link, fds, &is_second);
    if (r == 0)
        return false;
    int32_t told = r < 0 ? r : fork_one(life, fds, is_second);
    for (unsigned i = 0; r > 0 && i < SENT_COUNT; i++)
        close_fd(fds[i]);
    return send(life->link, &told, sizeof(told), MSG_NOSIGNAL) == (ssize_t)sizeof(told);
}

/* Has the interpreter load everything. */
static void load(const struct life *life, struct link_loaded *ret)
{
    const struct template_parts *parts = life->parts;
    struct own_state before;
    const char *why = own_state_read(&before) ? NULL : strerror(errno);
    if (!why)
        parts->start->interpreter->load(life->lockdown.argv, life->lockdown.envp,
                                        parts->class_parts + 1, parts->is_pair, ret);
    if (!why && ret->error == 0)
        why = own_state_change(&before);
    if (!why)
        return;
    ret->error = EINVAL;
    (void)snprintf(ret->why, sizeof(ret->why), "%s", why);
}

/* Keeps the link, on the first number after those of a program, and closes everything else that the
 * jail had open. */
static bool keep_link(struct life *life)
{
    if (life->link != LINK_FD && dup3(life->link, LINK_FD, O_CLOEXEC) < 0)
        return false;
    life->link = LINK_FD;
    return close_range(LINK_FD + 1, ~0U, 0) == 0;
}

_Noreturn void template_live(const struct template_parts *parts, int link,
                             const struct template_ends *ends)
{
    struct life life = {.parts = parts, .lockdown = *parts->lockdown, .link = link};
    struct link_loaded loaded = {.error = 0};
    struct lockdown_error error = {0};
    char go;
    life.lockdown.fds[STDIN_FILENO] = ends->input;
    life.lockdown.fds[STDOUT_FILENO] = life.lockdown.fds[STDERR_FILENO] = ends->output;
    life.lockdown.ret_error = &error;
    /* First: no filter can be installed once the pass is given up. */
    if (!enclosure_guards_signals(parts->enclosure) && shield_low_pids(parts->enclosure->pass) < 0)
        _exit(127);
    lockdown_confine(&life.lockdown);
    (void)prctl(PR_SET_NAME, "rubricd-class");
    start_leave_jail(parts->start);
    (void)prctl(PR_SET_DUMPABLE, 1); /* the jail is to look at it */
    if (!keep_link(&life))
        _exit(127);
    load(&life, &loaded);
    if (send(LINK_FD, &loaded, sizeof(loaded), MSG_NOSIGNAL) != (ssize_t)sizeof(loaded) ||
        recv(LINK_FD, &go, 1, 0) != 1 || prctl(PR_SET_DUMPABLE, 0) < 0 ||
        send(LINK_FD, &go, 1, MSG_NOSIGNAL) != 1)
        _exit(0);
    while (serve(&life))
        ;
    _exit(0);
}
