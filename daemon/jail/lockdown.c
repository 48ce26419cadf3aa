/* SPDX-License-Identifier: MIT */
#include "lockdown.h"
#include "landlock.h"

#include "proto/util.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Where the error pipe stands while nothing else but 0, 1 and 2 is open. */
#define ERROR_FD 3
/* And, close-on-exec as well, the ruleset. */
#define RULESET_FD 4

/* Enough for deep recursion; an unlimited stack would also change the layout of address space. */
#define STACK_BYTES ((rlim_t)8 << 20)
/* In its pid namespace the jail counts as a process of the job's identity too. */
#define JAIL_PROCESSES 1

_Noreturn static void fail(enum link_stage stage)
{
    struct lockdown_error error = {.stage = stage, .error = errno};
    (void)!write(ERROR_FD, &error, sizeof(error)); /* nobody else can be told */
    _exit(127);
}

/* 0, 1, 2 and what is closed by execve; nothing else is open in a job, whatever the jail had. */
static bool arrange_descriptors(const struct lockdown *lockdown)
{
    enum { MOVED = LINK_STANDARD_FDS + 2 };
    int moved[MOVED];
    /* First out of the way of the places that are about to be filled. */
    for (int i = 0; i < LINK_STANDARD_FDS; i++)
        moved[i] = fcntl(lockdown->fds[i], F_DUPFD, 16);
    moved[ERROR_FD] = fcntl(lockdown->error_pipe, F_DUPFD, 16);
    moved[RULESET_FD] = lockdown->ruleset < 0 ? -1 : fcntl(lockdown->ruleset, F_DUPFD, 16);
    for (int i = 0; i < MOVED; i++)
        if ((moved[i] < 0 && !(i == RULESET_FD && lockdown->ruleset < 0)) ||
            (i < LINK_STANDARD_FDS && dup2(moved[i], i) < 0))
            return false;
    return fchdir(lockdown->cwd) == 0 && dup3(moved[ERROR_FD], ERROR_FD, O_CLOEXEC) == ERROR_FD &&
           (moved[RULESET_FD] < 0 ||
            dup3(moved[RULESET_FD], RULESET_FD, O_CLOEXEC) == RULESET_FD) &&
           close_range(RULESET_FD + (moved[RULESET_FD] < 0 ? 0 : 1), ~0U, 0) == 0;
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

static bool set_limits(const struct limits *limits, bool own_user_namespace)
{
    rlim_t cpu = (limits->of[LIMIT_CPU] + 999) / 1000;
    rlim_t processes = limits->of[LIMIT_PROCESSES] + JAIL_PROCESSES;
    /* Without a user namespace of its own the kernel would count all that the account runs. */
    if (own_user_namespace && !limit(RLIMIT_NPROC, processes, processes))
        return false;
    return limit(RLIMIT_AS, limits->of[LIMIT_MEMORY], limits->of[LIMIT_MEMORY]) &&
           /* SIGXCPU at the limit is the evidence, SIGKILL a second later the end. */
           limit(RLIMIT_CPU, cpu, cpu + 1) &&
           limit(RLIMIT_NOFILE, limits->of[LIMIT_OPEN_FILES], limits->of[LIMIT_OPEN_FILES]) &&
           limit(RLIMIT_FSIZE, limits->of[LIMIT_DISK], limits->of[LIMIT_DISK]) &&
           limit(RLIMIT_STACK, STACK_BYTES, STACK_BYTES) && limit(RLIMIT_CORE, 0, 0) &&
           limit(RLIMIT_MEMLOCK, 0, 0) && limit(RLIMIT_MSGQUEUE, 0, 0) &&
           limit(RLIMIT_NICE, 0, 0) && limit(RLIMIT_RTPRIO, 0, 0);
}

/* The jail's right over its user namespace; it has given up the bounding set already. */
static bool drop_capabilities(void)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {{0}};
    return syscall(SYS_capset, &header, none) == 0;
}

/* The supervisor alone ends a jail: by closing the link, or by SIGKILL. */
static const int ignored[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGUSR1, SIGUSR2};

void lockdown_jail_signals(void)
{
    sigset_t none;
    for (int signal = 1; signal < NSIG; signal++)
        if (signal != SIGKILL && signal != SIGSTOP)
            (void)sigaction(signal, &(struct sigaction){.sa_handler = SIG_DFL}, NULL);
    for (size_t i = 0; i < ARRAY_SIZE(ignored); i++)
        (void)sigaction(ignored[i], &(struct sigaction){.sa_handler = SIG_IGN}, NULL);
    (void)sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
}

/* execve does so for handlers, not for what is ignored. */
static void reset_signals(void)
{
    for (size_t i = 0; i < ARRAY_SIZE(ignored); i++)
        (void)sigaction(ignored[i], &(struct sigaction){.sa_handler = SIG_DFL}, NULL);
}

/* The filters come last: what they forbid is needed until then. */
static void restrict_kernel(const struct lockdown *lockdown)
{
    /* No setuid program gives a job more than it has. */
    if (layer_in(lockdown->layers, LAYER_NO_NEW_PRIVS) &&
        prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
        fail(LINK_STAGE_PRIVILEGES);
    if (layer_in(lockdown->layers, LAYER_LANDLOCK) && landlock_enforce(RULESET_FD) < 0)
        fail(LINK_STAGE_LANDLOCK);
    if (layer_in(lockdown->layers, LAYER_SECCOMP) &&
        syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, lockdown->filter) < 0)
        fail(LINK_STAGE_SECCOMP);
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
    if (layer_in(lockdown->layers, LAYER_RLIMITS) &&
        !set_limits(lockdown->limits, layer_in(lockdown->layers, LAYER_USER_NAMESPACE)))
        fail(LINK_STAGE_LIMITS);
    if (lockdown->own_cgroup && layer_in(lockdown->layers, LAYER_USER_NAMESPACE) &&
        unshare(CLONE_NEWCGROUP) < 0)
        fail(LINK_STAGE_PRIVILEGES);
    restrict_kernel(lockdown);
    /* Last: without no_new_privs the filters take the right over the user namespace. */
    if (!drop_capabilities())
        fail(LINK_STAGE_PRIVILEGES);
    (void)execve(lockdown->argv[0], lockdown->argv, lockdown->envp);
    fail(LINK_STAGE_EXEC);
}
