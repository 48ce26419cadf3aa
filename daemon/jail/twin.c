/* SPDX-License-Identifier: MIT */
#include "twin.h"
#include "inspect.h"
#include "run_delay.h"
#include "twin_life.h"

#include "proto/util.h"

#include <assert.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* Time that the twin has to answer: a little more than it gives a killed process tree to die. */
#define ANSWER_MS 6000

static uint64_t namespaces(uint32_t layers)
{
    uint64_t flags = 0;
    if (layer_in(layers, LAYER_USER_NAMESPACE))
        flags |= CLONE_NEWNS | CLONE_NEWIPC | CLONE_NEWUTS;
    if (layer_in(layers, LAYER_PID_NAMESPACE))
        flags |= CLONE_NEWPID;
    if (layer_in(layers, LAYER_NET_NAMESPACE))
        flags |= CLONE_NEWNET;
    return flags;
}

static void forget(struct twin *twin)
{
    close_fd(twin->pidfd);
    close_fd(twin->link);
    explicit_bzero(twin, sizeof(*twin)); /* the next job may be a copy of this memory */
    *twin = (struct twin)TWIN_NULL;
}

bool twin_is_alive(const struct twin *twin)
{
    struct pollfd end = {.fd = twin->pidfd, .events = POLLIN};
    return twin->pid > 0 && poll(&end, 1, 0) == 0;
}

struct tree_time_except twin_except(const struct twin *twin)
{
    return (struct tree_time_except){
        .pid = twin->pid, .earlier_ns = twin->used_us * 1000, .inner = twin->template};
}

unsigned twin_sockets(const struct twin *twin)
{
    /* The kernel keeps that of a dead twin for its peer. */
    return twin->link >= 0 ? 2 : 0;
}

/* Waits for a notice of the twin, for at most MS. Returns false if none comes. */
static bool hear(const struct twin *twin, int ms, struct link_notice *ret)
{
    struct pollfd answer = {.fd = twin->link, .events = POLLIN};
    int none = -1, r;
    do
        r = poll(&answer, 1, ms);
    while (r < 0 && errno == EINTR);
    r = r == 1 ? link_receive_notice(twin->link, ret, &none) : -ETIMEDOUT;
    close_fd(none);
    return r == 1;
}

/* Kills and reaps it. */
static void end_twin(struct twin *twin)
{
    struct children_usage ignored = {0};
    if (twin_is_alive(twin)) {
        (void)kill(twin->pid, SIGKILL);
        (void)children_reap(twin->pid, &ignored);
    }
    forget(twin);
}

void twin_dismiss(struct twin *twin)
{
    assert(!twin->is_on);
    end_twin(twin);
}

static int clone_jail(struct twin *twin, const struct twin_parts *parts,
                      const int fds[LINK_JOB_FDS])
{
    const struct enclosure *enclosure = parts->enclosure;
    const struct jail_interpreter *interpreter = parts->start->interpreter;
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
        return -errno;
    enclosure_restart_pids(enclosure, ENCLOSURE_PIDS_OF_JAIL);
    if (interpreter)
        interpreter->before_fork();
    pid_t pid = children_fork_quietly(namespaces(enclosure->layers), enclosure->pass, &twin->pidfd);
    if (interpreter)
        interpreter->after_fork(); /* in both: the twin is what the jail is */
    if (pid == 0) {
        close_fd(ends[0]);
        twin_live(parts, ends[1], twin->is_apart, fds);
    }
    close_fd(ends[1]);
    if (pid < 0) {
        close_fd(ends[0]);
        return pid;
    }
    twin->pid = pid;
    twin->link = ends[0];
    return 0;
}

int twin_make(struct twin *twin, const struct twin_parts *parts, bool is_apart,
              const int fds[LINK_JOB_FDS])
{
    struct enclosure *enclosure = parts->enclosure;
    assert(!twin->is_on);
    if (twin_is_alive(twin) && twin->is_apart == is_apart)
        return 0;
    end_twin(twin); /* it went with what a job had left, or is of the other sort */
    twin->is_apart = is_apart;
    int r = work_prepare_twin(&enclosure->work, &enclosure->view, is_apart);
    if (r == 0)
        r = clone_jail(twin, parts, fds);
    work_forget_twin(&enclosure->work);
    return r;
}

bool twin_is_of(const struct twin *twin, const char *key)
{
    return twin->template > 0 && strcmp(twin->key, key) == 0 && twin_is_alive(twin);
}

void twin_ends_close(struct twin_ends *ends)
{
    close_fd(ends->wire_read);
    close_fd(ends->wire_write);
    close_fd(ends->status);
    close_fd(ends->candidate_read);
    close_fd(ends->candidate_write);
    *ends = (struct twin_ends)TWIN_ENDS_NULL;
}

int twin_begin(struct twin *twin, const struct link_job *request, const char *strings,
               const int fds[LINK_JOB_FDS], struct twin_ends *ret)
{
    int question[2] = {-1, -1}, answer[2] = {-1, -1}, status[2] = {-1, -1};
    int r = pipe2(question, O_CLOEXEC) < 0 || pipe2(answer, O_CLOEXEC) < 0 ||
                    pipe2(status, O_CLOEXEC) < 0
                ? -errno
                : 0;
    _cleanup_close_ int question_read = question[0], answer_write = answer[1],
                        status_write = status[1];
    struct twin_ends ends = {answer[0], question[1], status[0], -1, -1};
    struct link_job job = *request;
    const int sent[LINK_JOB_FDS] = {
        [LINK_WIRE_READ] = question_read,
        [LINK_WIRE_WRITE] = answer_write,
        [LINK_STDERR] = fds[request->is_joined == 1 ? LINK_STDOUT : LINK_STDERR],
        [LINK_STATUS] = status_write,
        [LINK_CGROUP] = fds[LINK_CGROUP],
    };
    job.fd_mask = (1u << LINK_STANDARD_FDS) - 1;
    job.fd_mask |= 1u << LINK_STATUS | (fds[LINK_CGROUP] >= 0 ? 1u << LINK_CGROUP : 0);
    if (r == 0)
        r = link_send_job(twin->link, &job, strings, sent);
    if (r < 0) {
        twin_ends_close(&ends);
        end_twin(twin);
        return r;
    }
    twin->is_on = true;
    twin->is_second = false;
    twin->first_delay_ns = 0;
    if (request->is_joined == 1) {
        ends.candidate_read = TAKE_FD(question_read);
        ends.candidate_write = TAKE_FD(answer_write);
    }
    *ret = ends;
    return 0;
}

/* Asks for the template, and waits until that has loaded everything or failed. */
static int ask_to_load(const struct twin *twin, const struct link_job *request, const char *strings,
                       const int fds[LINK_JOB_FDS], struct link_loaded *ret)
{
    struct link_notice notice;
    struct link_job job = *request;
    const int sent[LINK_JOB_FDS] = {
        [LINK_STDOUT] = fds[LINK_STDERR], [LINK_STDERR] = fds[LINK_STDERR]};
    job.only_loads = 1;
    job.fd_mask = 1u << LINK_STDOUT | 1u << LINK_STDERR;
    int r = link_send_job(twin->link, &job, strings, sent);
    if (r == 0 && (!hear(twin, LINK_LOAD_MS + ANSWER_MS, &notice) || notice.type != LINK_LOADED))
        r = -ETIMEDOUT;
    if (r == 0)
        *ret = notice.of_class;
    return r;
}

void twin_load(struct twin *twin, const struct link_job *request, const char *strings,
               const int fds[LINK_JOB_FDS], const char *key, int proc, struct link_loaded *ret)
{
    int r = ask_to_load(twin, request, strings, fds, ret);
    if (r == 0 && ret->error == 0 && (twin->template = inspect_child(proc, twin->pid)) < 0)
        r = -ESRCH; /* nothing else lives there, unless that has failed */
    if (r < 0) {
        *ret = (struct link_loaded){.error = EAGAIN};
        (void)snprintf(ret->why, sizeof(ret->why), "the candidate's jail is lost: %s",
                       strerror(-r));
    }
    if (ret->error != 0) {
        end_twin(twin);
        return;
    }
    (void)snprintf(twin->key, sizeof(twin->key), "%s", key);
    twin->loaded = *ret;
}

/* Waits for the notice of the candidate's end. Returns false if it does not come in time. */
static bool hear_end(const struct twin *twin, struct link_notice *ret)
{
    do {
        if (!hear(twin, ANSWER_MS, ret))
            return false;
    } while (ret->type == LINK_SECOND);
    return ret->type == LINK_ENDED;
}

bool twin_runs_second(struct twin *twin)
{
    struct link_notice notice;
    /* Until the jail has it stop, a twin tells nothing else. */
    if (twin->is_on && !twin->is_second && hear(twin, 0, &notice)) {
        twin->is_second = notice.type == LINK_SECOND;
        twin->first_delay_ns = notice.run_delay_ns == UINT64_MAX ? 0 : notice.run_delay_ns;
    }
    return twin->is_second;
}

bool twin_end(struct twin *twin, struct children_usage *usage, uint64_t *run_delay_ns,
              struct link_candidate *candidate)
{
    struct link_notice notice;
    if (!twin->is_on)
        return true;
    twin->is_on = false;
    twin->is_second = false; /* the next job may have no twin */
    twin->first_delay_ns = 0;
    bool is_well = send(twin->link, "", 1, MSG_NOSIGNAL) == 1 && hear_end(twin, &notice);
    if (!is_well) {
        candidate->end = LINK_CANDIDATE_LOST;
        end_twin(twin);
        return false;
    }
    if (notice.error != 0)
        candidate->end = LINK_CANDIDATE_FAILED;
    twin->loaded = notice.of_class;
    if (notice.warm != 1) /* it is gone; another twin makes another one */
        twin->template = 0;
    candidate->stage = notice.stage;
    candidate->error = notice.error;
    candidate->wait_status = notice.wait_status;
    candidate->cpu_us = notice.cpu_us;
    candidate->max_rss_bytes = notice.max_rss_bytes;
    usage->cpu_us += notice.cpu_us;
    twin->used_us += notice.cpu_us;
    usage->max_rss_bytes = MAX(usage->max_rss_bytes, notice.max_rss_bytes);
    *run_delay_ns = run_delay_sum(*run_delay_ns, notice.run_delay_ns);
    return !notice.leftover;
}
