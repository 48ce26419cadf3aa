/* SPDX-License-Identifier: MIT */
#include "twin_life.h"
#include "children.h"
#include "move.h"
#include "run_delay.h"

#include "daemon/base/clock.h"
#include "proto/util.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* Time that a killed process tree has to die before the twin gives up on it. */
#define TREE_KILL_MS 5000
/* The jail and its twin. */
#define JAILS 2

static void complain(const char *what, int error)
{
    (void)fprintf(stderr, "rubricd-jail: the twin: %s: %s\n", what, strerror(error));
}

/* --- in the twin: the candidate's output --------------------------------------------------- */

/* How long the pump waits for room if another end of the same pipe has taken it. */
#define ROOM_MS 100
/* How long it waits for room for what a candidate that has ended has written. */
#define DRAIN_MS 1000

/* Moves bytes from one pipe to another. */
struct pump {
    int from, to; /* owned; non-blocking; from -1: nothing more comes */
    bool is_full; /* wait until bytes can go on, not until more come */
};

/* Opens the pipe FD once more, so that it can be non-blocking here while others wait for it. Where
 * that is impossible, returns another descriptor of the same: this process waits, too, should
 * others fill the pipe in the moment after it had room. A negative number with errno. */
static int pump_open(int proc, int fd)
{
    char path[32];
    (void)snprintf(path, sizeof(path), "self/fd/%d", fd);
    int again = proc < 0 ? -1 : openat(proc, path, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    return again < 0 ? fcntl(fd, F_DUPFD_CLOEXEC, 0) : again;
}

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
    struct pollfd room = {.fd = pump->to, .events = POLLOUT};
    if (pump->from < 0)
        return false;
    pump->is_full = poll(&room, 1, 0) == 0;
    if (pump->is_full)
        return false;
    ssize_t n = move_to_pipe(pump->from, pump->to, ROOM_MS);
    if (n <= 0 && n != -EAGAIN)
        pump->from = close_fd(pump->from);
    return n > 0;
}

/* Moves what is left when nobody writes any more. */
static void pump_drain(struct pump *pump)
{
    uint64_t until_ns = clock_now_ns() + DRAIN_MS * NS_PER_MS, now_ns = 0;
    struct pollfd room = {.fd = pump->to, .events = POLLOUT};
    while (pump_move(pump) || (pump->is_full && (now_ns = clock_now_ns()) < until_ns))
        if (pump->is_full)
            (void)poll(&room, 1, (int)((until_ns - now_ns) / NS_PER_MS));
    pump->from = close_fd(pump->from);
    pump->to = close_fd(pump->to);
}

/* --- in the twin: the candidate ------------------------------------------------------------ */

struct candidate {
    pid_t pid;
    int pidfd;
    struct pump output;
    bool is_second;   /* the program after it */
    bool is_of_class; /* a fork of the template of the job's class */
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

/* Whether the job's class has a template here. */
static bool has_template(const struct twin_parts *parts, const struct link_job *request,
                         const struct link_lists *lists)
{
    return request->class_count > 0 && template_is_of(parts->template, lists->class_parts[0]);
}

/* Starts it in whatever way is the quickest. Returns its pid or a negative errno. */
static pid_t start_quickly(const struct twin_parts *parts, const struct link_job *request,
                           struct lockdown *lockdown, int cgroup, struct candidate *candidate)
{
    bool warm = request->is_joined == 1 ? request->candidate_warm == 1 : request->warm == 1;
    pid_t pid = -EAGAIN;
    if (candidate->is_of_class)
        pid = template_fork(parts->template, parts->enclosure, lockdown, cgroup,
                            candidate->is_second, &candidate->pidfd, parts->start->status);
    if (pid == -EAGAIN) {
        candidate->is_of_class = false;
        pid = start_job(parts->start, lockdown, cgroup, warm, &candidate->pidfd);
    }
    return pid;
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
        .processes = enclosure_counted(enclosure, JAILS + (parts->template->pid > 0)),
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
    candidate->is_of_class = has_template(parts, request, lists);
    *ret_stage = LINK_STAGE_FORK;
    pid_t pid = start_quickly(parts, request, &lockdown, cgroup, candidate);
    if (pid < 0)
        return pid;
    candidate->pid = pid;
    start_await(start);
    *ret_stage = start->status->error.stage;
    return -start->status->error.error;
}

/* Starts the candidate with the ends of its pipes. */
static int begin(const struct twin_parts *parts, int code, const struct link_job *request,
                 const int fds[LINK_JOB_FDS], struct candidate *candidate, uint32_t *ret_stage)
{
    static char second[] = LINK_PAIR_SECOND;
    struct link_lists lists;
    int output[2];
    int r = link_split_job(request, parts->strings, &lists);
    if (r < 0 || !*lists.candidate)
        return r < 0 ? r : -EPROTO;
    if (candidate->is_second)
        lists.candidate[request->candidate_argc - 1] = second;
    _cleanup_close_ int input = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (input < 0 || pipe2(output, O_CLOEXEC) < 0)
        return -errno;
    _cleanup_close_ int end = output[1];
    candidate->output.from = output[0];
    candidate->output.to = pump_open(parts->enclosure->view.proc, fds[LINK_STDERR]);
    if (candidate->output.to < 0 || fcntl(output[0], F_SETFL, O_NONBLOCK) < 0)
        return -errno;
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
    struct template *template = parts->template;
    bool killed = true;
    if (layer_in(parts->enclosure->layers, LAYER_TREE_KILL))
        killed = children_kill_all(TREE_KILL_MS, template->pid, usage);
    /* A process beside the template may have been forked as quietly. */
    if (template->pid > 0 && !template_is_alone(template, parts->enclosure)) {
        template_dismiss(template);
        killed = killed && children_kill_all(TREE_KILL_MS, 0, usage);
    }
    pump_drain(&candidate->output);
    bool is_clear = !is_to_follow || (killed && work_clear(work) == 0);
    work_leave(work);
    return killed && is_clear &&
           enclosure_check_sockets(parts->enclosure, template_sockets(template)) == 0;
}

/* Makes the candidate's ends of the wire what they were before it, which has shared them with this
 * process: neither its flags nor what it has left unread, or has written there itself through
 * /proc, may reach the next program. */
static void renew_wire(const int fds[LINK_JOB_FDS])
{
    (void)fcntl(fds[LINK_WIRE_WRITE], F_SETFL, 0);
    (void)fcntl(fds[LINK_WIRE_READ], F_SETFL, O_NONBLOCK);
    while (move_away(fds[LINK_WIRE_READ]) > 0)
        ;
    (void)fcntl(fds[LINK_WIRE_READ], F_SETFL, 0);
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
        .output = {.from = -1, .to = -1},
        .is_second = is_second,
    };
    struct children_usage usage = {notice->cpu_us, notice->max_rss_bytes};
    int r = begin(parts, code, request, fds, &candidate, &notice->stage);
    if (request->class_count > 0 && !candidate.is_of_class)
        notice->of_class = (struct link_loaded){.error = EAGAIN, .why = "its template has ended"};
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
    struct link_notice notice = {
        .type = LINK_ENDED, .job_no = request->job_no, .of_class = parts->template->loaded};
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
    notice.warm = template_is_alone(parts->template, parts->enclosure);
    return stop == STOP_TOLD && link_send_notice(LINK_FD, &notice, -1) == 0 && !notice.leftover &&
           renew(parts);
}

/* --- in the twin: the template of a class ------------------------------------------------------
 */

/* Makes it, in a work directory that is empty and that the jail empties afterwards. */
static int make_template(const struct twin_parts *parts, const struct link_job *request,
                         const struct link_lists *lists, char why[LINK_WHY_SIZE])
{
    struct enclosure *enclosure = parts->enclosure;
    int cwd = -1;
    int r = work_join(&enclosure->work, request->job_no, &cwd);
    if (r < 0) {
        (void)snprintf(why, LINK_WHY_SIZE, "%s", strerror(-r));
        return -r;
    }
    struct lockdown lockdown =
        template_lockdown(enclosure, parts->ceilings, request, cwd,
                          1 + enclosure_counted(enclosure, JAILS)); /* it is a job to the kernel */
    lockdown.own_cgroup = request->class_has_cgroup == 1;
    lockdown.argv = lists->candidate;
    lockdown.envp = lists->envp;
    const struct template_parts of_template = {
        .enclosure = enclosure,
        .start = parts->start,
        .lockdown = &lockdown,
        .class_parts = lists->class_parts,
        .is_pair = true,
        .work = &enclosure->work,
        .memory_bytes = request->limits.of[LIMIT_MEMORY],
        .bytes_max = request->class_bytes,
        .load_ms = LINK_LOAD_MS,
    };
    int error = template_make(parts->template, &of_template, why);
    work_leave(&enclosure->work);
    return error;
}

/* Does what a message asks for that only loads. Returns false if the twin must exit: it does if
 * that fails, and whatever was started ends with it. */
static bool load_class(const struct twin_parts *parts, const struct link_job *request,
                       int fds[LINK_JOB_FDS])
{
    struct link_notice notice = {.type = LINK_LOADED, .job_no = request->job_no};
    struct link_loaded *loaded = &notice.of_class;
    struct link_lists lists;
    for (int i = 0; i < LINK_JOB_FDS; i++)
        fds[i] = close_fd(fds[i]);
    int r = link_split_job(request, parts->strings, &lists);
    if (r < 0 || request->class_count == 0 || parts->template->pid > 0)
        return false;
    loaded->error = make_template(parts, request, &lists, loaded->why);
    if (loaded->error == 0)
        *loaded = parts->template->loaded;
    return link_send_notice(LINK_FD, &notice, -1) == 0 && loaded->error == 0;
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

_Noreturn void twin_live(const struct twin_parts *of_jail, int link, bool is_apart,
                         const int of_job[LINK_JOB_FDS])
{
    struct template template = TEMPLATE_NULL;
    struct twin_parts own = *of_jail;
    const struct twin_parts *parts = &own;
    own.template = &template;
    struct link_job request;
    int fds[LINK_JOB_FDS];
    const char *step;
    int code = become_twin(parts, link, is_apart, of_job, &step);
    if (code < 0) {
        complain(step, -code);
        _exit(71);
    }
    while (link_receive_job(LINK_FD, &request, parts->strings, fds) == 1) {
        bool wanted = request.only_loads == 1 ? load_class(parts, &request, fds)
                                              : run_candidate(parts, code, &request, fds);
        /* The next candidate may be a copy of this memory. */
        explicit_bzero(parts->strings, request.strings_length);
        if (!wanted)
            break;
    }
    _exit(0);
}
