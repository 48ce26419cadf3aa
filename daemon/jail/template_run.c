/* SPDX-License-Identifier: MIT */
#include "template_run.h"
#include "landlock.h"

#include "proto/util.h"

#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

static void say(enum template_word word, const char *because)
{
    struct template_says says = {.word = word};
    (void)snprintf(says.because, sizeof(says.because), "%s", because);
    if (send(TEMPLATE_LINK, &says, sizeof(says), MSG_NOSIGNAL) != (ssize_t)sizeof(says))
        _exit(1);
}

/* Waits for a byte of the jail. Returns whether it came. */
static bool is_told(void)
{
    char byte;
    ssize_t n;
    do
        n = read(TEMPLATE_LINK, &byte, sizeof(byte));
    while (n < 0 && errno == EINTR);
    return n == (ssize_t)sizeof(byte);
}

/* --- in the fork ---------------------------------------------------------------------------- */

/* Receives the standard descriptors of the job, and puts them in their places. */
static bool receive_streams(void)
{
    union {
        char bytes[CMSG_SPACE(sizeof(int) * LINK_STANDARD_FDS)];
        struct cmsghdr align;
    } control;
    char byte;
    struct iovec iov = {.iov_base = &byte, .iov_len = sizeof(byte)};
    struct msghdr message = {.msg_iov = &iov,
                             .msg_iovlen = 1,
                             .msg_control = control.bytes,
                             .msg_controllen = sizeof(control.bytes)};
    int fds[LINK_STANDARD_FDS];
    ssize_t n;
    do
        n = recvmsg(TEMPLATE_LINK, &message, MSG_CMSG_CLOEXEC);
    while (n < 0 && errno == EINTR);
    const struct cmsghdr *header = n == 1 ? CMSG_FIRSTHDR(&message) : NULL;
    if (!header || header->cmsg_len != CMSG_LEN(sizeof(fds)))
        return false;
    memcpy(fds, CMSG_DATA(header), sizeof(fds));
    for (int i = 0; i < LINK_STANDARD_FDS; i++)
        if (dup2(fds[i], i) < 0)
            return false;
    return true;
}

/* Puts a domain of its own between this process and its template, which it then can neither signal
 * nor look into. */
static bool leave_domain(int landlock_version)
{
    int ruleset = landlock_new(landlock_version, false, false);
    bool has_left = ruleset >= 0 && landlock_enforce(ruleset) == 0;
    close_fd(ruleset);
    return has_left;
}

_Noreturn static void become_job(const struct jail_interpreter *interpreter,
                                 const struct lockdown *lockdown, int landlock_version)
{
    if (setpgid(0, 0) < 0 || !leave_domain(landlock_version) || !receive_streams())
        _exit(127);
    /* The daemon may read more than the job. */
    if (!lockdown->script || access(lockdown->script, R_OK) < 0 ||
        !interpreter->takes(lockdown->argv, lockdown->envp, false)) {
        say(TEMPLATE_LEAVES, "a file beside the rubric has the name of a module that is loaded");
        _exit(0);
    }
    /* As after an execve, the program may inspect itself. */
    (void)prctl(PR_SET_DUMPABLE, 1);
    say(TEMPLATE_BEGINS, "");
    /* Unless the jail has given up meanwhile: then it starts the job in another way. */
    if (!is_told())
        _exit(0);
    (void)close_range(LINK_STANDARD_FDS, ~0U, 0);
    interpreter->run(lockdown->argv);
}

/* --- in the template ------------------------------------------------------------------------ */

/* Forks a job whenever the jail says so, until that closes the link. */
_Noreturn static void serve(const struct jail_interpreter *interpreter,
                            const struct lockdown *lockdown, int landlock_version)
{
    for (;;) {
        if (!is_told())
            _exit(0);
        (void)prctl(PR_SET_DUMPABLE, 0);
        interpreter->before_fork();
        /* A child of the jail, as its template is: it has that exit signal, too, none. */
        long pid = syscall(SYS_clone, CLONE_PARENT, NULL, NULL, NULL, NULL);
        if (pid == 0)
            become_job(interpreter, lockdown, landlock_version);
        interpreter->after_fork();
        say(TEMPLATE_FORKED, "");
    }
}

_Noreturn void template_live(const struct start *start, const struct lockdown *lockdown,
                             int landlock_version)
{
    const struct jail_interpreter *interpreter = start->interpreter;
    char because[LINK_BECAUSE_MAX] = "";
    lockdown_confine(lockdown);
    (void)munmap(start->status, sizeof(*start->status));
    start_forget_signals();
    (void)prctl(PR_SET_NAME, "rubricd-class");
    (void)close_range(TEMPLATE_FIRST_FDS, ~0U, 0);
    int r = interpreter->load(TEMPLATE_CLASS, because, sizeof(because));
    (void)close(TEMPLATE_CLASS);
    if (r < 0) {
        say(TEMPLATE_FAILED, because);
        _exit(1);
    }
    /* For the jail, which looks at this process now; until the first fork no job runs. */
    (void)prctl(PR_SET_DUMPABLE, 1);
    say(TEMPLATE_READY, "");
    serve(interpreter, lockdown, landlock_version);
}
