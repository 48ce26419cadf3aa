/* SPDX-License-Identifier: MIT */
/* One slot's process, the parent of its jobs.
 *
 * Theory of operation. The supervisor starts one jail per slot, in new namespaces where the host
 * grants them. Over a socketpair (link.h) it sends the jail a set-up, which says how to confine
 * itself, and then one job at a time. The jail confines itself once (enclosure.c). For each job it:
 *
 *  1. shows the job its bench and the paths that it may read (enclosure.c), bounds the work
 *     directory and writes the job's files there (work.c);
 *  2. starts the job's process (start.c), which gives up the remaining rights and becomes the
 *     program (lockdown.c); if it is to judge a candidate, has the twin start that (twin.c);
 *  3. waits for two events at once: the end of the program and the end of the supervisor; and
 *     says how long the job has waited for a CPU when the supervisor asks (tree_time.c). Where no
 *     control group bounds memory, it looks how much memory the processes take (tree_memory.c),
 *     where none counts CPU time, whether any have ended (tree_known.c), and how many locks of
 * files they hold (tree_locks.c);
 *  4. kills what is left of the job's process tree. The jail is process 1 of its pid namespace, or
 *     at least a child subreaper, so every orphan becomes its child;
 *  5. takes away what it showed, collects the files that the supervisor wants (collect.c), empties
 *     the directory, and sends the notice of the job's end. If
 *     the next job would not find the first state, because files without a name or sockets are
 *     left, the notice says so, and the supervisor replaces the jail (it counts as lost).
 *
 * If the supervisor goes away, the jail performs steps 4 and 5 and exits, so that nothing outlives
 * the daemon. The jail knows nothing of JSON, clients or verdicts, holds no secret of the daemon's
 * and has an empty environment. */
#include "jail.h"
#include "children.h"
#include "collect.h"
#include "jailed.h"
#include "run_delay.h"
#include "setup.h"
#include "spawn.h"
#include "zygote.h"

#include "daemon/base/clock.h"
#include "proto/util.h"

#include <assert.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Waits for the program's end, for LINK_SHORT_MS or the job's wall-clock limit, whichever is
 * shorter. Returns whether it ended. */
static bool ends_at_once(const struct jailed_job *job, uint64_t wall_clock_ms)
{
    struct pollfd end = {.fd = job->pidfd, .events = POLLIN};
    return poll(&end, 1, (int)MIN(wall_clock_ms, (uint64_t)LINK_SHORT_MS)) == 1;
}

/* Waits until the program runs, and stores in *ret_over whether it has ended already. Returns false
 * and sets *ret_error if the program could not be executed. */
static bool begin(const struct jail *jail, const struct link_job *request, struct jailed_job *job,
                  bool *ret_over, struct lockdown_error *ret_error)
{
    /* Of a joined pair, the other program may go on. */
    *ret_over = request->is_joined != 1 && ends_at_once(job, request->limits.of[LIMIT_WALL_CLOCK]);
    if (!*ret_over)
        start_await(&jail->start);
    *ret_error = jail->start.status->error;
    job->warm = jail->start.status->warm;
    if (ret_error->stage == LINK_STAGE_NONE)
        return true;
    job->pidfd = close_fd(job->pidfd);
    return false;
}

/* Answers a question about JOB_NO while JOB runs. Stays silent about another one, which has
 * ended. Returns false if the supervisor cannot be told. */
static bool answer_question(struct jail *jail, struct jailed_job *job, uint64_t job_no)
{
    struct link_notice notice = {.type = LINK_TIMES, .job_no = job_no, .run_delay_ns = UINT64_MAX};
    struct tree_time time;
    notice.is_second = twin_runs_second(&jail->twin);
    notice.candidate.ended_ns = job->joined.ended_ns;
    if (job_no != job->number)
        return true;
    uint64_t elapsed_ns = clock_now_ns() - job->started_ns;
    const struct tree_time_except except = jailed_except(jail);
    struct tree_known *known = &job->looks.known;
    int proc = jail->enclosure.view.proc;
    if (tree_time_read_settled(proc, elapsed_ns, except, &time) == 0) {
        if (known->is_on) /* what the first candidate waited is known, too */
            notice.unknown_ms = tree_known_tell(known, proc, except, &time);
        else
            time.wait_ns += jail->twin.first_delay_ns;
        notice.cpu_us = time.run_ns / 1000;
        notice.run_delay_ns = time.wait_ns;
        notice.ended_ns = clock_now_ns();
    }
    return link_send_notice(jail->link, &notice, -1) == 0;
}

/* Ends JOB's program, and the other one of a joined pair with it; clean_up() sees to the rest. Of a
 * command of a session it ends what the program has started in its process group. */
static void stop_job(struct jailed_job *job)
{
    job->joined.is_stopped = true;
    if (job->is_command)
        (void)kill(-job->pid, SIGKILL);
    if (!job->joined.is_program_over)
        (void)kill(job->pid, SIGKILL);
}

/* Receives what the supervisor sends while JOB runs: a question, which it answers, an order to end
 * it, or a job, which it hands back. Returns false if nothing valid arrived. */
static bool hear_supervisor(struct jail *jail, struct jailed_job *job)
{
    static char strings[LINK_STRINGS_MAX]; /* jail->strings belong to the running job */
    struct link_job request;
    int fds[LINK_JOB_FDS];
    int r = link_receive_job(jail->link, &request, strings, fds);
    if (r == LINK_ASKED)
        return answer_question(jail, job, request.job_no);
    if (r == LINK_TOLD_TO_STOP && request.job_no == job->number)
        stop_job(job);
    if (r == LINK_TOLD_TO_STOP)
        return true;
    if (r <= 0)
        return false;
    explicit_bzero(strings, request.strings_length); /* the next job may be a copy of this memory */
    for (int i = 0; i < LINK_JOB_FDS; i++)
        close_fd(fds[i]);
    struct link_notice notice = {.type = LINK_RETURNED, .job_no = request.job_no};
    return link_send_notice(jail->link, &notice, -1) == 0;
}

static bool is_too_much(const struct looks *looks)
{
    return looks->took_too_much || looks->locks.is_exceeded;
}

/* Looks whether JOB keeps its limits, and ends it if not; but not once one of the COUNT descriptors
 * UNTIL is ready. Returns after how many milliseconds to look again; -1: never. */
static int look_at_limits(const struct jail *jail, struct jailed_job *job, struct pollfd *until,
                          nfds_t count)
{
    bool was_too_much = is_too_much(&job->looks);
    int ms = looks_take(&job->looks, &jail->enclosure.work, jail->enclosure.view.proc,
                        jailed_except(jail), until, count);
    if (is_too_much(&job->looks) && !was_too_much) {
        if (job->is_command)
            kept_stop_all();
        stop_job(job);
    }
    return ms;
}

/* Waits until a program has ended or the supervisor sends something. Returns whether it does. */
static bool wait_for_any(struct jail *jail, struct jailed_job *job)
{
    struct joined *joined = &job->joined;
    struct pollfd fds[] = {
        {.fd = joined->is_program_over ? -1 : job->pidfd, .events = POLLIN},
        {.fd = jail->link, .events = POLLIN},
        {.fd = joined->ends.status, .events = POLLIN},
        {.fd = joined_unread(joined), .events = POLLIN},
    };
    int n;
    do {
        n = poll(fds, ARRAY_SIZE(fds), look_at_limits(jail, job, fds, ARRAY_SIZE(fds) - 1));
        if (n > 0 && fds[3].revents) {
            joined_drop(joined);
            fds[3].fd = joined_unread(joined);
            n--;
        }
    } while ((n == 0 || (n < 0 && errno == EINTR)) && !joined_is_over(joined));
    if (n <= 0)
        return false;
    if (fds[2].revents) /* first: of two that ended together, the candidate was */
        joined_note_candidate(joined);
    if (fds[0].revents)
        joined_note_program(joined, job->pid);
    return fds[1].revents != 0;
}

/* Waits for the program's end. Kills the program if the supervisor goes away or sends anything but
 * a job or a question. Returns false if the jail must exit. */
static bool wait_for_end(struct jail *jail, struct jailed_job *job)
{
    bool is_heard = true;
    while (is_heard) {
        bool hears = wait_for_any(jail, job);
        if (joined_is_over(&job->joined))
            return true;
        is_heard = !hears || hear_supervisor(jail, job);
    }
    struct pollfd end = {.fd = job->pidfd, .events = POLLIN};
    (void)kill(job->pid, SIGKILL);
    while (poll(&end, 1, -1) < 0 && errno == EINTR)
        ;
    return false;
}

static bool can_hear(const struct jail *jail)
{
    struct pollfd fd = {.fd = jail->link, .events = POLLIN};
    return poll(&fd, 1, 0) > 0;
}

static void complain(const char *what, int error)
{
    (void)fprintf(stderr, "rubricd-jail: %s: %s\n", what, strerror(error));
}

/* Collects the files that the supervisor wants. Returns 0, or the errno for its notice. */
static int collect(const struct jail *jail, const struct jailed_job *job)
{
    const struct collect what = {
        .cwd = jail->lockdown.cwd,
        .to = job->collected,
        .patterns = (const char *const *)job->lists.collect,
        .max = job->collect_max,
        .is_own_disk = jail->enclosure.work.is_tmpfs,
        .wall_ms = COLLECT_MS,
    };
    return -collect_files(&what);
}

/* Kills the rest of the tree and empties the work directory. Returns false if something is left, so
 * that the next job would not find the first state. */
static bool clean_up(struct jail *jail, struct jailed_job *job, struct link_notice *notice)
{
    struct enclosure *enclosure = &jail->enclosure;
    if (job->is_command) {
        if (work_is_full(&enclosure->work))
            notice->evidence |= 1u << LIMIT_DISK;
        kept_end_command(&jail->kept, enclosure);
        return true;
    }
    joined_end(&job->joined, &notice->candidate);
    struct children_usage usage = {.cpu_us = notice->cpu_us,
                                   .max_rss_bytes = notice->max_rss_bytes};
    bool was_on = jail->twin.is_on;
    bool killed = twin_end(&jail->twin, &usage, &notice->run_delay_ns, &notice->candidate);
    if (was_on && job->of_class.error == 0 && *job->of_class.digest)
        notice->of_class = jail->twin.loaded;
    if (layer_in(enclosure->layers, LAYER_TREE_KILL))
        killed = children_kill_all(TREE_KILL_MS, jailed_except(jail).pid, &usage) && killed;
    /* A process beside the template may have been forked as quietly. */
    if (jail->template.pid > 0 && !template_is_alone(&jail->template, enclosure)) {
        template_dismiss(&jail->template);
        /* The supervisor does not wait for as long again, and it is no use: the jail makes way. */
        killed = killed && children_kill_all(TREE_KILL_MS, 0, &usage);
    }
    if (!enclosure_guards_twin(enclosure))
        twin_dismiss(&jail->twin);
    if (!killed)
        complain("processes of a job could not be killed", ETIMEDOUT);
    notice->cpu_us = usage.cpu_us;
    notice->max_rss_bytes = usage.max_rss_bytes;
    if (work_is_full(&enclosure->work))
        notice->evidence |= 1u << LIMIT_DISK;
    notice->candidate.met_full_disk =
        job->looks.candidate_met_full_disk || work_candidate_is_full(&enclosure->work);
    /* Unmount before emptying: what was shown may lie in the directories that are emptied. */
    int hidden = enclosure_hide(enclosure, &job->lists);
    if (hidden < 0)
        complain("paths shown to a job could not be hidden again", -hidden);
    /* Nothing of the host lies in the directory now, and nobody writes there. */
    if (job->collected >= 0)
        notice->collect_error = !killed ? ECHILD : hidden < 0 ? EBUSY : collect(jail, job);
    int r = work_empty(&enclosure->work);
    if (r < 0)
        complain("a job's directory could not be emptied", -r);
    int left = killed ? enclosure_check_sockets(enclosure, twin_sockets(&jail->twin) +
                                                               template_sockets(&jail->template))
                      : 0;
    if (left < 0)
        complain("a job holds sockets, of which no process is left", -left);
    return killed && r == 0 && hidden == 0 && left == 0;
}

/* Waits for the program's end unless it HAS_ENDED, and enters its exit and usage into NOTICE.
 * Returns false if the jail must exit. */
static bool see_to_end(struct jail *jail, struct jailed_job *job, bool has_ended,
                       struct link_notice *notice)
{
    struct children_usage usage = {0};
    int proc = jail->enclosure.view.proc;
    assert(job->pid > 0);
    _cleanup_close_ int schedstat = has_ended ? -1 : run_delay_open(proc, job->pid);
    bool wanted = has_ended || wait_for_end(jail, job);
    while (wanted && job->is_command && can_hear(jail)) /* it may be told to stop its group */
        wanted = hear_supervisor(jail, job);
    notice->ended_ns = clock_now_ns();
    if (job->looks.took_too_much)
        notice->evidence |= 1u << LIMIT_MEMORY;
    if (job->looks.locks.is_exceeded)
        notice->evidence |= 1u << LIMIT_OPEN_FILES;
    if (job->looks.met_full_disk)
        notice->evidence |= 1u << LIMIT_DISK;
    bool matters =
        !has_ended || run_delay_is_possible(job->pid, notice->ended_ns - job->started_ns);
    if (has_ended && matters)
        schedstat = run_delay_open(proc, job->pid);
    notice->run_delay_ns = matters ? run_delay_read(schedstat) : 0;
    notice->wait_status = children_reap(job->pid, &usage);
    notice->cpu_us = usage.cpu_us;
    notice->max_rss_bytes = usage.max_rss_bytes;
    return wanted;
}

/* Whether the jail has to see to it that a job's processes together keep the limit of memory, which
 * each alone does: if no control group does. It takes a /proc of their own. */
static bool bounds_memory(const struct jail *jail, const struct link_job *request)
{
    return request->cgroup_bounds_memory != 1 && layer_in(jail->enclosure.layers, LAYER_RLIMITS) &&
           jail->enclosure.view.proc >= 0;
}

/* Whether the jail can tell its job's locks from the host's: those of its own pid namespace. */
static bool bounds_locks(const struct jail *jail)
{
    return layer_in(jail->enclosure.layers, LAYER_RLIMITS) &&
           layer_in(jail->enclosure.layers, LAYER_PID_NAMESPACE) && jail->enclosure.view.proc >= 0;
}

/* Runs one job, from its message to its last notice. Returns false if the jail must exit. */
static bool run_job(struct jail *jail, const struct link_job *request, int fds[LINK_JOB_FDS])
{
    struct jailed_job job = {.number = request->job_no,
                             .pidfd = -1,
                             .ends = TWIN_ENDS_NULL,
                             .joined = JOINED_NULL,
                             .is_command = request->act != LINK_RUN,
                             .collected = -1};
    struct lockdown_error error = {0};
    bool over = false, started = spawn_job(jail, request, fds, &job, &error);
    _cleanup_close_ int collected = TAKE_FD(fds[LINK_COLLECTED]);
    if (bounds_memory(jail, request))
        jail->kept.memory_bytes = job.looks.memory_bytes = request->limits.of[LIMIT_MEMORY];
    jail->kept.locks.is_bounded = job.looks.locks.is_bounded = bounds_locks(jail);
    for (int i = 0; i < LINK_JOB_FDS; i++)
        fds[i] = close_fd(fds[i]);
    started = started && begin(jail, request, &job, &over, &error);

    struct link_notice notice = {.job_no = request->job_no};
    if (!started) {
        notice.type = LINK_FAILED;
        notice.stage = error.stage;
        notice.error = error.error;
        /* A failing work directory cannot be repaired here: exit, and the next jail makes a new
         * one. */
        notice.leftover = !clean_up(jail, &job, &notice) || error.stage == LINK_STAGE_DIRECTORY;
        return link_send_notice(jail->link, &notice, -1) == 0 && !notice.leftover;
    }
    notice.type = LINK_STARTED;
    notice.pid = job.pid;
    notice.started_ns = job.started_ns;
    notice.warm = job.warm;
    notice.of_class = job.of_class;
    _cleanup_close_ int pidfd = job.pidfd;
    bool wanted = over || link_send_notice(jail->link, &notice, pidfd) == 0;
    wanted = see_to_end(jail, &job, over, &notice) && wanted;
    if (!over) /* the supervisor has it; keep nothing of the job beyond its last notice */
        pidfd = close_fd(pidfd);

    notice.type = LINK_ENDED;
    job.collected = collected;
    job.collect_max = request->collect_max;
    notice.error = job.looks.lacked_room || work_lacks_room(&jail->enclosure.work) ? ENOSPC : 0;
    notice.leftover = !clean_up(jail, &job, &notice);
    if (!wanted) /* the jail itself has killed the program: its end is not the program's */
        return false;
    /* A jail that could not clean up says so and makes way for a new one. */
    wanted = link_send_notice(jail->link, &notice, pidfd) == 0 && !notice.leftover;
    /* Only now: the answer need not wait for it. */
    return wanted && (job.is_command || view_renew_proc(&jail->enclosure.view) == 0);
}

int jail_main(int argc, char **argv, const struct jail_interpreter *interpreter)
{
    const bool is_copy = argc == 3 && strcmp(argv[2], LINK_ZYGOTE) == 0;
    if (argc != 2 && !is_copy) {
        (void)fprintf(stderr, "rubricd-jail is started by rubricd, not by hand\n");
        return 64;
    }
    /* Static because they are too large for the stack; only this function uses them. */
    static char strings[LINK_STRINGS_MAX];
    static struct jail jail = {
        .link = LINK_FD, .strings = strings, .twin = TWIN_NULL, .template = TEMPLATE_NULL};
    char *directory = argv[1];
    lockdown_prepare(jail.ceilings);
    if (is_copy) {
        directory = zygote_run(interpreter, directory);
        memset(argv[2], 0, strlen(argv[2])); /* ps(1) and the like show a jail as any other */
    }
    (void)setsid();
    (void)prctl(PR_SET_NAME, "rubricd-jail");
    if (prctl(PR_SET_CHILD_SUBREAPER, 1) < 0) {
        complain("becoming a child subreaper", errno);
        return 71;
    }
    const struct setup_parts parts = {jail.link, &jail.enclosure, &jail.start};
    int r = setup_descriptors();
    if (r == 0)
        r = start_init(&jail.start);
    if (r < 0) {
        complain("reserving descriptors and sharing memory with jobs", -r);
        return 71;
    }
    /* From here on leave by _exit(): the leak check of a sanitizer would run at exit() and needs
     * ptrace, which the filter refuses. */
    r = setup_jail(&parts, interpreter, directory, is_copy);
    if (r < 0)
        _exit(r == -ENOTCONN || r == -EPIPE ? 0 : 71);

    struct link_job request;
    int fds[LINK_JOB_FDS];
    int received;
    while (kept_wait(&jail.kept, &jail.enclosure, jail.link),
           (received = link_receive_job(jail.link, &request, jail.strings, fds)) > 0) {
        if (received == LINK_ASKED || received == LINK_TOLD_TO_STOP)
            continue; /* about a job that has just ended */
        bool wanted = run_job(&jail, &request, fds);
        /* The next job may be a copy of this memory. */
        explicit_bzero(jail.strings, request.strings_length);
        if (!wanted)
            break;
    }
    kept_end(&jail.kept, &jail.enclosure);
    _exit(0);
}
