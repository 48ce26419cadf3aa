/* SPDX-License-Identifier: MIT */
#include "lockdown.h"
#include "cgroup_fork.h"
#include "landlock.h"
#include "pass.h"

#include "proto/util.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Enough for deep recursion; an unlimited stack would also change the layout of address space. */
#define STACK_BYTES ((rlim_t)8 << 20)
/* In its pid namespace the jail counts as a process of the job's identity too. */
#define JAIL_PROCESSES 1

_Noreturn static void fail(const struct lockdown *lockdown, enum link_stage stage)
{
    *lockdown->ret_error = (struct lockdown_error){.stage = stage, .error = errno};
    _exit(127);
}

/* 0, 1 and 2; all else is closed by execve, whatever the jail had. */
static bool arrange_descriptors(const struct lockdown *lockdown)
{
    for (int i = 0; i < LINK_STANDARD_FDS; i++)
        if (dup2(lockdown->fds[i], i) < 0)
            return false;
    return close_range(LINK_STANDARD_FDS, ~0U, CLOSE_RANGE_CLOEXEC) == 0 &&
           fchdir(lockdown->cwd) == 0;
}

/* --- resource limits ------------------------------------------------------------------------ */

/* An inherited hard limit may be lower already and cannot be raised. */
static bool limit(const struct rlimit *ceilings, __rlimit_resource_t resource, rlim_t soft,
                  rlim_t hard)
{
    rlim_t most = ceilings[resource].rlim_max;
    struct rlimit wanted = {.rlim_cur = MIN(soft, most), .rlim_max = MIN(hard, most)};
    return setrlimit(resource, &wanted) == 0;
}

static bool set_limits(const struct lockdown *lockdown)
{
    const struct rlimit *most = lockdown->ceilings;
    const uint64_t *of = lockdown->limits->of;
    rlim_t cpu = (of[LIMIT_CPU] + 999) / 1000;
    rlim_t processes = of[LIMIT_PROCESSES] + JAIL_PROCESSES;
    /* The kernel asks this one first; the cgroup's refusal leaves evidence. */
    if (lockdown->cgroup_counts)
        processes *= 2;
    /* Without a user namespace of its own the kernel would count all that the account runs. */
    if (layer_in(lockdown->layers, LAYER_USER_NAMESPACE) &&
        !limit(most, RLIMIT_NPROC, processes, processes))
        return false;
    return limit(most, RLIMIT_AS, of[LIMIT_MEMORY], of[LIMIT_MEMORY]) &&
           /* SIGXCPU at the limit is the evidence, SIGKILL a second later the end. */
           limit(most, RLIMIT_CPU, cpu, cpu + 1) &&
           limit(most, RLIMIT_NOFILE, of[LIMIT_OPEN_FILES], of[LIMIT_OPEN_FILES]) &&
           limit(most, RLIMIT_FSIZE, of[LIMIT_DISK], of[LIMIT_DISK]);
}

/* Those that are the same for every job, and that the jail has no need of itself. */
static void limit_jail(const struct rlimit *ceilings)
{
    static const __rlimit_resource_t none[] = {RLIMIT_CORE, RLIMIT_MEMLOCK, RLIMIT_MSGQUEUE,
                                               RLIMIT_NICE, RLIMIT_RTPRIO};
    (void)limit(ceilings, RLIMIT_STACK, STACK_BYTES, STACK_BYTES);
    for (size_t i = 0; i < ARRAY_SIZE(none); i++)
        (void)limit(ceilings, none[i], 0, 0); /* lowering is always allowed */
}

/* --- signals -------------------------------------------------------------------------------- */

static void ignore(int signal)
{
    (void)signal;
}

void lockdown_prepare(struct rlimit *ceilings)
{
    /* The supervisor alone ends a jail: by closing the link, or by SIGKILL. These are caught rather
     * than ignored, since execve undoes that in a job by itself. */
    static const int caught[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGUSR1, SIGUSR2};
    sigset_t none;
    for (int signal = 1; signal < NSIG; signal++)
        if (signal != SIGKILL && signal != SIGSTOP)
            (void)sigaction(signal, &(struct sigaction){.sa_handler = SIG_DFL}, NULL);
    for (size_t i = 0; i < ARRAY_SIZE(caught); i++)
        (void)sigaction(caught[i],
                        &(struct sigaction){.sa_handler = ignore, .sa_flags = SA_RESTART}, NULL);
    (void)sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
    for (int i = 0; i < RLIM_NLIMITS; i++)
        (void)getrlimit((__rlimit_resource_t)i, &ceilings[i]);
    limit_jail(ceilings);
    (void)umask(022);
}

/* --- the process group --------------------------------------------------------------------- */

/* No signals from ours, and no terminal: the jail's session has none, and who does not lead it gets
 * none. A session would be a scheduling group as well (sched(7)); those of jobs, new each time,
 * hold up who feeds the slots. But whoever may write to /proc can set the weight of its group, and
 * the jail's is also that of the jobs to come. (With the jail in its session, SIGTSTP stops a job
 * as SIGSTOP does, and as it would without a daemon; in one of its own it does nothing.) */
static bool leave_group(const struct lockdown *lockdown)
{
    bool cannot_write =
        layer_in(lockdown->layers, LAYER_LANDLOCK) && layer_in(lockdown->layers, LAYER_FILESYSTEM);
    return cannot_write ? setpgid(0, 0) == 0 : setsid() >= 0;
}

/* --- the list ------------------------------------------------------------------------------- */

/* The jail's right over its user namespace; it has given up the bounding set already. */
static bool drop_capabilities(void)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {{0}};
    return syscall(SYS_capset, &header, none) == 0;
}

/* The filter on system calls is the jail's own, and inherited. */
static void restrict_kernel(const struct lockdown *lockdown)
{
    /* No setuid program gives a job more than it has. */
    if (layer_in(lockdown->layers, LAYER_NO_NEW_PRIVS) &&
        prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
        fail(lockdown, LINK_STAGE_PRIVILEGES);
    if (layer_in(lockdown->layers, LAYER_LANDLOCK) && landlock_enforce(lockdown->ruleset) < 0)
        fail(lockdown, LINK_STAGE_LANDLOCK);
    if (lockdown->gives_up_pass && pass_give_up() < 0)
        fail(lockdown, LINK_STAGE_PRIVILEGES);
}

void lockdown_confine(const struct lockdown *lockdown)
{
    if (lockdown->enter_cgroup >= 0 && cgroup_enter(lockdown->enter_cgroup) < 0)
        fail(lockdown, LINK_STAGE_CGROUP);
    if (!arrange_descriptors(lockdown))
        fail(lockdown, LINK_STAGE_DESCRIPTORS);
    if (!leave_group(lockdown))
        fail(lockdown, LINK_STAGE_SESSION);
    /* If the jail dies, the program dies with it, as all of its pid namespace does; without one its
     * orphans go to the supervisor. */
    if (!layer_in(lockdown->layers, LAYER_PID_NAMESPACE) && prctl(PR_SET_PDEATHSIG, SIGKILL) < 0)
        fail(lockdown, LINK_STAGE_SESSION);
    if (layer_in(lockdown->layers, LAYER_RLIMITS) && !set_limits(lockdown))
        fail(lockdown, LINK_STAGE_LIMITS);
    if (lockdown->own_cgroup && layer_in(lockdown->layers, LAYER_USER_NAMESPACE) &&
        syscall(SYS_unshare, CLONE_NEWCGROUP, 0, 0, 0, 0, lockdown->pass) < 0)
        fail(lockdown, LINK_STAGE_CGROUP);
    restrict_kernel(lockdown);
    /* Last: without no_new_privs Landlock takes the right over the user namespace. */
    if (!drop_capabilities())
        fail(lockdown, LINK_STAGE_PRIVILEGES);
}

_Noreturn void lockdown_exec(const struct lockdown *lockdown)
{
    /* What an interpreter in the jail may have set to be ignored, execve would keep so. */
    (void)signal(SIGPIPE, SIG_DFL);
    (void)signal(SIGXFSZ, SIG_DFL);
    (void)execve(lockdown->argv[0], lockdown->argv, lockdown->envp);
    fail(lockdown, LINK_STAGE_EXEC);
}
