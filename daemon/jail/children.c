/* SPDX-License-Identifier: MIT */
#include "children.h"
#include "proc_files.h"

#include "daemon/base/clock.h"
#include "proto/util.h"

#include <assert.h>
#include <dirent.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static bool is_kept(pid_t pid, const pid_t *keep, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (keep[i] == pid)
            return true;
    return false;
}

static uint64_t microseconds(const struct timeval *t)
{
    return (uint64_t)t->tv_sec * 1000000 + (uint64_t)t->tv_usec;
}

static void add(struct children_usage *usage, const struct rusage *of_one)
{
    usage->cpu_us += microseconds(&of_one->ru_utime) + microseconds(&of_one->ru_stime);
    usage->max_rss_bytes = MAX(usage->max_rss_bytes, (uint64_t)of_one->ru_maxrss * 1024);
}

static int kill_but(const pid_t *keep, size_t n, struct children_usage *usage)
{
    _cleanup_(closedir_pointer) DIR *proc = opendir("/proc");
    if (!proc)
        return -errno;

    pid_t self = getpid();
    int found = 0;
    for (struct dirent *entry; (entry = readdir(proc));) {
        char *end;
        long pid = strtol(entry->d_name, &end, 10);
        if (pid <= 0 || *end || parent_of(dirfd(proc), entry->d_name) != self ||
            is_kept((pid_t)pid, keep, n))
            continue;
        found++;
        (void)kill((pid_t)pid, SIGKILL);
        struct rusage of_one = {0};
        if (wait4((pid_t)pid, NULL, WNOHANG, &of_one) == (pid_t)pid)
            add(usage, &of_one);
    }
    return found;
}

int children_kill(const pid_t *keep, size_t n)
{
    struct children_usage ignored = {0};
    return kill_but(keep, n, &ignored);
}

uint64_t children_cpu_us(pid_t pid)
{
    struct children_usage usage = {0};
    struct rusage of_one = {0};
    /* Unlike the C library's function, the system call tells what a process has used. */
    if (syscall(SYS_waitid, P_PID, pid, NULL, WEXITED | WNOHANG | WNOWAIT | __WALL, &of_one) == 0)
        add(&usage, &of_one);
    return usage.cpu_us;
}

int children_reap(pid_t pid, struct children_usage *usage)
{
    struct rusage of_one = {0};
    int status = 0;
    assert(pid > 0); /* 0 and -1 would reap whichever child ends next */
    while (wait4(pid, &status, __WALL, &of_one) < 0 && errno == EINTR)
        ;
    add(usage, &of_one);
    return status;
}

/* Reaps all dead children. Returns whether any child is left. Without __WALL in OPTIONS, neither
 * sees one that was cloned without an exit signal. */
static bool reap_dead(int options, pid_t spared, struct children_usage *usage)
{
    for (;;) {
        struct rusage of_one = {0};
        pid_t pid = wait4(-1, NULL, WNOHANG | options, &of_one);
        if (pid > 0 && pid != spared)
            add(usage, &of_one);
        else if (pid > 0)
            continue;
        else if (pid == 0 || errno != EINTR)
            return pid == 0;
    }
}

pid_t children_fork_quietly(uint64_t flags, uint64_t pass, int *ret_pidfd)
{
    int pidfd = -1;
    struct clone_args args = {.flags = flags | CLONE_PIDFD, .pidfd = (uintptr_t)&pidfd};
    pid_t pid = (pid_t)syscall(SYS_clone3, &args, sizeof(args), 0, 0, 0, pass);
    if (pid < 0 && errno == ENOSYS) /* see cgroup_fork() */
        pid = (pid_t)syscall(SYS_clone, flags | CLONE_PIDFD, NULL, &pidfd, NULL, NULL);
    if (pid > 0)
        *ret_pidfd = pidfd;
    return pid < 0 ? -errno : pid;
}

static bool kill_children(struct children_usage *usage)
{
    if (getpid() == 1)
        return kill(-1, SIGKILL) == 0 || errno == ESRCH;
    return kill_but(NULL, 0, usage) >= 0;
}

bool children_kill_all(unsigned deadline_ms, pid_t spared, struct children_usage *usage)
{
    uint64_t deadline_ns = clock_now_ns() + deadline_ms * NS_PER_MS;
    /* The first look does not see quiet children, so SPARED alone has nothing killed. If anything
     * else is there, kill(-1) kills SPARED, too: it outruns processes that fork, and spares none.
     */
    for (int options = spared > 0 ? 0 : __WALL; reap_dead(options, spared, usage);
         options = __WALL) {
        if (!kill_children(usage) || clock_now_ns() >= deadline_ns)
            return false;
        /* Killed processes take some time to die. */
        (void)nanosleep(&(struct timespec){.tv_nsec = 100000L}, NULL);
    }
    return true;
}
