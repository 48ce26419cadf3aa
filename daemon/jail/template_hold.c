/* SPDX-License-Identifier: MIT */
#include "template_hold.h"
#include "children.h"
#include "template_look.h"

#include "daemon/base/clock.h"
#include "proto/util.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Time that killed processes have to die. */
#define KILL_MS 5000

_Static_assert(TEMPLATE_PIDS <= (int)ENCLOSURE_PIDS_OF_JOB, "no job has a pid of the jail's");

/* --- barring -------------------------------------------------------------------------------- */

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define LOW_HALF 0
#else
#define LOW_HALF 4
#endif
/* Refuses CALL if its argument INDEX, a pid, is one of the jail's own. */
#define BAR(call, index)                                                           \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##call, 0, 5),                         \
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS,                                         \
                 (unsigned)offsetof(struct seccomp_data, args[index]) + LOW_HALF), \
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 2, 0),                              \
        BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, TEMPLATE_PIDS, 1, 0),                  \
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),                      \
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

int template_bar(void)
{
    static struct sock_filter instructions[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BAR(prlimit64, 0),
        BAR(sched_setattr, 0),
        BAR(sched_setscheduler, 0),
        BAR(sched_setparam, 0),
        BAR(setpriority, 1),
        BAR(ioprio_set, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {.len = ARRAY_SIZE(instructions), .filter = instructions};
    return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) < 0 ? -errno : 0;
}

/* --- what the kernel says ------------------------------------------------------------------- */

bool template_stop(const struct template *template)
{
    const uint64_t deadline_ns = clock_now_ns() + TEMPLATE_ANSWER_MS * NS_PER_MS;
    siginfo_t info = {.si_pid = 0};
    sigset_t changes, before;
    (void)sigemptyset(&changes);
    (void)sigaddset(&changes, SIGCHLD);
    /* Blocked, so that the wait is woken by the change. */
    (void)sigprocmask(SIG_BLOCK, &changes, &before);
    (void)kill(template->pid, SIGSTOP);
    for (;;) {
        if (waitid(P_PID, (id_t) template->pid, &info, WSTOPPED | WNOHANG | __WALL) < 0 ||
            info.si_pid == template->pid)
            break;
        uint64_t now_ns = clock_now_ns();
        if (now_ns >= deadline_ns || !template_lives(template))
            break;
        const struct timespec wait = {.tv_nsec = 10000000L};
        (void)sigtimedwait(&changes, NULL, &wait);
    }
    const struct timespec none = {0};
    while (sigtimedwait(&changes, NULL, &none) > 0)
        ;
    (void)sigprocmask(SIG_SETMASK, &before, NULL);
    return info.si_pid == template->pid && info.si_code == CLD_STOPPED;
}

bool template_is_single(const struct template_parts *parts, const struct template *template)
{
    return !template_look_at_tasks(parts->enclosure->view.proc, template->pid);
}

pid_t template_find_new(struct templates *templates, const struct template_parts *parts)
{
    pid_t pids[TEMPLATES_MAX + 4], found = 0;
    const pid_t *apart = templates_apart(templates, parts->twin);
    int n = children_list(parts->enclosure->view.proc, getpid(), pids, ARRAY_SIZE(pids));
    for (int i = 0; i < n; i++) {
        if (children_are_apart(apart, pids[i]))
            continue;
        if (found > 0)
            return -1;
        found = pids[i];
    }
    return n < 0 ? -1 : found;
}

/* Kills all children, known or not. */
static void purge(struct templates *templates, const struct template_parts *parts)
{
    struct children_usage ignored = {0};
    (void)children_kill_apart(KILL_MS, templates_apart(templates, parts->twin), &ignored);
    templates_tidy(templates);
}

void template_give_up(struct templates *templates, struct template *template,
                      const struct template_parts *parts, const char *because)
{
    struct template failed = *template;
    purge(templates, parts);
    (void)work_empty(&parts->enclosure->work);
    if (because)
        template_explain(failed.because, because);
    failed.failures++;
    failed.pid = 0;
    failed.bytes = 0;
    *template = failed;
}

/* --- what it says --------------------------------------------------------------------------- */

/* Takes a text of a template for what it is: letters for people, if any. */
static void clean(char text[LINK_BECAUSE_MAX])
{
    text[LINK_BECAUSE_MAX - 1] = '\0';
    for (char *at = text; *at; at++)
        if (*at < ' ' || *at > '~')
            *at = '?';
}

enum template_heard template_hear(int link, int pidfd, int supervisor, uint64_t ms,
                                  struct template_says *ret)
{
    const uint64_t deadline_ns = clock_now_ns() + ms * NS_PER_MS;
    struct pollfd fds[] = {
        {.fd = link, .events = POLLIN},
        {.fd = pidfd, .events = POLLIN},
        {.fd = supervisor, .events = POLLRDHUP},
    };
    int n;
    do {
        uint64_t now_ns = clock_now_ns();
        n = poll(fds, ARRAY_SIZE(fds),
                 now_ns < deadline_ns ? (int)((deadline_ns - now_ns) / NS_PER_MS) + 1 : 0);
    } while (n < 0 && errno == EINTR);
    if (n <= 0)
        return TEMPLATE_HEARD_NOTHING;
    if (fds[0].revents & POLLIN &&
        recv(link, ret, sizeof(*ret), MSG_DONTWAIT) == (ssize_t)sizeof(*ret)) {
        clean(ret->because);
        return TEMPLATE_HEARD_WORD;
    }
    return fds[1].revents ? TEMPLATE_HEARD_END : TEMPLATE_HEARD_NOTHING;
}

void template_drop_words(int link)
{
    char byte;
    while (recv(link, &byte, sizeof(byte), MSG_DONTWAIT) > 0)
        ;
}
