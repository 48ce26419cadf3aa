/* SPDX-License-Identifier: MIT */
#include "start.h"
#include "act.h"
#include "cgroup_fork.h"

#include "proto/util.h"

#include <assert.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* AddressSanitizer tracks the memory that the child would share. */
#ifdef __SANITIZE_ADDRESS__
#define SHARES_MEMORY false
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SHARES_MEMORY false
#endif
#endif
#ifndef SHARES_MEMORY
#define SHARES_MEMORY true
#endif

int start_init(struct start *start)
{
    void *shared = mmap(NULL, sizeof(*start->shared), PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED)
        return -errno;
    start->shared = shared;
    start->status = &start->shared->of_jail;
    return 0;
}

void start_enter_twin(struct start *start)
{
    /* An earlier twin may have been killed while it started something. */
    start->status = &start->shared->of_twin;
    *start->status = (struct start_status){.error = {LINK_STAGE_NONE, 0}};
}

/* --- children that are stopped before they begin -------------------------------------------- */

/* How often the jail looks whether they are. */
#define LOOK_MS 10

static bool is_stopped(pid_t pid)
{
    siginfo_t info = {.si_pid = 0};
    return waitid(P_PID, (id_t)pid, &info, WSTOPPED | WNOHANG | WNOWAIT) == 0 && info.si_pid == pid;
}

/* Ends the child, since nobody would set it going again. */
static void end_stopped(const struct start *start, pid_t pid)
{
    start->status->error = (struct lockdown_error){LINK_STAGE_STOPPED, ECANCELED};
    (void)kill(pid, SIGKILL);
}

/* Waits for end of file on RUNS: the child PID, which has the other end, has begun its program or
 * ended. */
static void await_start(const struct start *start, int runs, pid_t pid)
{
    struct pollfd fd = {.fd = runs, .events = POLLIN};
    int n;
    while ((n = poll(&fd, 1, LOOK_MS)) == 0 || (n < 0 && errno == EINTR))
        if (n == 0 && is_stopped(pid) && poll(&fd, 1, 0) == 0)
            end_stopped(start, pid);
}

/* --- programs that are executed ------------------------------------------------------------ */

static int child(void *lockdown)
{
    const struct lockdown *confined = lockdown;
    lockdown_confine(confined);
    if (confined->act == LINK_EXEC)
        act_exec(confined);
    lockdown_exec(confined);
}

/* Starts the child in the jail's memory: copying even a small process costs as much as everything
 * else that the jail does for a job. A wake-up costs that much too, so the jail does not wait until
 * the program runs (CLONE_VFORK); many programs have ended before anybody asks. Until the kernel
 * clears in_our_memory (CLONE_CHILD_CLEARTID), the jail changes nothing that the child reads. Both
 * share errno as well, so the jail makes no call in that time that is likely to fail. */
static pid_t start_in_our_memory(struct start *start, struct lockdown *lockdown, int *ret_pidfd)
{
    int flags = CLONE_VM | CLONE_PIDFD | CLONE_CHILD_CLEARTID | SIGCHLD;
    start->status->in_our_memory = 1;
    pid_t pid = clone(child, start->stack + START_STACK_BYTES, flags, lockdown, ret_pidfd, NULL,
                      &start->status->in_our_memory);
    if (pid < 0)
        start->status->in_our_memory = 0;
    return pid < 0 ? -errno : pid;
}

/* Starts the child in a copy of the jail's memory. */
static pid_t start_in_copy(struct lockdown *lockdown, int cgroup, int *ret_pidfd)
{
    bool must_enter = false;
    pid_t pid = cgroup_fork(cgroup, CLONE_VFORK, lockdown->pass, ret_pidfd, &must_enter);
    if (pid == 0) {
        lockdown->enter_cgroup = must_enter ? cgroup : -1;
        (void)child(lockdown);
    }
    return pid;
}

/* --- scripts for the interpreter that waits ------------------------------------------------ */

void start_leave_jail(const struct start *start)
{
    static const int of_the_jail[] = {SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};
    (void)munmap(start->shared, sizeof(*start->shared));
    for (size_t i = 0; i < ARRAY_SIZE(of_the_jail); i++)
        (void)signal(of_the_jail[i], SIG_DFL);
}

_Noreturn static void run_warm(const struct start *start, struct lockdown *lockdown)
{
    lockdown_confine(lockdown);
    bool is_pair = lockdown->fd_count > LINK_STANDARD_FDS;
    if (!start->interpreter->takes(lockdown->argv, lockdown->envp, is_pair))
        lockdown_exec(lockdown);
    start->status->warm = 1;
    start_leave_jail(start);
    /* As after an execve, the program may inspect itself. */
    (void)prctl(PR_SET_DUMPABLE, 1);
    /* Close everything that execve would have closed. That includes the job's end of the pipe, and
     * so tells the jail that the program runs. The code is here already. */
    (void)close_range(MIN(lockdown->fd_count, (unsigned)LINK_PAIR_CODE), ~0U, 0);
    start->interpreter->run(lockdown->argv);
}

static pid_t start_warm(struct start *start, struct lockdown *lockdown, int cgroup, int *ret_pidfd)
{
    bool must_enter = false;
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) < 0)
        return -errno;
    start->interpreter->before_fork();
    pid_t pid = cgroup_fork(cgroup, 0, lockdown->pass, ret_pidfd, &must_enter);
    if (pid == 0) {
        lockdown->enter_cgroup = must_enter ? cgroup : -1;
        run_warm(start, lockdown);
    }
    start->interpreter->after_fork();
    close_fd(ends[1]);
    if (pid > 0)
        await_start(start, ends[0], pid);
    close_fd(ends[0]);
    return pid;
}

/* --- commands of a session ------------------------------------------------------------------ */

_Noreturn static void act(struct lockdown *lockdown)
{
    if (lockdown->act == LINK_EXEC)
        (void)child(lockdown);
    lockdown_confine(lockdown);
    (void)close_range(lockdown->fd_count, ~0U, 0); /* tells the jail that it has begun */
    act_on_file(lockdown);
}

/* Starts a copy of the jail that executes a program, or handles a file as a job and so runs on in
 * the jail's code. */
static pid_t start_act(struct lockdown *lockdown, int cgroup, int *ret_pidfd)
{
    bool must_enter = false;
    pid_t pid = cgroup_fork(cgroup, 0, lockdown->pass, ret_pidfd, &must_enter);
    if (pid == 0) {
        lockdown->enter_cgroup = must_enter ? cgroup : -1;
        act(lockdown);
    }
    return pid;
}

/* Starts a command and waits until it has begun, in a way in which the jail sees if somebody stops
 * it before. */
static pid_t start_command(struct start *start, struct lockdown *lockdown, int cgroup,
                           int *ret_pidfd)
{
    bool in_our_memory = lockdown->act == LINK_EXEC && cgroup < 0 && SHARES_MEMORY;
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) < 0)
        return -errno;
    pid_t pid = in_our_memory ? start_in_our_memory(start, lockdown, ret_pidfd)
                              : start_act(lockdown, cgroup, ret_pidfd);
    close_fd(ends[1]);
    if (pid > 0)
        await_start(start, ends[0], pid);
    close_fd(ends[0]);
    return pid;
}

/* --- all of it ----------------------------------------------------------------------------- */

pid_t start_job(struct start *start, struct lockdown *lockdown, int cgroup, bool warm,
                int *ret_pidfd)
{
    /* The child of the job before has left the jail's memory: it runs its program, or has ended. */
    assert(__atomic_load_n(&start->status->in_our_memory, __ATOMIC_ACQUIRE) == 0);
    *start->status = (struct start_status){.error = {LINK_STAGE_NONE, 0}};
    lockdown->ret_error = &start->status->error;
    if (lockdown->act != LINK_RUN)
        return start_command(start, lockdown, cgroup, ret_pidfd);
    if (warm && start->interpreter)
        return start_warm(start, lockdown, cgroup, ret_pidfd);
    if (cgroup < 0 && SHARES_MEMORY)
        return start_in_our_memory(start, lockdown, ret_pidfd);
    return start_in_copy(lockdown, cgroup, ret_pidfd);
}

void start_await(const struct start *start)
{
    pid_t *word = &start->status->in_our_memory;
    while (__atomic_load_n(word, __ATOMIC_ACQUIRE) != 0)
        (void)syscall(SYS_futex, word, FUTEX_WAIT, 1, NULL, NULL, 0);
}
