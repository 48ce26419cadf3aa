/* SPDX-License-Identifier: MIT */
#include "lockdown.h"

#include "proto/util.h"

#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

/* Where the error pipe stands while nothing else but 0, 1 and 2 is open. */
#define ERROR_FD 3

_Noreturn static void fail(enum link_stage stage)
{
    struct lockdown_error error = {.stage = stage, .error = errno};
    (void)!write(ERROR_FD, &error, sizeof(error)); /* nobody else can be told */
    _exit(127);
}

/* 0, 1, 2 and the error pipe; nothing else is open in a job, whatever the jail had. */
static bool arrange_descriptors(const struct lockdown *lockdown)
{
    int moved[LINK_JOB_FDS + 1];
    /* First out of the way of the places that are about to be filled. */
    for (int i = 0; i < LINK_JOB_FDS; i++)
        moved[i] = fcntl(lockdown->fds[i], F_DUPFD, 16);
    moved[LINK_JOB_FDS] = fcntl(lockdown->error_pipe, F_DUPFD, 16);
    for (int i = 0; i <= LINK_JOB_FDS; i++)
        if (moved[i] < 0 || (i < LINK_JOB_FDS && dup2(moved[i], i) < 0))
            return false;
    return fchdir(lockdown->directory) == 0 &&
           dup3(moved[LINK_JOB_FDS], ERROR_FD, O_CLOEXEC) == ERROR_FD &&
           close_range(ERROR_FD + 1, ~0U, 0) == 0;
}

static bool limit(__rlimit_resource_t resource, rlim_t soft, rlim_t hard)
{
    struct rlimit now;
    if (getrlimit(resource, &now) < 0)
        return false;
    /* An inherited hard limit may be lower already and cannot be raised. */
    struct rlimit wanted = {.rlim_cur = MIN(soft, now.rlim_max),
                            .rlim_max = MIN(hard, now.rlim_max)};
    return setrlimit(resource, &wanted) == 0;
}

/* The number of processes is not limited here: RLIMIT_NPROC counts every process of the user
 * on the host unless the job has a user namespace of its own. */
static bool set_limits(const struct limits *limits)
{
    rlim_t cpu = (limits->of[LIMIT_CPU] + 999) / 1000;
    return limit(RLIMIT_AS, limits->of[LIMIT_MEMORY], limits->of[LIMIT_MEMORY]) &&
           /* SIGXCPU at the limit is the evidence, SIGKILL a second later the end. */
           limit(RLIMIT_CPU, cpu, cpu + 1) &&
           limit(RLIMIT_NOFILE, limits->of[LIMIT_OPEN_FILES], limits->of[LIMIT_OPEN_FILES]) &&
           limit(RLIMIT_FSIZE, limits->of[LIMIT_DISK], limits->of[LIMIT_DISK]) &&
           limit(RLIMIT_CORE, 0, 0) && limit(RLIMIT_MEMLOCK, 0, 0) && limit(RLIMIT_MSGQUEUE, 0, 0);
}

static void reset_signals(void)
{
    struct sigaction standard = {.sa_handler = SIG_DFL};
    for (int signal = 1; signal < NSIG; signal++)
        (void)sigaction(signal, &standard, NULL); /* SIGKILL and SIGSTOP refuse */
    sigset_t none;
    (void)sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
}

_Noreturn void lockdown_exec(const struct lockdown *lockdown)
{
    if (!arrange_descriptors(lockdown))
        fail(LINK_STAGE_DESCRIPTORS);
    /* A session and process group of its own: no terminal, no signals from ours. */
    if (setsid() < 0)
        fail(LINK_STAGE_SESSION);
    /* If the jail dies, the program dies with it; its orphans go to the supervisor. */
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0)
        fail(LINK_STAGE_SESSION);
    reset_signals();
    (void)umask(022);
    if (!set_limits(lockdown->limits))
        fail(LINK_STAGE_LIMITS);
    /* No setuid program gives a job more than it has. */
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
        fail(LINK_STAGE_PRIVILEGES);
    (void)execve(lockdown->argv[0], lockdown->argv, lockdown->envp);
    fail(LINK_STAGE_EXEC);
}
