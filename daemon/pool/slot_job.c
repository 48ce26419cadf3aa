/* SPDX-License-Identifier: MIT */
#include "slot_job.h"
#include "collected.h"
#include "starvation.h"

#include "daemon/base/await.h"
#include "daemon/base/clock.h"
#include "daemon/base/events.h"
#include "proto/shortage.h"
#include "proto/util.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

/* stderr beyond this is counted but not kept. */
#define STDERR_KEPT_MAX (64u << 10)
/* Where the step stands in the number that a jail knows a launch by. */
#define STEP_SHIFT 48

/* The jail is asked this long before a deadline; for a short limit, half as long as the least by
 * which a deadline moves, so that what is not known yet seldom matters. */
#define ASK_AHEAD_NS (10 * NS_PER_MS)

/* --- phases -------------------------------------------------------------------------------- */

#define TO(phase) (1u << SLOT_JOB_##phase)

bool slot_job_may_enter(enum slot_job_phase from, enum slot_job_phase to)
{
    static const unsigned next[] = {
        [SLOT_JOB_NONE] = TO(PENDING),
        [SLOT_JOB_PENDING] = TO(SENT) | TO(WITHDRAWN) | TO(OVER),
        [SLOT_JOB_SENT] = TO(PENDING) | TO(TAKEN) | TO(WITHDRAWN),
        [SLOT_JOB_TAKEN] = TO(ENDED) | TO(OVER),
        [SLOT_JOB_ENDED] = TO(OVER),
        [SLOT_JOB_WITHDRAWN] = TO(OVER),
        [SLOT_JOB_OVER] = 0,
    };
    return next[from] >> to & 1;
}

static void enter(struct slot_job *job, enum slot_job_phase phase)
{
    assert(slot_job_may_enter(job->phase, phase));
    assert(job->owner);
    job->phase = phase;
}

/* Whether libevent holds a pointer into JOB. */
static _unused_ bool is_watched(const struct slot_job *job)
{
    return job->program_event || job->out.event || job->err.event || job->terminal.writable;
}

int slot_job_init(struct slot_job *job, const struct launch *launch, uint64_t number, void *owner)
{
    assert(owner);
    *job = (struct slot_job)SLOT_JOB_NULL;
    assert(launch->step < LAUNCH_STEPS_MAX && number < UINT64_C(1) << STEP_SHIFT);
    job->number = number;
    job->link_no = number | (uint64_t)launch->step << STEP_SHIFT;
    int r = packet_init(&job->packet, launch, job->link_no);
    if (r < 0) {
        *job = (struct slot_job)SLOT_JOB_NULL;
        return r;
    }
    job->owner = owner;
    job->limits = launch->limits;
    job->free_output = launch->free_output;
    job->free_stderr = launch->free_stderr;
    job->keeps_little = launch->keeps_little;
    job->streams = launch->streams;
    job->wants_terminal = launch->terminal;
    job->collect_max = launch->collect_max;
    job->of_class = slot_class_of(&launch->of_class);
    if (launch->of_class.why_not) {
        job->result.of_class.error = ENOTSUP;
        (void)snprintf(job->result.of_class.why, sizeof(job->result.of_class.why), "%s",
                       launch->of_class.why_not);
    }
    job->is_pair = launch->candidate != NULL;
    job->act = launch->act;
    job->is_joined = launch->joined.argv != NULL;
    job->cpu_percent = launch->cpu_percent;
    job->confinement = confinement_ref(launch->confinement);
    job->wish = (struct jail_wish){.networked = launch->network, .warm = launch->warm};
    job->result.run_delay_ns = UINT64_MAX;
    job->result.step = launch->step;
    job->result.more = launch->more;
    job->result.collected = -1;
    enter(job, SLOT_JOB_PENDING);
    return 0;
}

void slot_job_move(struct slot_job *to, struct slot_job *from)
{
    assert(to->phase == SLOT_JOB_NONE);
    assert(!is_watched(from));
    *to = *from;
    *from = (struct slot_job)SLOT_JOB_NULL;
}

/* --- to the jail and back ------------------------------------------------------------------ */

/* Makes the job a terminal, and passes its side of that to the packet. */
static int open_terminal(struct slot_job *job, const struct slot_job_host *host)
{
    const struct terminal_size size = {job->wants_terminal.rows, job->wants_terminal.columns};
    int *fds = job->packet.fds, reader;
    fds[LINK_STDIN] = close_fd(fds[LINK_STDIN]);
    int r = terminal_open(&job->terminal, host->base, size, host->on_taken, host->userdata,
                          &fds[LINK_STDIN], &reader);
    if (r < 0)
        return r;
    capture_take_terminal(&job->out, reader, host->base, host->on_output, host->userdata);
    job->out.tell = host->on_data;
    for (int i = LINK_STDOUT; i <= LINK_STDERR; i++) {
        fds[i] = fcntl(fds[LINK_STDIN], F_DUPFD_CLOEXEC, 0);
        if (fds[i] < 0)
            return -errno;
    }
    return 0;
}

/* Passes the write ends to the packet. The judge of a pair writes its report to stdout. It shares
 * its working directory with the code, which can put a link to the judge's own descriptors in the
 * place of a file that the tests write: so the report is a socket. */
static int open_captures(struct slot_job *job, const struct slot_job_host *host)
{
    size_t limit = job->limits.of[LIMIT_OUTPUT];
    size_t of_stderr = MIN(limit, (size_t)STDERR_KEPT_MAX);
    bool is_command = slot_job_is_command(job); /* its output is told, and not kept */
    if (job->wants_terminal.is_wanted)
        return open_terminal(job, host);
    int r = capture_open(&job->out, job->is_pair ? CAPTURE_SOCKET : CAPTURE_PIPE, host->base,
                         is_command          ? 0
                         : job->keeps_little ? of_stderr
                                             : limit + job->free_output,
                         host->on_output, host->userdata, &job->packet.fds[LINK_STDOUT]);
    if (r >= 0)
        r = capture_open(&job->err, CAPTURE_PIPE, host->base, of_stderr, host->on_output,
                         host->userdata, &job->packet.fds[LINK_STDERR]);
    if (r >= 0 && job->streams)
        job->out.tell = job->err.tell = host->on_data;
    return r;
}

/* Makes the memory for the files that the jail collects, if it is to collect any. */
static int open_collected(struct slot_job *job)
{
    if (job->packet.job.collect_count == 0)
        return 0;
    job->collected = collected_new();
    if (job->collected < 0)
        return job->collected;
    job->packet.fds[LINK_COLLECTED] = fcntl(job->collected, F_DUPFD_CLOEXEC, 0);
    return job->packet.fds[LINK_COLLECTED] < 0 ? -errno : 0;
}

/* Drops the pipes and the cgroup that were made for one jail. */
static void drop_jails_own(struct slot_job *job)
{
    static const enum link_job_fd of_a_jail[] = {LINK_STDOUT, LINK_STDERR, LINK_CGROUP,
                                                 LINK_COLLECTED};
    for (size_t i = 0; i < ARRAY_SIZE(of_a_jail); i++)
        job->packet.fds[of_a_jail[i]] = close_fd(job->packet.fds[of_a_jail[i]]);
    job->collected = close_fd(job->collected);
    capture_deinit(&job->out);
    capture_deinit(&job->err);
    terminal_deinit(&job->terminal);
    (void)job_cgroup_close(&job->cgroup); /* nothing was started in it */
    job->sent_ns = 0;
}

/* Returns the number of the job's cgroup. A job of a class sees the name of its group
 * (daemon/jail/template.h), which must not tell how many jobs there were before. */
static uint64_t group_no(const struct slot_job *job)
{
    uint64_t number;
    if (*job->of_class.key && getrandom(&number, sizeof(number), 0) == (ssize_t)sizeof(number))
        return number;
    return job->link_no;
}

int slot_job_send(struct slot_job *job, const struct slot_job_host *host, int link_fd)
{
    assert(job->phase == SLOT_JOB_PENDING && job->packet.strings);
    assert(capture_is_closed(&job->out) && capture_is_closed(&job->err));
    int r = open_captures(job, host);
    if (r >= 0)
        r = open_collected(job);
    /* Not before the job is sent: each jail that ends takes the cgroups of its slot with it. */
    bool is_command = slot_job_is_command(job);
    struct job_cgroup *cgroup = is_command ? host->kept : &job->cgroup;
    if (r >= 0)
        r = (is_command ? job_cgroup_share : job_cgroup_open)(cgroup, host->cgroups, group_no(job),
                                                              &job->limits, job->cpu_percent,
                                                              &job->packet.fds[LINK_CGROUP]);
    job->packet.job.cgroup_counts = job_cgroup_counts_processes(cgroup);
    job->packet.job.cgroup_bounds_memory = job_cgroup_bounds_memory(cgroup);
    uint64_t now_ns = clock_now_ns();
    if (r >= 0)
        r = packet_send(&job->packet, link_fd);
    if (r < 0) {
        drop_jails_own(job);
        return r;
    }
    job->sent_ns = now_ns;
    enter(job, SLOT_JOB_SENT);
    return r;
}

void slot_job_retract(struct slot_job *job)
{
    assert(job->phase == SLOT_JOB_SENT);
    assert(!is_watched(job) && job->program_pidfd < 0);
    drop_jails_own(job);
    enter(job, job->result.killed == SLOT_KILL_NONE ? SLOT_JOB_PENDING : SLOT_JOB_WITHDRAWN);
}

void slot_job_commit(struct slot_job *job)
{
    enter(job, SLOT_JOB_TAKEN);
    packet_deinit(&job->packet);
}

void slot_job_withdraw(struct slot_job *job)
{
    enter(job, SLOT_JOB_WITHDRAWN);
    packet_deinit(&job->packet);
}

/* --- the program --------------------------------------------------------------------------- */

static uint64_t wall_clock_ns(const struct slot_job *job)
{
    return job->limits.of[LIMIT_WALL_CLOCK] * NS_PER_MS;
}

void slot_job_start(struct slot_job *job, uint64_t started_ns, int pidfd)
{
    assert(job->phase == SLOT_JOB_TAKEN);
    assert(job->program_pidfd < 0 && pidfd >= 0);
    job->program_pidfd = pidfd;
    job->result.started_ns = clock_plausible_ns(started_ns, job->sent_ns);
    job->deadline_ns = job->result.started_ns + wall_clock_ns(job);
    job->result.program_by_ns = job->deadline_ns;
}

int slot_job_watch(struct slot_job *job, struct event_base *base, event_callback_fn on_exit,
                   void *userdata)
{
    assert(job->program_pidfd >= 0 && !job->program_event);
    job->program_event = watch_fd(base, job->program_pidfd, on_exit, userdata);
    if (!job->program_event)
        return -ENOMEM;
    int r = capture_watch(&job->out);
    return r < 0 ? r : capture_watch(&job->err);
}

void slot_job_unwatch(struct slot_job *job)
{
    assert(job->is_joined);
    job->program_event = consume_event(job->program_event);
}

void slot_job_note_exit(struct slot_job *job, uint64_t ended_ns)
{
    if (job->result.ended_ns == 0 || ended_ns < job->result.ended_ns)
        job->result.ended_ns = ended_ns;
    job->program_event = consume_event(job->program_event);
}

/* Takes over the files that the jail has collected. It cannot change them any more. */
static void note_collected(struct slot_job *job, const struct link_notice *notice)
{
    if (job->collected < 0)
        return;
    int r = collected_seal(job->collected, job->collect_max);
    job->result.collect_error = r < 0 ? -r : MAX(notice->collect_error, 0);
    if (r < 0)
        job->collected = close_fd(job->collected);
    job->result.collected = job->collected;
    /* The job itself made too much, or left processes that take long to die. It did not cause the
     * other errors. */
    static const int of_the_job[] = {0, EFBIG, E2BIG, ENAMETOOLONG, ECHILD};
    for (size_t i = 0; i < ARRAY_SIZE(of_the_job); i++)
        if (job->result.collect_error == of_the_job[i])
            return;
    job->result.lost = "files";
    job->result.lost_error = -job->result.collect_error;
}

/* Takes over what became of the candidate of a joined pair. If that could not be started, it may be
 * the program's own fault (EIO: its interpreter is cut off); everything else is the host's. */
static void note_candidate(struct slot_job *job, const struct link_candidate *candidate)
{
    if (!job->is_joined)
        return;
    job->result.candidate = *candidate;
    bool is_known =
        candidate->end == LINK_CANDIDATE_ENDED || candidate->end == LINK_CANDIDATE_STOPPED ||
        (candidate->end == LINK_CANDIDATE_FAILED && candidate->stage == LINK_STAGE_EXEC &&
         candidate->error > 0 && (candidate->error == EIO || !is_shortage(candidate->error)));
    if (is_known)
        return;
    job->result.lost = "second program";
    job->result.lost_error =
        candidate->end == LINK_CANDIDATE_FAILED && candidate->error > 0 ? -candidate->error : -EIO;
}

/* What the job can use at most, in percent of one CPU. */
static unsigned usable_percent(const struct slot_job *job, pid_t jail_pid)
{
    cpu_set_t set; /* too small for more than 1,024 CPUs; the call fails then */
    bool is_known = sched_getaffinity(jail_pid, sizeof(set), &set) == 0;
    long cpus = is_known ? CPU_COUNT(&set) : sysconf(_SC_NPROCESSORS_ONLN);
    unsigned percent = (unsigned)MAX(cpus, 1L) * 100;
    bool is_throttled = job->cpu_percent > 0 && job_cgroup_is_open(&job->cgroup);
    return is_throttled ? MIN(percent, job->cpu_percent) : percent;
}

/* The kernel knows of an exit before a daemon that was busy looks at the deadline: a job that went
 * on past it is as late as if it had been killed, unless it was others who had the CPUs. */
static void judge_late_exit(struct slot_job *job, pid_t jail_pid)
{
    struct slot_result *result = &job->result;
    if (result->ended_ns <= job->deadline_ns + SLOT_JOB_LATE_MS * NS_PER_MS)
        return;
    struct starvation starvation = {
        .elapsed_ns = result->ended_ns - result->started_ns,
        .run_ns = result->cpu_us * 1000,
        .wait_ns = result->run_delay_ns == UINT64_MAX ? 0 : result->run_delay_ns,
        .pressure_ns = job_cgroup_pressure_us(&job->cgroup) * 1000,
        .cpu_percent = usable_percent(job, jail_pid),
    };
    uint64_t limit_ns = wall_clock_ns(job) * (job->is_joined ? 2 : 1);
    uint64_t lost_ns = slot_job_is_command(job) ? 0 : starvation_lost_ns(&starvation), deadline_ns;
    if (starvation_judge(limit_ns, starvation.elapsed_ns, lost_ns, 0, &deadline_ns) ==
        STARVATION_OVER)
        result->killed = SLOT_KILL_DEADLINE;
}

/* Without a cgroup the kernel holds each process to the limit, and what the tree has taken is known
 * in the end. */
static void judge_cpu(struct slot_job *job)
{
    if (!slot_job_is_command(job) && job->result.cpu_us / 1000 > job->limits.of[LIMIT_CPU])
        job->result.killed = SLOT_KILL_CPU;
}

/* Takes over what the jail says of the job's class, as far as it can be printed. */
static void note_class(struct slot_job *job, const struct link_loaded *told)
{
    struct link_loaded *loaded = &job->result.of_class;
    if (!*job->of_class.key)
        return;
    *loaded = *told;
    loaded->why[sizeof(loaded->why) - 1] = loaded->digest[sizeof(loaded->digest) - 1] = '\0';
    bool is_digest = strspn(loaded->digest, "0123456789abcdef") == sizeof(loaded->digest) - 1;
    if (loaded->error == 0 && !is_digest)
        *loaded = (struct link_loaded){.error = EPROTO, .why = "the jail does not tell"};
}

void slot_job_note_end(struct slot_job *job, const struct link_notice *notice, pid_t jail_pid)
{
    enter(job, SLOT_JOB_ENDED);
    job->spent = notice->leftover;
    job->result.wait_status = notice->wait_status;
    job->result.cpu_us = notice->cpu_us;
    job->result.max_rss_bytes = notice->max_rss_bytes;
    /* When it was asked, the jail may have told more, of the whole tree. */
    if (notice->run_delay_ns != UINT64_MAX &&
        (job->result.run_delay_ns == UINT64_MAX || job->result.run_delay_ns < notice->run_delay_ns))
        job->result.run_delay_ns = notice->run_delay_ns;
    job->result.evidence = notice->evidence;
    job->result.lacked_room = notice->error == ENOSPC;
    job->result.warm = notice->warm == 1;
    note_class(job, &notice->of_class);
    note_collected(job, notice);
    note_candidate(job, &notice->candidate);
    job_cgroup_collect(&job->cgroup, &job->result);
    if (job->result.killed == SLOT_KILL_NONE)
        judge_cpu(job);
    if (job->result.killed == SLOT_KILL_NONE)
        judge_late_exit(job, jail_pid);
}

void slot_job_fail(struct slot_job *job, const struct link_notice *notice)
{
    assert(job->phase == SLOT_JOB_TAKEN && job->program_pidfd < 0);
    job->spent = notice->leftover;
    job->result.stage = (enum link_stage)MIN(notice->stage, LINK_STAGE_COUNT);
    job->result.error = notice->error;
    (void)job_cgroup_close(&job->cgroup); /* nothing runs in it */
}

/* --- limits -------------------------------------------------------------------------------- */

size_t slot_job_output_room(const struct slot_job *job, const struct capture *from, size_t n)
{
    uint64_t limit = job->limits.of[LIMIT_OUTPUT];
    if (from->is_terminal)
        return n;
    uint64_t room = limit - MIN(limit, (uint64_t)job->output_bytes);
    room += from == &job->out ? job->free_output : job->free_stderr;
    return (size_t)MIN((uint64_t)n, room);
}

bool slot_job_count_output(struct slot_job *job, const struct capture *from, size_t n)
{
    if (from->is_terminal)
        return true; /* nothing of it is kept, and whoever watches it sets the pace */
    size_t *free_bytes = from == &job->out ? &job->free_output : &job->free_stderr;
    size_t is_free = MIN(n, *free_bytes);
    *free_bytes -= is_free;
    job->output_bytes += n - is_free;
    return job->output_bytes <= job->limits.of[LIMIT_OUTPUT];
}

/* Whether the jail's answer could move the deadline. */
static bool may_ask(const struct slot_job *job)
{
    /* Of a session, other processes than those of the command may have waited. */
    return !job->is_final && !slot_job_is_command(job);
}

/* The answer takes until the job has run again, so the jail is asked ahead. But only at the
 * deadline does it know whether a program of a pair then has a time of its own. */
static uint64_t ask_at_ns(const struct slot_job *job)
{
    if (job->is_joined || job->is_pair || job->was_asked_ahead)
        return job->deadline_ns;
    uint64_t ahead_ns = MIN(starvation_step_ns(wall_clock_ns(job)) / 2, ASK_AHEAD_NS);
    return job->deadline_ns - MIN(ahead_ns, job->deadline_ns);
}

/* When the jail must have answered. Only if it was asked. */
static uint64_t answer_by_ns(const struct slot_job *job)
{
    return job->asked_ns + SLOT_JOB_ANSWER_MS * NS_PER_MS;
}

static bool awaits_answer(const struct slot_job *job, uint64_t now_ns)
{
    return job->asked_ns > 0 && answer_by_ns(job) > now_ns;
}

uint64_t slot_job_check_after_ms(const struct slot_job *job, uint64_t now_ns)
{
    uint64_t next_ns = awaits_answer(job, now_ns) ? answer_by_ns(job)
                       : may_ask(job)             ? ask_at_ns(job)
                                                  : job->deadline_ns;
    uint64_t left_ms = (next_ns - MIN(next_ns, now_ns)) / NS_PER_MS;
    uint64_t cpu_ms = job_cgroup_cpu_remaining_ms(&job->cgroup, job->limits.of[LIMIT_CPU]);
    return MAX(MIN(left_ms, cpu_ms), UINT64_C(1));
}

enum slot_kill slot_job_check_time(struct slot_job *job, int link_fd, uint64_t now_ns)
{
    if (now_ns >= ask_at_ns(job) && may_ask(job) && job->asked_ns == 0 &&
        link_send_question(link_fd, job->link_no) == 0)
        job->asked_ns = now_ns;
    if (now_ns >= job->deadline_ns && !(may_ask(job) && awaits_answer(job, now_ns)))
        return job->late == SLOT_KILL_NONE ? SLOT_KILL_DEADLINE : job->late;
    if (job_cgroup_cpu_remaining_ms(&job->cgroup, job->limits.of[LIMIT_CPU]) == 0)
        return SLOT_KILL_CPU;
    return SLOT_KILL_NONE;
}

/* Gives the interactor of a pair a time of its own, once, if the program has ended within its own:
 * otherwise a program could end so late that the interactor fails for it. */
static bool gives_time(struct slot_job *job, const struct link_notice *notice)
{
    uint64_t ended_ns = notice->candidate.ended_ns, started_ns = job->result.started_ns;
    if (!job->is_joined || job->shared_ns > 0 || ended_ns <= started_ns ||
        ended_ns > job->deadline_ns)
        return false;
    job->shared_ns = ended_ns - started_ns;
    job->deadline_ns = ended_ns + wall_clock_ns(job);
    return true;
}

bool slot_job_hear_times(struct slot_job *job, const struct link_notice *notice, pid_t jail_pid,
                         uint64_t now_ns)
{
    if (job->asked_ns == 0)
        return false;
    uint64_t asked_ns = job->asked_ns;
    job->asked_ns = 0;
    if (gives_time(job, notice))
        return true;
    /* On a busy host the answer may have been under way for long. */
    uint64_t read_ns = MIN(MAX(notice->ended_ns, asked_ns), now_ns);
    struct starvation starvation = {
        .elapsed_ns = read_ns - job->result.started_ns,
        .unknown_ns = notice->unknown_ms * NS_PER_MS,
        .run_ns = MAX(notice->cpu_us, job_cgroup_cpu_us(&job->cgroup)) * 1000,
        .wait_ns = notice->run_delay_ns == UINT64_MAX ? 0 : notice->run_delay_ns,
        .pressure_ns = job_cgroup_pressure_us(&job->cgroup) * 1000,
        .cpu_percent = usable_percent(job, jail_pid),
    };
    /* The limit is that of each program of a pair. */
    uint64_t limit_ns = wall_clock_ns(job) * (notice->is_second ? 2 : 1) + job->shared_ns;
    uint64_t lost_ns = starvation_lost_ns(&starvation), deadline_ns;
    /* Processes that have waited may have ended since the last answer. */
    if (job->result.run_delay_ns != UINT64_MAX)
        lost_ns = MAX(lost_ns, job->result.run_delay_ns);
    enum starvation_verdict verdict = starvation_judge(
        limit_ns, starvation.elapsed_ns, lost_ns,
        job->deadline_ns - MIN(job->result.started_ns, job->deadline_ns), &deadline_ns);
    job->result.run_delay_ns = lost_ns;
    job->was_asked_ahead = verdict == STARVATION_OPEN;
    job->is_final = verdict == STARVATION_OVER || verdict == STARVATION_STARVED;
    if (verdict == STARVATION_MOVE) {
        job->result.deadline_moves++;
        job->result.deadline_ms = (deadline_ns + NS_PER_MS - 1) / NS_PER_MS;
        job->deadline_ns = job->result.started_ns + deadline_ns;
        if (job->shared_ns == 0)
            job->result.program_by_ns = job->deadline_ns;
    } else if (verdict == STARVATION_STARVED) {
        job->late = SLOT_KILL_STARVED;
    }
    return true;
}

uint64_t slot_job_remaining_ms(const struct slot_job *job, uint64_t now_ns)
{
    return job->deadline_ns > now_ns ? (job->deadline_ns - now_ns) / NS_PER_MS : 0;
}

/* --- the end ------------------------------------------------------------------------------- */

void slot_job_kill(struct slot_job *job, enum slot_kill why)
{
    assert(job->phase != SLOT_JOB_NONE && job->phase != SLOT_JOB_OVER);
    if (job->result.killed == SLOT_KILL_NONE)
        job->result.killed = why;
    job->result.cancelled |= why == SLOT_KILL_CANCELLED;
    if (job->phase == SLOT_JOB_PENDING)
        slot_job_withdraw(job);
    if (job->phase == SLOT_JOB_SENT)
        return;
    kill_by_pidfd(job->program_pidfd);
    job_cgroup_kill(&job->cgroup);
}

void slot_job_close(struct slot_job *job)
{
    job->program_event = consume_event(job->program_event);
    job->program_pidfd = close_fd(job->program_pidfd);
    capture_close(&job->out);
    capture_close(&job->err);
    terminal_deinit(&job->terminal);
}

void slot_job_finish(struct slot_job *job, enum slot_end end)
{
    assert(end != SLOT_END_EXITED || job->phase == SLOT_JOB_ENDED);
    assert(end != SLOT_END_NOT_STARTED || job->phase == SLOT_JOB_TAKEN);
    assert(!is_watched(job));
    job->result.end = end;
    /* Nobody but the jail knows whether a joined pair was over before its time was. */
    if (end == SLOT_END_JAIL_LOST && job->is_joined && job->result.killed == SLOT_KILL_DEADLINE)
        job->result.killed = SLOT_KILL_NONE;
    if (job->result.ended_ns == 0)
        job->result.ended_ns = clock_now_ns();
    job->result.limits = &job->limits;
    job->result.class_key = job->of_class.key;
    job->result.out = &job->out.kept;
    job->result.err = &job->err.kept;
    if (job->out.error < 0 || job->err.error < 0) {
        job->result.lost = "output";
        job->result.lost_error = job->out.error < 0 ? job->out.error : job->err.error;
    }
    enter(job, SLOT_JOB_OVER);
}

bool slot_job_is_drained(const struct slot_job *job)
{
    return capture_is_closed(&job->out) && capture_is_closed(&job->err);
}

void slot_job_deinit(struct slot_job *job)
{
    slot_job_close(job);
    capture_deinit(&job->out);
    capture_deinit(&job->err);
    packet_deinit(&job->packet);
    close_fd(job->collected);
    job_cgroup_deinit(&job->cgroup);
    confinement_unref(job->confinement);
    *job = (struct slot_job)SLOT_JOB_NULL;
}
