/* SPDX-License-Identifier: MIT */
#include "twin.h"
#include "run_delay.h"

#include "daemon/base/clock.h"
#include "proto/util.h"

#include <assert.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* Time that a killed process tree has to die before the twin gives up on it, and a little more that
 * the jail gives the twin. */
#define TREE_KILL_MS 5000
#define ANSWER_MS 6000
/* Bytes that are moved at once. */
#define MOVE_MAX ((size_t)64 << 10)
/* The jail and its twin. */
#define JAILS 2

static void complain(const char *what, int error)
{
    (void)fprintf(stderr, "rubricd-jail: the twin: %s: %s\n", what, strerror(error));
}

/* --- in the twin: the candidate's output --------------------------------------------------- */

/* Moves bytes from one pipe to another, through nobody's memory: the next candidate may be a copy
 * of the twin's. */
struct pump {
    int from, to; /* owned; from -1: nothing more comes */
    bool is_full; /* wait until bytes can go on, not until more come */
};

static struct pollfd pump_wants(const struct pump *pump)
{
    if (pump->from < 0)
        return (struct pollfd){.fd = -1};
    return pump->is_full ? (struct pollfd){.fd = pump->to, .events = POLLOUT}
                         : (struct pollfd){.fd = pump->from, .events = POLLIN};
}

/* Moves what can be moved now. Returns whether there may be more. */
static bool pump_move(struct pump *pump)
{
    if (pump->from < 0)
        return false;
    ssize_t n = splice(pump->from, NULL, pump->to, NULL, MOVE_MAX, SPLICE_F_NONBLOCK);
    if (n > 0)
        return true;
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        /* Either nothing has come, or nothing can go. If the other end is not full after all, look
         * at this one again. */
        pump->is_full = !pump->is_full;
    else
        pump->from = close_fd(pump->from);
    return false;
}

/* --- in the twin: the candidate ------------------------------------------------------------ */

struct candidate {
    pid_t pid;
    int pidfd;
    struct pump output;
};

enum stop {
    STOP_NOT_YET,
    STOP_TOLD, /* the judge has ended */
    STOP_LOST, /* the jail has ended */
};

static enum stop read_stop(int link)
{
    char byte;
    ssize_t n;
    do
        n = recv(link, &byte, sizeof(byte), 0);
    while (n < 0 && errno == EINTR);
    return n == (ssize_t)sizeof(byte) ? STOP_TOLD : STOP_LOST;
}

/* Waits until the candidate has ended or must. */
static enum stop await_end(struct candidate *candidate, int link)
{
    for (;;) {
        struct pollfd fds[] = {
            {.fd = candidate->pidfd, .events = POLLIN},
            {.fd = link, .events = POLLIN},
            pump_wants(&candidate->output),
        };
        if (poll(fds, ARRAY_SIZE(fds), -1) < 0)
            continue;
        if (fds[2].revents)
            (void)pump_move(&candidate->output);
        if (fds[1].revents)
            return read_stop(link);
        if (fds[0].revents)
            return STOP_NOT_YET;
    }
}

/* Starts it. *ret_stage says how far that came. */
static int start_candidate(const struct twin_parts *parts, const struct link_job *request,
                           const struct link_lists *lists, const int fds[LINK_PAIR_FDS], int cgroup,
                           struct candidate *candidate, uint32_t *ret_stage)
{
    const bool joined = request->is_joined == 1;
    struct enclosure *enclosure = parts->enclosure;
    struct start *start = parts->start;
    _cleanup_close_ int ruleset = -1;
    struct lockdown lockdown = {
        .layers = enclosure->layers,
        .fd_count = joined ? LINK_STANDARD_FDS : LINK_PAIR_FDS,
        .processes = enclosure_counted(enclosure, JAILS),
        .own_cgroup = cgroup >= 0,
        .enter_cgroup = -1,
        .pass = enclosure->pass,
        .gives_up_pass = enclosure->gives_up_pass,
        /* A joined one has fewer than the control group lets both have: the rest is for the
         * other. */
        .cgroup_counts = !joined && request->cgroup_counts,
        .account_limit = enclosure_limit_account(enclosure, request),
        .any_address_space = request->candidate_any_address_space == 1,
        .any_stack = request->candidate_any_stack == 1,
        .limits = joined ? &request->candidate_limits : &request->limits,
        .ceilings = parts->ceilings,
        .argv = lists->candidate,
        .envp = joined ? lists->candidate_envp : lists->envp,
    };
    memcpy(lockdown.fds, fds, sizeof(lockdown.fds));
    int r = work_join(&enclosure->work, request->job_no, &lockdown.cwd);
    if (r == 0)
        r = enclosure_make_ruleset(enclosure, lists, lockdown.cwd, &ruleset);
    if (r < 0)
        return r;
    lockdown.ruleset = ruleset >= 0 ? ruleset : enclosure->ruleset;
    enclosure_restart_pids(enclosure, ENCLOSURE_PIDS_OF_JOB);
    bool warm = joined ? request->candidate_warm == 1 : request->warm == 1;
    *ret_stage = LINK_STAGE_FORK;
    pid_t pid = start_job(start, &lockdown, cgroup, warm, &candidate->pidfd);
    if (pid < 0)
        return pid;
    candidate->pid = pid;
    start_await(start);
    *ret_stage = start->status->error.stage;
    return -start->status->error.error;
}

/* Starts the candidate with the ends of its pipes; IS_SECOND: the one after it. */
static int begin(const struct twin_parts *parts, int code, const struct link_job *request,
                 const int fds[LINK_JOB_FDS], bool is_second, struct candidate *candidate,
                 uint32_t *ret_stage)
{
    static char second[] = LINK_PAIR_SECOND;
    struct link_lists lists;
    int output[2];
    int r = link_split_job(request, parts->strings, &lists);
    if (r < 0 || !*lists.candidate)
        return r < 0 ? r : -EPROTO;
    if (is_second)
        lists.candidate[request->candidate_argc - 1] = second;
    _cleanup_close_ int input = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (input < 0 || pipe2(output, O_CLOEXEC) < 0)
        return -errno;
    _cleanup_close_ int end = output[1];
    candidate->output.from = output[0];
    const int of_pair[LINK_PAIR_FDS] = {
        input, end, end, fds[LINK_WIRE_READ], fds[LINK_WIRE_WRITE], -1, code,
    };
    const int of_joined[LINK_PAIR_FDS] = {
        fds[LINK_WIRE_READ], fds[LINK_WIRE_WRITE], end, -1, -1, -1, -1,
    };
    return start_candidate(parts, request, &lists, request->is_joined == 1 ? of_joined : of_pair,
                           fds[LINK_CGROUP], candidate, ret_stage);
}

/* Ends the candidate, and enters its wait status, its usage and its waits. */
static void end_candidate(int proc, struct candidate *candidate, struct children_usage *usage,
                          struct link_notice *notice)
{
    struct pollfd end = {.fd = candidate->pidfd, .events = POLLIN};
    (void)kill(candidate->pid, SIGKILL);
    while (poll(&end, 1, -1) < 0 && errno == EINTR)
        ;
    _cleanup_close_ int schedstat = run_delay_open(proc, candidate->pid);
    notice->run_delay_ns = run_delay_sum(notice->run_delay_ns, run_delay_read(schedstat));
    notice->wait_status = children_reap(candidate->pid, usage);
    candidate->pid = 0;
    candidate->pidfd = close_fd(candidate->pidfd);
}

/* Ends what the candidate has left; its files go, too, if a second program IS_TO_FOLLOW. Returns
 * false if something stays. */
static bool end_tree(const struct twin_parts *parts, struct candidate *candidate, bool is_to_follow,
                     struct children_usage *usage)
{
    struct work *work = &parts->enclosure->work;
    bool killed = true;
    if (layer_in(parts->enclosure->layers, LAYER_TREE_KILL))
        killed = children_kill_all(TREE_KILL_MS, 0, usage);
    while (pump_move(&candidate->output))
        ;
    candidate->output.from = close_fd(candidate->output.from);
    bool is_clear = !is_to_follow || (killed && work_clear(work) == 0);
    work_leave(work);
    return killed && is_clear && enclosure_check_sockets(parts->enclosure, 0) == 0;
}

/* Makes the candidate's ends of the wire what they were before it, which has shared them with this
 * process: neither its flags nor what it has left unread, or has written there itself through
 * /proc, may reach the next program. */
static void renew_wire(const int fds[LINK_JOB_FDS])
{
    char dropped[4096];
    (void)fcntl(fds[LINK_WIRE_WRITE], F_SETFL, 0);
    (void)fcntl(fds[LINK_WIRE_READ], F_SETFL, O_NONBLOCK);
    while (read(fds[LINK_WIRE_READ], dropped, sizeof(dropped)) > 0)
        ;
    (void)fcntl(fds[LINK_WIRE_READ], F_SETFL, 0);
    explicit_bzero(dropped, sizeof(dropped)); /* the next candidate may be a copy of this memory */
}

static bool wants_second(const struct link_job *request, const struct link_notice *notice)
{
    return request->is_joined != 1 && WIFEXITED(notice->wait_status) &&
           WEXITSTATUS(notice->wait_status) == LINK_PAIR_AGAIN;
}

/* Lets the judge see that nothing more comes over the wire. */
static void hang_up(int fds[LINK_JOB_FDS])
{
    fds[LINK_WIRE_READ] = close_fd(fds[LINK_WIRE_READ]);
    fds[LINK_WIRE_WRITE] = close_fd(fds[LINK_WIRE_WRITE]);
}

/* Runs a candidate to its end or the judge's, and closes the wire unless another is to follow.
 * Returns false if something of it is left. */
static bool run_program(const struct twin_parts *parts, int code, const struct link_job *request,
                        int fds[LINK_JOB_FDS], bool is_second, struct link_notice *notice,
                        enum stop *ret_stop)
{
    struct candidate candidate = {
        .pidfd = -1,
        .output = {.from = -1, .to = fds[LINK_STDERR]},
    };
    struct children_usage usage = {notice->cpu_us, notice->max_rss_bytes};
    int r = begin(parts, code, request, fds, is_second, &candidate, &notice->stage);
    notice->wait_status = 0;
    notice->error = -r;
    if (r < 0) {
        if (request->is_joined != 1) /* a joined one is no program of ours */
            complain("starting a candidate", -r);
        fds[LINK_STATUS] = close_fd(fds[LINK_STATUS]); /* the judge sees that it is lost */
    } else {
        *ret_stop = await_end(&candidate, LINK_FD);
    }
    if (candidate.pid > 0)
        end_candidate(parts->enclosure->view.proc, &candidate, &usage, notice);
    bool is_last = *ret_stop != STOP_NOT_YET || is_second || !wants_second(request, notice);
    if (is_last)
        hang_up(fds);
    if (r == 0 && is_last)
        (void)!write(fds[LINK_STATUS], &notice->wait_status, sizeof(notice->wait_status));
    bool killed = end_tree(parts, &candidate, !is_last, &usage);
    if (r == 0 && !is_last) { /* only now, when nobody can write to the wire */
        renew_wire(fds);
        (void)!write(fds[LINK_STATUS], &notice->wait_status, sizeof(notice->wait_status));
    }
    notice->cpu_us = usage.cpu_us;
    notice->max_rss_bytes = usage.max_rss_bytes;
    return killed;
}

/* Hides from the next candidate what this one has looked up. Returns false if none may follow. */
static bool renew(const struct twin_parts *parts)
{
    int r = view_renew_proc(&parts->enclosure->view);
    if (r < 0)
        complain("renewing /proc", -r);
    return r == 0;
}

/* Runs what one message asks for, up to its notice. Returns false if the twin must exit. */
static bool run_candidate(const struct twin_parts *parts, int code, const struct link_job *request,
                          int fds[LINK_JOB_FDS])
{
    struct link_notice notice = {.type = LINK_ENDED, .job_no = request->job_no};
    enum stop stop = STOP_NOT_YET;
    notice.leftover = !run_program(parts, code, request, fds, false, &notice, &stop);
    if (stop == STOP_NOT_YET && !notice.leftover && wants_second(request, &notice) &&
        renew(parts)) {
        const struct link_notice second = {
            .type = LINK_SECOND, .job_no = request->job_no, .run_delay_ns = notice.run_delay_ns};
        (void)link_send_notice(LINK_FD, &second, -1);
        notice.leftover = !run_program(parts, code, request, fds, true, &notice, &stop);
    }
    for (int i = 0; i < LINK_JOB_FDS; i++)
        fds[i] = close_fd(fds[i]);
    if (stop == STOP_NOT_YET)
        stop = read_stop(LINK_FD);
    return stop == STOP_TOLD && link_send_notice(LINK_FD, &notice, -1) == 0 && !notice.leftover &&
           renew(parts);
}

/* --- in the twin --------------------------------------------------------------------------- */

/* Makes this copy of the jail the twin. Returns the code for its candidates, 0 if they have none,
 * or a negative errno. */
static int become_twin(const struct twin_parts *parts, int link, bool is_apart,
                       const int fds[LINK_JOB_FDS], const char **ret_step)
{
    *ret_step = "arranging its descriptors";
    int code = is_apart ? 0 : fcntl(fds[LINK_CODE], F_DUPFD_CLOEXEC, LINK_PAIR_FDS);
    if (code < 0 || dup3(link, LINK_FD, O_CLOEXEC) < 0)
        return -errno;
    close_fd(link);
    for (int i = 0; i < LINK_JOB_FDS; i++)
        close_fd(fds[i]);
    (void)setsid();
    (void)prctl(PR_SET_NAME, "rubricd-twin");
    *ret_step = "becoming a child subreaper";
    if (prctl(PR_SET_CHILD_SUBREAPER, 1) < 0)
        return -errno;
    start_enter_twin(parts->start);
    int r = enclosure_enter_twin(parts->enclosure, is_apart, ret_step);
    return r < 0 ? r : code;
}

_Noreturn static void live(const struct twin_parts *parts, int link, bool is_apart,
                           const int of_job[LINK_JOB_FDS])
{
    struct link_job request;
    int fds[LINK_JOB_FDS];
    const char *step;
    int code = become_twin(parts, link, is_apart, of_job, &step);
    if (code < 0) {
        complain(step, -code);
        _exit(71);
    }
    while (link_receive_job(LINK_FD, &request, parts->strings, fds) == 1) {
        bool wanted = run_candidate(parts, code, &request, fds);
        /* The next candidate may be a copy of this memory. */
        explicit_bzero(parts->strings, request.strings_length);
        if (!wanted)
            break;
    }
    _exit(0);
}

/* --- in the jail --------------------------------------------------------------------------- */

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
    *twin = (struct twin)TWIN_NULL;
}

bool twin_is_alive(const struct twin *twin)
{
    struct pollfd end = {.fd = twin->pidfd, .events = POLLIN};
    return twin->pid > 0 && poll(&end, 1, 0) == 0;
}

struct tree_time_except twin_except(const struct twin *twin)
{
    return (struct tree_time_except){twin->pid, twin->used_us * 1000};
}

unsigned twin_sockets(const struct twin *twin)
{
    /* The kernel keeps that of a dead twin for its peer. */
    return twin->link >= 0 ? 2 : 0;
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
        live(parts, ends[1], twin->is_apart, fds);
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
