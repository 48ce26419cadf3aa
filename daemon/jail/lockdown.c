/* SPDX-License-Identifier: MIT */
/* Theory of operation. A job's process begins as a child of the confined jail: it inherits the
 * jail's namespaces, view, seccomp filter and limits, and still has the jail's capabilities. In
 * lockdown_confine() it gives up the rest, in this order:
 *
 *  1. enter its control group, if clone3() could not start it there, while the group is in reach;
 *  2. put the job's files on 0, 1 and 2, mark all others close-on-exec, enter the work directory;
 *  3. become the slot's own user, if it has one (idmap.h), and take its pipes along;
 *  4. leave the jail's process group or session; without a pid namespace, die with the jail;
 *  5. set the resource limits;
 *  6. unshare the cgroup namespace, which takes a capability and the pass;
 *  7. set no_new_privs, enforce the Landlock ruleset, give up the pass if jobs must;
 *  8. drop all capabilities. Nothing can be undone from here on;
 *  9. as another user than the daemon, see whether it can read what it was given.
 *
 * lockdown_exec() then executes the program, or the waiting interpreter runs the script.
 *
 * All of this may run in the jail's own memory (start.c). So it allocates nothing, does not log or
 * use stdio, and asserts nothing: a failure is stored as a stage and an errno, and the process ends
 * by _exit(). */
#include "lockdown.h"
#include "cgroup_fork.h"
#include "idmap.h"
#include "landlock.h"
#include "pass.h"

#include "proto/util.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* As hosts have it. A job whose language recurses on this stack has none but the memory limit. No
 * larger number would do for those: the C library reserves as much for each thread, which counts
 * against RLIMIT_AS, but 2 MiB if there is no limit. */
#define STACK_BYTES ((rlim_t)8 << 20)

/* Signals that a job may have queued, timers included: at most the latter, and no more than one
 * part in SIGNALS_SHARE of what all jails may have. */
#define SIGNALS_SHARE 32
#define SIGNALS_MAX ((rlim_t)1024)

_Noreturn static void fail(const struct lockdown *lockdown, enum link_stage stage)
{
    *lockdown->ret_error = (struct lockdown_error){.stage = stage, .error = errno};
    _exit(127);
}

/* Gives a job without input the /dev/null of its view, whose mount is read-only. A new one for
 * each: flags, offsets and locks belong to what is opened. */
static bool open_input(void)
{
    (void)close(STDIN_FILENO);
    return open("/dev/null", O_RDONLY) == STDIN_FILENO;
}

/* Arranges the job's descriptors; execve closes everything else, whatever the jail had open. */
static bool arrange_descriptors(const struct lockdown *lockdown)
{
    if (lockdown->fds[STDIN_FILENO] < 0 && !open_input())
        return false;
    for (unsigned i = 0; i < lockdown->fd_count; i++)
        if (lockdown->fds[i] >= 0 && dup2(lockdown->fds[i], (int)i) < 0)
            return false;
        else if (lockdown->fds[i] < 0 && i != STDIN_FILENO)
            (void)close((int)i);
    return close_range(lockdown->fd_count, ~0U, CLOSE_RANGE_CLOEXEC) == 0 &&
           fchdir(lockdown->cwd) == 0;
}

/* --- the user ------------------------------------------------------------------------------ */

/* Gives FD to the job if it is a pipe. */
static bool give_pipe(int fd)
{
    struct stat st;
    return fstat(fd, &st) < 0 || !S_ISFIFO(st.st_mode) || fchown(fd, IDMAP_JOB, (gid_t)-1) == 0;
}

/* Gives the job the pipes on its descriptors, which belong to the daemon or the jail: their owner
 * may open them again, as /dev/stdout does. */
static bool take_pipes(const struct lockdown *lockdown)
{
    for (unsigned i = 0; i < lockdown->fd_count; i++)
        if (lockdown->fds[i] >= 0 && !give_pipe((int)i))
            return false;
    return true;
}

int lockdown_give_pipes(const struct lockdown *lockdown)
{
    if (!layer_in(lockdown->layers, LAYER_OWN_UID))
        return 0;
    for (unsigned i = 0; i < lockdown->fd_count; i++)
        if (lockdown->fds[i] >= 0 && !give_pipe(lockdown->fds[i]))
            return -errno;
    return 0;
}

/* Keeps the capabilities, since neither user is root. Makes this process undumpable and forgets its
 * parent-death signal. By system call: the C library would tell the other threads, and this may be
 * the jail's memory. */
static bool become_job(const struct lockdown *lockdown)
{
    return take_pipes(lockdown) && syscall(SYS_setresuid, IDMAP_JOB, IDMAP_JOB, IDMAP_JOB) == 0;
}

/* The daemon has found these files readable, but by its own uid. */
static void check_files(const struct lockdown *lockdown)
{
    if (lockdown->script && access(lockdown->script, R_OK) < 0)
        fail(lockdown, LINK_STAGE_ACCESS);
    for (char *const *path = lockdown->readable; path && *path; path++)
        if (access(*path, R_OK) < 0)
            fail(lockdown, LINK_STAGE_ACCESS);
}

/* --- resource limits ------------------------------------------------------------------------ */

/* Sets a limit, capped by the inherited hard limit, which cannot be raised. */
static bool limit(const struct rlimit *ceilings, __rlimit_resource_t resource, rlim_t soft,
                  rlim_t hard)
{
    rlim_t most = ceilings[resource].rlim_max;
    struct rlimit wanted = {.rlim_cur = MIN(soft, most), .rlim_max = MIN(hard, most)};
    return setrlimit(resource, &wanted) == 0;
}

/* The kernel counts queued signals and timers for the user in this namespace, and again for the
 * user who made it, so that all jails together have no more than one account. */
static bool limit_signals(const struct lockdown *lockdown)
{
    const struct rlimit *most = lockdown->ceilings;
    rlim_t share = MIN(most[RLIMIT_SIGPENDING].rlim_max / SIGNALS_SHARE, SIGNALS_MAX);
    return !layer_in(lockdown->layers, LAYER_USER_NAMESPACE) ||
           limit(most, RLIMIT_SIGPENDING, share, share);
}

static bool limit_cpu(const struct lockdown *lockdown)
{
    rlim_t cpu = (lockdown->limits->of[LIMIT_CPU] + 999) / 1000;
    /* SIGXCPU at the limit is the evidence, SIGKILL one second later the end. */
    return limit(lockdown->ceilings, RLIMIT_CPU, cpu, cpu + 1);
}

static bool set_limits(const struct lockdown *lockdown)
{
    const struct rlimit *most = lockdown->ceilings;
    const uint64_t *of = lockdown->limits->of;
    rlim_t processes = of[LIMIT_PROCESSES] + lockdown->processes;
    /* The kernel checks RLIMIT_NPROC before the cgroup, but only the cgroup's refusal leaves
     * evidence. So let the cgroup's limit be met first. */
    if (lockdown->cgroup_counts)
        processes *= 2;
    if (!layer_in(lockdown->layers, LAYER_USER_NAMESPACE))
        processes = lockdown->account_limit;
    if (!limit(most, RLIMIT_NPROC, processes, processes))
        return false;
    rlim_t stack = lockdown->any_stack ? RLIM_INFINITY : STACK_BYTES;
    return (lockdown->any_address_space ||
            limit(most, RLIMIT_AS, of[LIMIT_MEMORY], of[LIMIT_MEMORY])) &&
           limit(most, RLIMIT_STACK, stack, RLIM_INFINITY) && /* it counts as memory anyway */
           (lockdown->forks_jobs || limit_cpu(lockdown)) && limit_signals(lockdown) &&
           limit(most, RLIMIT_NOFILE, of[LIMIT_OPEN_FILES], of[LIMIT_OPEN_FILES]) &&
           limit(most, RLIMIT_FSIZE, of[LIMIT_DISK], of[LIMIT_DISK]);
}

/* Sets the limits that are the same for all jobs and that the jail itself does not need. Takes away
 * the soft limits that would bound the jail: whoever lowers the supervisor's for a while must not
 * find them again in a jail that was started meanwhile. */
static void limit_jail(const struct rlimit *ceilings)
{
    static const __rlimit_resource_t whole[] = {RLIMIT_AS, RLIMIT_DATA, RLIMIT_NOFILE};
    static const __rlimit_resource_t none[] = {RLIMIT_MEMLOCK, RLIMIT_MSGQUEUE, RLIMIT_NICE,
                                               RLIMIT_RTPRIO};
    for (size_t i = 0; i < ARRAY_SIZE(whole); i++)
        (void)limit(ceilings, whole[i], RLIM_INFINITY, RLIM_INFINITY);
    (void)limit(ceilings, RLIMIT_STACK, STACK_BYTES, RLIM_INFINITY); /* some jobs have more */
    for (size_t i = 0; i < ARRAY_SIZE(none); i++)
        (void)limit(ceilings, none[i], 0, 0); /* lowering is always allowed */
    /* Where core dumps go to a pipe, the kernel starts the host's handler of them, as root,
     * whatever this limit is, but for one byte. No core file is that small, so none is written
     * either. */
    (void)limit(ceilings, RLIMIT_CORE, 1, 1);
}

/* --- signals -------------------------------------------------------------------------------- */

static void ignore(int signal)
{
    (void)signal;
}

void lockdown_prepare(struct rlimit *ceilings)
{
    /* Only the supervisor ends a jail: by closing the link, or by SIGKILL. Catch these signals
     * instead of ignoring them, because execve resets a caught signal to its default in a job, but
     * keeps an ignored one. */
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

/* Leaves the jail's process group, so that signals to that group do not reach the job. A job gets
 * no terminal by that: the jail's session has none, and only a session leader can acquire one. A
 * job that is given one leads a session of its own, and the terminal is that session's.
 *
 * A session of its own would also be a scheduling group (sched(7)), a new one for each job, and new
 * groups delay the process that feeds the slots. But a process that can write to /proc can set the
 * weight of its group, which in the jail's session is also that of later jobs. So a job stays in
 * the jail's session only where Landlock keeps it from writing to /proc. (In the jail's session
 * SIGTSTP stops a job as SIGSTOP does, and as it would without a daemon; in a session of its own it
 * does nothing.) */
static bool leave_group(const struct lockdown *lockdown)
{
    bool cannot_write =
        layer_in(lockdown->layers, LAYER_LANDLOCK) && layer_in(lockdown->layers, LAYER_FILESYSTEM);
    if (lockdown->has_terminal)
        return setsid() >= 0 && ioctl(STDIN_FILENO, TIOCSCTTY, 0) == 0;
    return cannot_write ? setpgid(0, 0) == 0 : setsid() >= 0;
}

/* --- the list ------------------------------------------------------------------------------- */

/* Drops the capabilities over the jail's user namespace. The jail has already cleared the bounding
 * set. */
static bool drop_capabilities(void)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {{0}};
    return syscall(SYS_capset, &header, none) == 0;
}

/* The system call filter is not set here: the job inherits the jail's. */
static void restrict_kernel(const struct lockdown *lockdown)
{
    /* No setuid program may give a job more rights than it has. */
    if (layer_in(lockdown->layers, LAYER_NO_NEW_PRIVS) &&
        prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
        fail(lockdown, LINK_STAGE_PRIVILEGES);
    if (layer_in(lockdown->layers, LAYER_LANDLOCK) && !lockdown->is_in_domain &&
        landlock_enforce(lockdown->ruleset) < 0)
        fail(lockdown, LINK_STAGE_LANDLOCK);
    if (lockdown->gives_up_pass && pass_give_up(lockdown->pass) < 0)
        fail(lockdown, LINK_STAGE_PRIVILEGES);
}

void lockdown_confine(const struct lockdown *lockdown)
{
    if (lockdown->enter_cgroup >= 0 && cgroup_enter(lockdown->enter_cgroup) < 0)
        fail(lockdown, LINK_STAGE_CGROUP);
    if (!arrange_descriptors(lockdown))
        fail(lockdown, LINK_STAGE_DESCRIPTORS);
    bool own_uid = layer_in(lockdown->layers, LAYER_OWN_UID);
    if (own_uid && !become_job(lockdown))
        fail(lockdown, LINK_STAGE_PRIVILEGES);
    if (!leave_group(lockdown))
        fail(lockdown, LINK_STAGE_SESSION);
    /* If the jail dies, the program must die. In a pid namespace the kernel sees to that for all
     * processes; without one this covers the program itself, and its orphans go to the
     * supervisor. */
    if (!layer_in(lockdown->layers, LAYER_PID_NAMESPACE) && prctl(PR_SET_PDEATHSIG, SIGKILL) < 0)
        fail(lockdown, LINK_STAGE_SESSION);
    if (layer_in(lockdown->layers, LAYER_RLIMITS) && !set_limits(lockdown))
        fail(lockdown, LINK_STAGE_LIMITS);
    if (lockdown->own_cgroup && layer_in(lockdown->layers, LAYER_USER_NAMESPACE) &&
        syscall(SYS_unshare, CLONE_NEWCGROUP, 0, 0, 0, 0, lockdown->pass) < 0)
        fail(lockdown, LINK_STAGE_CGROUP);
    restrict_kernel(lockdown);
    /* Last: without no_new_privs, restrict_kernel() needs these capabilities for Landlock. */
    if (!drop_capabilities())
        fail(lockdown, LINK_STAGE_PRIVILEGES);
    if (own_uid)
        check_files(lockdown);
}

bool lockdown_again(const struct lockdown *lockdown, struct lockdown_error *ret)
{
    enum link_stage stage = LINK_STAGE_NONE;
    if (!arrange_descriptors(lockdown))
        stage = LINK_STAGE_DESCRIPTORS;
    else if (!leave_group(lockdown))
        stage = LINK_STAGE_SESSION;
    else if (!limit_cpu(lockdown))
        stage = LINK_STAGE_LIMITS;
    else if (layer_in(lockdown->layers, LAYER_LANDLOCK) && landlock_enforce(lockdown->ruleset) < 0)
        stage = LINK_STAGE_LANDLOCK;
    *ret = (struct lockdown_error){stage, stage == LINK_STAGE_NONE ? 0 : errno};
    return stage == LINK_STAGE_NONE;
}

_Noreturn void lockdown_exec(const struct lockdown *lockdown)
{
    /* An interpreter in the jail may ignore these, and execve would keep that. */
    (void)signal(SIGPIPE, SIG_DFL);
    (void)signal(SIGXFSZ, SIG_DFL);
    (void)execve(lockdown->argv[0], lockdown->argv, lockdown->envp);
    fail(lockdown, LINK_STAGE_EXEC);
}
