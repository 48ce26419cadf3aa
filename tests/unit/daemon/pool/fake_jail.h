/* SPDX-License-Identifier: MIT */
#pragma once
/* A fake jail for tests of slots: the test program itself, started as "rubricd-jail". It speaks the
 * link's protocol and confines nothing. The name of its work directory sets its behaviour. */

#include "daemon/base/clock.h"
#include "daemon/confine/confinement.h"
#include "daemon/jail/link.h"
#include "proto/util.h"

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <cmocka.h>

/* Names of work directories, and the behaviour that each one sets. */
#define QUICK "quick"   /* its programs exit at once */
#define SLOW "slow"     /* its programs run until they are killed */
#define SILENT "silent" /* it takes jobs and sends no notice */
#define LIAR "liar"     /* it says that a running program has ended */
#define UNFIT "unfit"   /* it cannot be set up */
#define HASTY "hasty"   /* it sends what belongs to a job before it is ready */
#define TWICE "twice"   /* it says twice that it is ready */
#define TIRED "tired"   /* it says that it could not clean up, and exits */
#define SPENT "spent"   /* a process keeps the output open, so it cannot clean up and exits */

static inline void fork_program(bool exits, int *ret_pidfd)
{
    pid_t pid = fork();
    if (pid == 0) {
        if (!exits)
            (void)pause(); /* until it is killed */
        _exit(0);
    }
    *ret_pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
    if (exits)
        (void)waitpid(pid, NULL, 0);
}

/* Leaves a process that keeps the output open and outlives the jail. */
static inline void leave_somebody(void)
{
    if (fork() == 0) {
        (void)alarm(60);
        (void)pause();
        _exit(0);
    }
}

static inline void do_job(const struct link_job *job, const char *directory)
{
    struct link_notice notice = {.job_no = job->job_no, .started_ns = clock_now_ns()};
    int pidfd = -1;
    if (strstr(directory, SILENT))
        return;
    bool runs_on = strstr(directory, SLOW) || strstr(directory, LIAR);
    fork_program(!runs_on, &pidfd);
    notice.type = strstr(directory, SLOW) ? LINK_STARTED : LINK_ENDED;
    notice.ended_ns = clock_now_ns();
    notice.leftover = strstr(directory, SPENT) || strstr(directory, TIRED);
    if (strstr(directory, SPENT))
        leave_somebody();
    (void)link_send_notice(LINK_FD, &notice, pidfd);
    close_fd(pidfd);
    if (notice.type == LINK_STARTED) {
        notice.type = LINK_ENDED;
        (void)wait(&notice.wait_status);
        (void)link_send_notice(LINK_FD, &notice, -1);
    }
    if (notice.leftover)
        _exit(0);
}

static inline int be_fake_jail(const char *directory)
{
    static char strings[LINK_STRINGS_MAX];
    struct link_setup setup;
    struct link_job job;
    struct link_notice ready = {.type = LINK_READY};
    int filter, fds[LINK_JOB_FDS];
    if (strstr(directory, UNFIT))
        ready = (struct link_notice){.type = LINK_FAILED, .error = ENOSPC, .view_step = "a step"};
    if (strstr(directory, HASTY))
        ready.type = LINK_ENDED;
    if (link_receive_setup(LINK_FD, &setup, strings, &filter) != 1 ||
        link_send_notice(LINK_FD, &ready, -1) < 0)
        return 1;
    if (strstr(directory, TWICE))
        (void)link_send_notice(LINK_FD, &ready, -1);
    while (link_receive_job(LINK_FD, &job, strings, fds) == 1) {
        do_job(&job, directory);
        for (size_t i = 0; i < LINK_JOB_FDS; i++)
            close_fd(fds[i]);
    }
    return 0;
}

static inline bool is_fake_jail(int argc, char **argv)
{
    return argc == 2 && strcmp(argv[0], "rubricd-jail") == 0;
}

/* Makes this process the parent of the orphans that jails leave behind. */
static inline void prepare_for_fake_jails(void)
{
    (void)signal(SIGPIPE, SIG_IGN);
    (void)prctl(PR_SET_CHILD_SUBREAPER, 1);
}

/* Fills in a confinement without layers. Its jails run PROGRAM; "/proc/self/exe" for fake ones. */
static inline void confine(struct confinement *confinement, const char *program)
{
    *confinement = (struct confinement){.references = 1, .probe = PROBE_NULL};
    confinement->jail.program = open(program, O_RDONLY | O_CLOEXEC);
    assert_true(confinement->jail.program >= 0);
    confinement->plain = confinement->jail;
}
