/* SPDX-License-Identifier: MIT */
#include "template.h"
#include "cgroup_fork.h"
#include "idmap.h"
#include "template_hold.h"
#include "template_look.h"
#include "template_make.h"

#include "daemon/base/clock.h"
#include "proto/util.h"

#include <linux/sockios.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

/* How often the jail tries to have a template for a class. */
#define TRIES 3
/* Version of Landlock that keeps signals in. */
#define LANDLOCK_SCOPES 6

/* --- where there are none ------------------------------------------------------------------- */

/* Returns why the jail cannot keep templates apart from jobs; NULL: it can. */
static const char *why_none(const struct templates *templates, const struct enclosure *enclosure)
{
    static const enum layer layers[] = {
        LAYER_RLIMITS,       LAYER_NO_NEW_PRIVS,    LAYER_TREE_KILL,     LAYER_USER_NAMESPACE,
        LAYER_PID_NAMESPACE, LAYER_MOUNT_NAMESPACE, LAYER_NET_NAMESPACE, LAYER_FILESYSTEM,
        LAYER_LANDLOCK,      LAYER_SECCOMP};
    if (!templates->of || templates->max == 0)
        return "[warm] classes is 0";
    for (size_t i = 0; i < ARRAY_SIZE(layers); i++)
        if (!layer_in(enclosure->layers, layers[i]))
            return "a layer is missing that keeps jobs from what is loaded";
    if (enclosure->landlock_version < LANDLOCK_SCOPES || enclosure->ruleset < 0)
        return "this kernel's Landlock does not keep the signals of jobs in";
    if (enclosure->view.proc < 0 || enclosure->last_pid < 0)
        return "the jail cannot look at processes, or not number them";
    return NULL;
}

int templates_bar(struct templates *templates, const struct enclosure *enclosure)
{
    if (why_none(templates, enclosure))
        return 0;
    int r = template_bar();
    templates->are_barred = r == 0;
    return r;
}

/* Returns why the job REQUEST cannot have one; NULL: it can. */
static const char *why_not(const struct templates *templates, const struct template_parts *parts,
                           const struct link_job *request)
{
    const char *because = why_none(templates, parts->enclosure);
    if (!parts->start->interpreter)
        return "no interpreter waits in the jail";
    if (because)
        return because;
    if (!templates->are_barred)
        return "the kernel takes no further filter";
    return request->warm ? NULL : "the job wants a fresh interpreter";
}

/* --- forking -------------------------------------------------------------------------------- */

static bool send_streams(int link, const int fds[LINK_STANDARD_FDS])
{
    union {
        char bytes[CMSG_SPACE(sizeof(int) * LINK_STANDARD_FDS)];
        struct cmsghdr align;
    } control = {.bytes = {0}};
    char byte = 0;
    struct iovec iov = {.iov_base = &byte, .iov_len = sizeof(byte)};
    struct msghdr message = {.msg_iov = &iov,
                             .msg_iovlen = 1,
                             .msg_control = control.bytes,
                             .msg_controllen = sizeof(control.bytes)};
    control.align.cmsg_level = SOL_SOCKET;
    control.align.cmsg_type = SCM_RIGHTS;
    control.align.cmsg_len = CMSG_LEN(sizeof(int) * LINK_STANDARD_FDS);
    memcpy(CMSG_DATA(&control.align), fds, sizeof(int) * LINK_STANDARD_FDS);
    return sendmsg(link, &message, MSG_NOSIGNAL) == 1;
}

/* Gives the fork PID, which waits for its descriptors, the pipes themselves if it has a user of its
 * own (lockdown.c), and the bound of processes that a job has when there are so many templates. */
static bool prepare_fork(const struct templates *templates, const struct lockdown *lockdown,
                         pid_t pid)
{
    const struct rlimit most = lockdown_processes(lockdown, templates_count(templates));
    return lockdown_give_pipes(lockdown) && prlimit(pid, RLIMIT_NPROC, &most, NULL) == 0;
}

/* Moves the fork PID to the control group of its job (-1: it has none): while it is stopped and
 * alone, so that whatever it starts is there, too. */
static bool enter_group(const struct template_parts *parts, pid_t pid, int pidfd, int cgroup)
{
    const struct template fork = {.pid = pid, .pidfd = pidfd, .used = 1};
    return cgroup < 0 || (template_stop(&fork) && template_is_single(parts, &fork) &&
                          cgroup_move(cgroup, pid) == 0 && kill(pid, SIGCONT) == 0);
}

/* Whether nothing that was sent over LINK is left there for the template to take. */
static bool is_drained(int link)
{
    int left = 1;
    return ioctl(link, SIOCOUTQ, &left) == 0 && left == 0;
}

/* Sends one byte: to a template that it is to fork, to a fork that it is to begin. */
static bool tell(int link)
{
    char byte = 0;
    return send(link, &byte, sizeof(byte), MSG_NOSIGNAL) == (ssize_t)sizeof(byte);
}

/* Lets the stopped TEMPLATE fork, and stops it again. Returns the pid of the fork, which waits, or
 * -1 and what is wrong. */
static pid_t fork_one(struct templates *templates, struct template *template,
                      const struct template_parts *parts, const char **ret_wrong)
{
    struct template_says says;
    template_drop_words(template->link);
    if (!tell(template->link) || kill(template->pid, SIGCONT) < 0 ||
        template_hear(template->link, template->pidfd, -1, TEMPLATE_ANSWER_MS, &says) !=
            TEMPLATE_HEARD_WORD) {
        *ret_wrong = "it does not fork";
        return -1;
    }
    if (!template_stop(template)) {
        *ret_wrong = "it does not stop";
        return -1;
    }
    const struct enclosure *enclosure = parts->enclosure;
    uid_t uid = layer_in(enclosure->layers, LAYER_OWN_UID) ? IDMAP_JOB : geteuid();
    if (template_is_dumpable(enclosure->view.proc, template->pid, uid)) {
        *ret_wrong = "it is dumpable";
        return -1;
    }
    pid_t pid = template_is_single(parts, template) ? template_find_new(templates, parts) : -1;
    *ret_wrong = pid == 0 ? "it does not fork" : "it starts several processes";
    return pid > 0 ? pid : -1;
}

/* Hands the job over to the fork PID. Returns what is wrong; NULL: it begins. Nothing of the job
 * has run otherwise. */
static const char *hand_over(const struct templates *templates, const struct template *template,
                             const struct template_parts *parts, const struct template_job *job,
                             pid_t pid, int pidfd)
{
    struct template_says says;
    int link = template->link;
    if (!enter_group(parts, pid, pidfd, job->cgroup))
        return "its fork cannot enter its control group";
    template_drop_words(link);
    if (!prepare_fork(templates, job->lockdown, pid) || !send_streams(link, job->lockdown->fds))
        return "its fork cannot be given its files";
    if (template_hear(link, pidfd, -1, TEMPLATE_ANSWER_MS, &says) != TEMPLATE_HEARD_WORD ||
        !is_drained(link))
        return "its fork does not begin";
    if (says.word != TEMPLATE_BEGINS)
        return "a file beside the rubric hides a module";
    return tell(link) ? NULL : "its fork does not begin";
}

pid_t templates_start(struct templates *templates, const struct template_parts *parts,
                      const struct template_job *job, int *ret_pidfd, uint64_t *ret_started_ns,
                      char because[LINK_BECAUSE_MAX])
{
    const char *wrong = why_not(templates, parts, job->request);
    if (wrong) {
        template_explain(because, wrong);
        return 0;
    }
    struct template *template = templates_find(templates, job->request);
    if (!template || (template->pid == 0 && template->failures < TRIES))
        template = template_make(templates, parts, job);
    template->used = ++templates->uses;
    if (template->pid == 0) {
        template_explain(because, template->because);
        return 0;
    }
    enclosure_restart_pids(parts->enclosure, ENCLOSURE_PIDS_OF_JOB);
    *ret_started_ns = clock_now_ns();
    pid_t pid = fork_one(templates, template, parts, &wrong);
    int pidfd = pid > 0 ? (int)syscall(SYS_pidfd_open, pid, 0) : -1;
    if (pid > 0 && pidfd < 0)
        wrong = "its fork cannot be watched";
    else if (pid > 0)
        wrong = hand_over(templates, template, parts, job, pid, pidfd);
    if (pid > 0 && !wrong) {
        template->failures = 0;
        *parts->start->status = (struct start_status){.error = {LINK_STAGE_NONE, 0}, .warm = 1};
        *ret_pidfd = pidfd;
        return pid;
    }
    close_fd(pidfd);
    template_give_up(templates, template, parts, wrong);
    (void)lseek(job->lockdown->fds[0], 0, SEEK_SET);
    template_explain(because, wrong);
    return 0;
}

bool templates_are_alone(struct templates *templates, const struct template_parts *parts)
{
    for (size_t i = 0; i < TEMPLATES_MAX; i++) {
        const struct template *template = &templates->of[i];
        if (template->used != templates->uses || template->pid == 0)
            continue;
        /* A fork that shares the descriptors of its template would leave it those of the job. */
        if (template_count_files(parts->enclosure->view.proc, template->pid) != TEMPLATE_FDS ||
            !is_drained(template->link))
            return false;
    }
    return template_find_new(templates, parts) == 0;
}
