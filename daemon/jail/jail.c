/* SPDX-License-Identifier: MIT */
/* rubricd-jail: one slot's process, the parent of its jobs.
 *
 * Theory of operation: the supervisor starts one jail per slot and sends it one job at a time over
 * a socketpair (link.h). The jail makes a private directory, forks, confines the child
 * (lockdown.c), and waits for two things at once: the program's end and the supervisor's. When the
 * program has ended, the jail kills what is left of its tree (it is a child subreaper, so every
 * orphan is its child), removes the directory, and reports. When the supervisor is gone it does the
 * same and exits, so that nothing outlives the daemon. It knows nothing of JSON, clients or
 * verdicts, holds no secret and has an empty environment. */
#include "children.h"
#include "link.h"
#include "lockdown.h"
#include "wipe.h"

#include "proto/util.h"

#include <fcntl.h>
#include <linux/sched.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* How long the rest of a job's tree may take to die once it was killed. */
#define TREE_KILL_MS 5000

struct jail {
    int link;
    int directory; /* the slot's directory: the parent of the jobs' */
    char strings[LINK_STRINGS_MAX];
};

struct job {
    uint64_t number;
    pid_t pid;
    int pidfd;
    uint64_t started_ns;
};

/* Forks with a pidfd. The jail has one thread, so all of it is usable in the child. */
static pid_t fork_with_pidfd(int *ret_pidfd)
{
    int pidfd = -1;
    struct clone_args args = {
        .flags = CLONE_PIDFD,
        .pidfd = (uint64_t)(uintptr_t)&pidfd,
        .exit_signal = SIGCHLD,
    };
    pid_t pid = (pid_t)syscall(SYS_clone3, &args, sizeof(args));
    if (pid < 0 && (errno == ENOSYS || errno == EPERM)) {
        /* clone3 is refused by some seccomp filters around whole services. Nobody else reaps our
         * child, so its pid is still its own when the pidfd is made. */
        pid = fork();
        if (pid > 0)
            pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
    }
    if (pid > 0)
        *ret_pidfd = pidfd;
    return pid;
}

static uint64_t now_ns(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static int make_job_directory(const struct jail *jail, uint64_t number)
{
    char name[32];
    (void)snprintf(name, sizeof(name), "job-%llu", (unsigned long long)number);
    if (mkdirat(jail->directory, name, 0700) < 0)
        return -errno;
    int fd = openat(jail->directory, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    return fd < 0 ? -errno : fd;
}

/* Reads what lockdown_exec reports; true if the program was started. */
static bool read_start(int error_pipe, struct lockdown_error *ret)
{
    struct lockdown_error error;
    ssize_t n;
    do
        n = read(error_pipe, &error, sizeof(error));
    while (n < 0 && errno == EINTR);
    if (n == 0)
        return true; /* closed by execve */
    *ret = n == (ssize_t)sizeof(error)
               ? error
               : (struct lockdown_error){LINK_STAGE_EXEC, n < 0 ? errno : EIO};
    return false;
}

/* Starts the job's program. -1 with *ret_error set if it could not be. */
static int spawn(struct jail *jail, const struct link_job *request, const int fds[LINK_JOB_FDS],
                 struct job *ret, struct lockdown_error *ret_error)
{
    char *argv[64], *envp[64];
    if (request->argc >= ARRAY_SIZE(argv) || request->envc >= ARRAY_SIZE(envp) ||
        link_split_strings(request, jail->strings, argv, envp) < 0) {
        *ret_error = (struct lockdown_error){LINK_STAGE_EXEC, E2BIG};
        return -1;
    }
    _cleanup_close_ int directory = make_job_directory(jail, request->job_no);
    if (directory < 0) {
        *ret_error = (struct lockdown_error){LINK_STAGE_DIRECTORY, -directory};
        return -1;
    }
    int error_pipe[2];
    if (pipe2(error_pipe, O_CLOEXEC) < 0) {
        *ret_error = (struct lockdown_error){LINK_STAGE_FORK, errno};
        return -1;
    }
    struct job job = {.number = request->job_no, .pidfd = -1};
    job.started_ns = now_ns();
    job.pid = fork_with_pidfd(&job.pidfd);
    if (job.pid == 0) {
        struct lockdown lockdown = {
            .directory = directory,
            .fds = {fds[LINK_STDIN], fds[LINK_STDOUT], fds[LINK_STDERR]},
            .error_pipe = error_pipe[1],
            .limits = &request->limits,
            .argv = argv,
            .envp = envp,
        };
        lockdown_exec(&lockdown);
    }
    int fork_error = errno;
    close_fd(error_pipe[1]);
    bool started = job.pid > 0 && job.pidfd >= 0 && read_start(error_pipe[0], ret_error);
    close_fd(error_pipe[0]);
    if (started) {
        *ret = job;
        return 0;
    }
    if (job.pid < 0 || job.pidfd < 0)
        *ret_error = (struct lockdown_error){LINK_STAGE_FORK, fork_error};
    close_fd(job.pidfd);
    return -1;
}

/* Time in which the program was ready to run and had no CPU. Read while it is a zombie. */
static uint64_t read_run_delay(pid_t pid)
{
    char path[40], text[80];
    (void)snprintf(path, sizeof(path), "/proc/%d/schedstat", (int)pid);
    _cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
    if (n <= 0)
        return UINT64_MAX;
    text[n] = '\0';
    char *end; /* "run_ns delay_ns timeslices" */
    (void)strtoull(text, &end, 10);
    return *end == ' ' ? strtoull(end + 1, NULL, 10) : UINT64_MAX;
}

static uint64_t microseconds(const struct timeval *t)
{
    return (uint64_t)t->tv_sec * 1000000 + (uint64_t)t->tv_usec;
}

static void reap(const struct job *job, struct link_report *report)
{
    siginfo_t info;
    struct rusage usage = {0};
    int status = 0;
    (void)waitid(P_PID, (id_t)job->pid, &info, WEXITED | WNOWAIT);
    report->run_delay_ns = read_run_delay(job->pid);
    (void)wait4(job->pid, &status, 0, &usage);
    report->wait_status = status;
    report->cpu_us = microseconds(&usage.ru_utime) + microseconds(&usage.ru_stime);
    report->max_rss_bytes = (uint64_t)usage.ru_maxrss * 1024;
}

/* Waits for the program's end; if the supervisor goes away or speaks out of turn, kills it. False
 * if the jail is to end. */
static bool wait_for_end(const struct jail *jail, const struct job *job)
{
    struct pollfd fds[2] = {
        {.fd = job->pidfd, .events = POLLIN},
        {.fd = jail->link, .events = POLLIN},
    };
    while (poll(fds, ARRAY_SIZE(fds), -1) < 0 && errno == EINTR)
        ;
    if (fds[0].revents)
        return true;
    (void)kill(job->pid, SIGKILL);
    return false;
}

static void complain(const char *what, int error)
{
    (void)fprintf(stderr, "rubricd-jail: %s: %s\n", what, strerror(error));
}

/* Kills the rest of the tree and removes the directory, by whatever name it goes now. False if
 * something was left. */
static bool clean_up(const struct jail *jail)
{
    bool killed = children_kill_all(TREE_KILL_MS);
    if (!killed)
        complain("processes of a job could not be killed", ETIMEDOUT);
    (void)fchmod(jail->directory, 0700); /* a job of our own user may have changed it */
    int r = wipe_contents(jail->directory);
    if (r < 0)
        complain("a job's directory could not be removed", -r);
    return killed && r == 0;
}

/* One job from its message to its report. False if the jail is to end. */
static bool run_job(struct jail *jail, const struct link_job *request, int fds[LINK_JOB_FDS])
{
    struct job job;
    struct lockdown_error error = {0};
    int r = spawn(jail, request, fds, &job, &error);
    for (int i = 0; i < LINK_JOB_FDS; i++)
        fds[i] = close_fd(fds[i]);

    struct link_report report = {.job_no = request->job_no};
    if (r < 0) {
        report.type = LINK_FAILED;
        report.stage = error.stage;
        report.error = error.error;
        report.leftover = !clean_up(jail);
        /* A slot's directory that takes no job's is made anew by the next jail. */
        bool usable = !report.leftover && error.stage != LINK_STAGE_DIRECTORY;
        return link_send_report(jail->link, &report, -1) == 0 && usable;
    }
    report.type = LINK_STARTED;
    report.pid = job.pid;
    report.started_ns = job.started_ns;
    bool wanted = link_send_report(jail->link, &report, job.pidfd) == 0;
    wanted = wait_for_end(jail, &job) && wanted;

    report.type = LINK_ENDED;
    reap(&job, &report);
    close_fd(job.pidfd);
    report.leftover = !clean_up(jail);
    /* A jail that could not clean up tells so and makes way for a new one. */
    return link_send_report(jail->link, &report, -1) == 0 && wanted && !report.leftover;
}

static int open_directory(const char *path)
{
    if (mkdir(path, 0700) < 0 && errno != EEXIST)
        return -errno;
    int fd = open(path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    return fd < 0 ? -errno : fd;
}

/* Opens the slot's directory, which must be one, and open to us, whatever the last job has made of
 * it. Its parent is the supervisor's. */
static int open_slot_directory(const char *path)
{
    char link[32];
    _cleanup_close_ int slot = open_directory(path);
    if (slot == -ENOTDIR || slot == -ELOOP) {
        int r = wipe_tree(AT_FDCWD, path);
        slot = r < 0 ? r : open_directory(path);
    }
    if (slot < 0)
        return slot;
    (void)snprintf(link, sizeof(link), "/proc/self/fd/%d", slot);
    (void)chmod(link, 0700);
    int fd = openat(slot, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return fd < 0 ? -errno : fd;
}

static void set_up_signals(void)
{
    /* The supervisor alone ends a jail: by closing the link, or by SIGKILL. */
    static const int ignored[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGUSR1, SIGUSR2};
    struct sigaction action = {.sa_handler = SIG_IGN};
    for (size_t i = 0; i < ARRAY_SIZE(ignored); i++)
        (void)sigaction(ignored[i], &action, NULL);
    sigset_t none;
    (void)sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        (void)fprintf(stderr, "rubricd-jail is started by rubricd, not by hand\n");
        return 64;
    }
    static struct jail jail = {.link = LINK_FD}; /* static for its size, not for its reach */
    set_up_signals();
    (void)setsid();
    if (prctl(PR_SET_CHILD_SUBREAPER, 1) < 0) {
        complain("becoming a child subreaper", errno);
        return 71;
    }
    jail.directory = open_slot_directory(argv[1]);
    int r = jail.directory < 0 ? jail.directory : wipe_contents(jail.directory);
    if (r < 0) {
        complain(argv[1], -r);
        return 71;
    }
    if (link_send_report(jail.link, &(struct link_report){.type = LINK_READY}, -1) < 0)
        return 0;

    struct link_job request;
    int fds[LINK_JOB_FDS];
    while (link_receive_job(jail.link, &request, jail.strings, fds) > 0)
        if (!run_job(&jail, &request, fds))
            break;
    return 0;
}
