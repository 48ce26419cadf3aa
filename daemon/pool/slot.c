/* SPDX-License-Identifier: MIT */
/* slot.h has the theory of operation. */
#include "slot.h"

#include "daemon/base/await.h"
#include "daemon/base/clock.h"
#include "daemon/jail/link.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

/* A jail has this long to start a program. */
#define JAIL_ANSWER_MS 10000
/* The jail of a program that was killed or has exited has this long to clean up and say so: longer
 * than it gives itself for killing the tree (jail.c); and longer still if it has files to collect
 * (COLLECT_MS in jail/collect.h). */
#define JAIL_CLEAN_UP_MS 8000
#define JAIL_COLLECT_MS 5000
/* The pipes of a program that has exited with all its tree are at end of file at once, unless it
 * has sent them to a stranger. */
#define END_OF_FILE_MS 1000
/* Between two looks at a cgroup in which something still dies. */
#define JOB_CGROUP_RETRY_MS 2

/* --- states -------------------------------------------------------------------------------- */

/* TIMEOUT_MS 0: the state lasts as long as it takes. */
static void slot_enter(struct slot *slot, enum slot_state state, uint64_t timeout_ms)
{
    assert(slot_may_enter(slot->state, state));
    slot->state = state;
    assert(slot_is_consistent(slot));
    timer_set(&slot->timer, timeout_ms);
}

/* --- a job goes back ----------------------------------------------------------------------- */

/* Gives OVER, which has left the slot, back to its owner. */
static void give_back(struct slot *slot, struct slot_job *over, enum slot_end end)
{
    slot_job_finish(over, end);
    slot->config->ops->done(slot, over->owner, &over->result, slot->config->userdata);
    slot_job_deinit(over);
}

static void give_next_back(struct slot *slot)
{
    struct slot_job over = SLOT_JOB_NULL;
    slot_job_move(&over, &slot->next);
    give_back(slot, &over, SLOT_END_JAIL_LOST);
}

/* Takes the next job back from a jail that has not begun with it and will not. */
static void retract_next(struct slot *slot)
{
    if (slot->next.phase == SLOT_JOB_SENT)
        slot_job_retract(&slot->next);
    if (slot->next.phase == SLOT_JOB_WITHDRAWN)
        give_next_back(slot);
}

/* --- a job begins -------------------------------------------------------------------------- */

static void on_output(struct capture *capture, size_t n, void *userdata);
static void on_data(struct capture *capture, const char *data, size_t n, void *userdata);
static void on_taken(struct terminal *terminal, size_t n, void *userdata);

static int send_job(struct slot *slot, struct slot_job *job)
{
    bool has_cgroups = confinement_has(slot->jail.confinement, LAYER_CGROUP);
    struct slot_job_host host = {
        .base = slot->config->base,
        .kept = &slot->kept,
        .on_data = on_data,
        .on_output = on_output,
        .on_taken = on_taken,
        .userdata = slot,
        .cgroups = has_cgroups ? slot->config->cgroups : NULL,
    };
    return slot_job_send(job, &host, slot->jail.link_fd);
}

/* The jail has the slot's job and may start it at any time. */
static void launch(struct slot *slot)
{
    slot_job_commit(&slot->job);
    slot_class_begin(&slot->of_class, &slot->job.of_class);
    slot_enter(slot, SLOT_LAUNCHING, JAIL_ANSWER_MS + (*slot->job.of_class.key ? LINK_LOAD_MS : 0));
}

/* Sends the slot's pending job to its idle jail, or replaces a jail that does not fit. A negative
 * errno: the job could not be sent to a jail that seems to be well, and both are as before. */
static int begin(struct slot *slot)
{
    assert(slot->state == SLOT_IDLE && slot->job.phase == SLOT_JOB_PENDING);
    if (!slot_shape_fits(slot, &slot->job)) {
        slot_jail_replace(&slot->jail); /* the job waits for the next one */
        return 0;
    }
    int r = send_job(slot, &slot->job);
    if (r == -EPIPE) {
        slot_jail_give_up(&slot->jail, "it is gone"); /* the job waits for the next one */
        return 0;
    }
    if (r == 0)
        launch(slot);
    return r;
}

/* The same for a job whose owner has been told that it was taken: a job that cannot be sent is
 * given back when a new jail has come up. */
static void begin_accepted(struct slot *slot)
{
    int r = begin(slot);
    if (r < 0) {
        slot_job_withdraw(&slot->job);
        slot_jail_give_up(&slot->jail, strerror(-r));
    }
}

/* Makes the next job the slot's job. The jail, idle now, has it already or is sent it. The jail
 * cannot have begun with it before NOT_BEFORE_NS. */
static void advance(struct slot *slot, uint64_t not_before_ns)
{
    slot_job_move(&slot->job, &slot->next);
    if (slot->job.phase == SLOT_JOB_PENDING) {
        begin_accepted(slot);
        return;
    }
    slot->job.sent_ns = MAX(slot->job.sent_ns, not_before_ns);
    launch(slot);
}

/* --- one job ahead ------------------------------------------------------------------------- */

/* Sends the next job ahead, if it can be sent; otherwise it is pending here. */
static void send_ahead(struct slot *slot)
{
    if (slot_shape_fits(slot, &slot->next))
        (void)send_job(slot, &slot->next);
}

/* --- the job's end ------------------------------------------------------------------------- */

static void complete(struct slot *slot, enum slot_end end)
{
    slot_job_close(&slot->job);
    bool has_its_jail = slot->state == SLOT_ENDING || slot->state == SLOT_LAUNCHING;
    if (has_its_jail && slot->job.spent)
        slot_jail_give_up(&slot->jail, "it could not clean up after its job");
    else if (has_its_jail)
        slot_enter(slot, SLOT_IDLE, 0);

    /* The job leaves the slot before the callback, which may give the slot another one. */
    struct slot_job over = SLOT_JOB_NULL;
    slot_job_move(&over, &slot->job);
    if (slot->state == SLOT_IDLE && slot->next.phase != SLOT_JOB_NONE)
        advance(slot, over.result.ended_ns);
    slot_jail_listen(&slot->jail);
    give_back(slot, &over, end);
    if (slot_is_idle(slot) || slot_takes_next(slot))
        slot->config->ops->idle(slot, slot->config->userdata);
}

static void complete_if_over(struct slot *slot)
{
    if (slot->state != SLOT_ENDING || slot->job.phase != SLOT_JOB_ENDED ||
        !slot_job_is_drained(&slot->job))
        return;
    if (!job_cgroup_close(&slot->job.cgroup)) {
        slot_enter(slot, SLOT_ENDING, JOB_CGROUP_RETRY_MS);
        return;
    }
    if (slot->job.cgroup.is_left)
        log_slot(slot->config->log, LOG_WARNING, LOG_MESSAGE_CGROUP_LEFT, slot->index,
                 slot->job.number, "the cgroup of job %" PRIu64 " stays", slot->job.number);
    complete(slot, SLOT_END_EXITED);
}

/* The program has exited, or was killed. */
static void await_end(struct slot *slot)
{
    uint64_t collect_ms = slot->job.collected >= 0 ? JAIL_COLLECT_MS : 0;
    if (slot->state == SLOT_RUNNING)
        slot_enter(slot, SLOT_ENDING, JAIL_CLEAN_UP_MS + collect_ms);
}

static void kill_job(struct slot *slot, enum slot_kill why)
{
    /* First: when the jail sees the program's end, it knows that what the program has started is to
     * end with it. */
    if (slot_job_is_command(&slot->job) && slot->state == SLOT_RUNNING)
        (void)link_send_stop(slot->jail.link_fd, slot->job.link_no);
    slot_job_kill(&slot->job, why);
    /* Its program may have ended, and what is joined with it not. A jail that does not hear this
     * misses its time. */
    if (slot->job.is_joined && slot->state == SLOT_RUNNING)
        (void)link_send_stop(slot->jail.link_fd, slot->job.link_no);
    await_end(slot);
}

static void note_exit(struct slot *slot, uint64_t ended_ns)
{
    slot_job_note_exit(&slot->job, ended_ns);
    await_end(slot);
}

static void on_data(struct capture *capture, const char *data, size_t n, void *userdata)
{
    struct slot *slot = userdata;
    bool is_stderr = capture == &slot->job.err;
    size_t room = slot_job_output_room(&slot->job, capture, n);
    if (room > 0)
        slot->config->ops->output(slot, slot->job.owner, is_stderr, data, room,
                                  slot->config->userdata);
}

static void on_output(struct capture *capture, size_t n, void *userdata)
{
    struct slot *slot = userdata;
    if (!slot_job_count_output(&slot->job, capture, n))
        kill_job(slot, SLOT_KILL_OUTPUT);
    if (n == 0)
        complete_if_over(slot);
}

static void on_taken(struct terminal *terminal, size_t n, void *userdata)
{
    struct slot *slot = userdata;
    (void)terminal;
    slot->config->ops->taken(slot, slot->job.owner, n, slot->config->userdata);
}

/* The jail tells the exit as well, unless it hangs. */
static void on_program_exit(evutil_socket_t fd, short what, void *userdata)
{
    struct slot *slot = userdata;
    (void)fd;
    (void)what;
    if (slot->job.is_joined)
        slot_job_unwatch(&slot->job);
    else
        note_exit(slot, clock_now_ns());
}

/* --- what the jail says -------------------------------------------------------------------- */

static const char unexpected[] = "it sends what is not expected of it";
static const char unwatched[] = "its program cannot be watched";

/* Lets the program run until its limits of time have to be looked at. */
static void run_on(struct slot *slot)
{
    slot_enter(slot, SLOT_RUNNING, slot_job_check_after_ms(&slot->job, clock_now_ns()));
}

static void on_deadline(struct slot *slot)
{
    uint64_t now_ns = clock_now_ns();
    /* An exit that the kernel already knows of comes before the deadline, in whatever order the
     * two events are handed out. */
    if (!slot->job.is_joined && await_readable(slot->job.program_pidfd, 0)) {
        note_exit(slot, now_ns);
        return;
    }
    enum slot_kill why = slot_job_check_time(&slot->job, slot->jail.link_fd, now_ns);
    if (why == SLOT_KILL_NONE)
        run_on(slot);
    else
        kill_job(slot, why);
}

/* Takes PIDFD. */
static void job_has_started(struct slot *slot, uint64_t started_ns, int pidfd)
{
    slot_job_start(&slot->job, started_ns, pidfd);
    slot->is_quick = false;
    run_on(slot);
    if (slot->job.result.killed != SLOT_KILL_NONE)
        kill_job(slot, slot->job.result.killed); /* cancelled while it was being started */
    else
        slot->config->ops->started(slot, slot->job.owner, slot->job.result.started_ns,
                                   slot->config->userdata);
}

static const char *job_has_ended(struct slot *slot, const struct link_notice *notice)
{
    /* The jail has reaped the program: the pidfd, which the kernel answers for, must say so too. */
    if (slot->job.phase == SLOT_JOB_ENDED || !await_readable(slot->job.program_pidfd, 0))
        return "it says that a running program has ended";
    note_exit(slot, clock_plausible_ns(notice->ended_ns, slot->job.result.started_ns));
    if (capture_read_rest(&slot->job.out) < 0 || capture_read_rest(&slot->job.err) < 0)
        return unwatched;
    slot_job_note_end(&slot->job, notice, slot->jail.pid);
    slot_class_end(&slot->of_class, &slot->job.result.of_class);
    if (slot_job_is_command(&slot->job)) { /* what lives on in the session may hold the pipes */
        job_cgroup_collect_new(&slot->kept, &slot->job.result);
        capture_close(&slot->job.out);
        capture_close(&slot->job.err);
    }
    slot_enter(slot, SLOT_ENDING, END_OF_FILE_MS);
    complete_if_over(slot);
    if (slot->job.phase == SLOT_JOB_ENDED) {
        slot_jail_ignore(&slot->jail);      /* what it says now is about the next job */
        job_cgroup_kill(&slot->job.cgroup); /* where the jail had no means to */
    }
    return NULL;
}

/* Takes PIDFD. Returns the fault of NOTICE, NULL if it is valid. */
static const char *on_notice(const struct link_notice *notice, int pidfd, void *userdata)
{
    struct slot *slot = userdata;
    _cleanup_close_ int taken = pidfd;
    if (notice->type == LINK_RETURNED && slot->next.phase == SLOT_JOB_SENT &&
        notice->job_no == slot->next.link_no) {
        retract_next(slot);
        slot->config->ops->idle(slot, slot->config->userdata); /* another slot may take it */
        return NULL;
    }
    if (slot->job.phase == SLOT_JOB_NONE || notice->job_no != slot->job.link_no)
        return unexpected;
    /* ENDED alone tells the start of a program that was quick. Then nothing is left to watch, and
     * all that it wrote is in the pipes. */
    if (slot->state == SLOT_LAUNCHING && pidfd >= 0 &&
        (notice->type == LINK_STARTED || notice->type == LINK_ENDED)) {
        job_has_started(slot, notice->started_ns, TAKE_FD(taken));
        if (notice->type == LINK_STARTED)
            return slot_job_watch(&slot->job, slot->config->base, on_program_exit, slot) < 0
                       ? unwatched
                       : NULL;
        slot->is_quick = true;
    }
    if (notice->type == LINK_FAILED && slot->state == SLOT_LAUNCHING) {
        slot_job_fail(&slot->job, notice);
        slot->of_class = (struct slot_class){.affinity = 0}; /* its template may have ended */
        complete(slot, SLOT_END_NOT_STARTED);
        return NULL;
    }
    if (notice->type == LINK_TIMES &&
        slot_job_hear_times(&slot->job, notice, slot->jail.pid, clock_now_ns())) {
        if (slot->state == SLOT_RUNNING)
            on_deadline(slot);
        return NULL;
    }
    if (notice->type == LINK_ENDED && (slot->state == SLOT_RUNNING || slot->state == SLOT_ENDING))
        return job_has_ended(slot, notice);
    return unexpected;
}

/* --- what becomes of the jail -------------------------------------------------------------- */

/* A job whose end the jail has told keeps its result: one that holds its own output, so that the
 * jail cannot bring the slot back to its first state, does not become an error by that. */
static enum slot_end end_without_jail(const struct slot *slot)
{
    return slot->job.phase == SLOT_JOB_ENDED ? SLOT_END_EXITED : SLOT_END_JAIL_LOST;
}

static void on_choose(void *userdata)
{
    slot_shape_choose(userdata);
}

static void on_spawned(int r, void *userdata)
{
    slot_note_spawned(userdata, r);
}

static void on_up(void *userdata)
{
    struct slot *slot = userdata;
    slot_enter(slot, SLOT_IDLE, 0);
    if (slot->job.phase == SLOT_JOB_PENDING)
        begin_accepted(slot);
    else if (slot->job.phase != SLOT_JOB_NONE)
        complete(slot, end_without_jail(slot)); /* it ran in the jail before, or was withdrawn */
    else if (slot->next.phase != SLOT_JOB_NONE)
        advance(slot, 0);
    else
        slot->config->ops->idle(slot, slot->config->userdata);
}

static void on_down(const char *why, void *userdata)
{
    struct slot *slot = userdata;
    if (why) {
        slot->config->tally->jails_lost++;
        log_slot(slot->config->log, LOG_WARNING, LOG_MESSAGE_JAIL_LOST, slot->index,
                 slot->job.number, "jail %d is given up: %s", (int)slot->jail.pid, why);
    }
    kill_by_pidfd(slot->job.program_pidfd);
    slot->of_class = (struct slot_class){.affinity = 0};
    if (slot->state != SLOT_DOWN)
        slot_enter(slot, SLOT_DOWN, 0);
    retract_next(slot);
    slot->has_lost_jail = slot->has_lost_jail || why;
    if (slot->config->ops->lost && why)
        slot->config->ops->lost(slot, slot->config->userdata);
}

/* Without a new jail the directory is not emptied; the job's client has waited long enough. */
static void on_unavailable(void *userdata)
{
    struct slot *slot = userdata;
    if (slot->job.phase != SLOT_JOB_NONE) {
        slot->job.result.no_jail = slot->jail.trouble;
        complete(slot, end_without_jail(slot));
    }
    if (slot->next.phase != SLOT_JOB_NONE && slot_why_no_jail(slot)) {
        slot->next.result.no_jail = slot->jail.trouble;
        give_next_back(slot);
    }
    slot->config->ops->idle(slot, slot->config->userdata);
}

static bool on_sweep(void *userdata)
{
    struct slot *slot = userdata;
    bool is_empty = job_cgroup_close(&slot->job.cgroup);
    is_empty = job_cgroup_close(&slot->next.cgroup) && is_empty;
    is_empty = job_cgroup_close(&slot->kept) && is_empty;
    return (confinement_leaves_orphans(slot->jail.confinement) &&
            slot->config->ops->sweep(slot->config->userdata) > 0) ||
           !is_empty;
}

static void on_stopped(void *userdata)
{
    struct slot *slot = userdata;
    if (slot->job.phase != SLOT_JOB_NONE)
        complete(slot, end_without_jail(slot));
    if (slot->next.phase != SLOT_JOB_NONE)
        give_next_back(slot);
    slot->config->ops->stopped(slot, slot->config->userdata);
}

static const struct slot_jail_ops jail_ops = {
    .choose = on_choose,
    .spawned = on_spawned,
    .up = on_up,
    .notice = on_notice,
    .down = on_down,
    .unavailable = on_unavailable,
    .sweep = on_sweep,
    .stopped = on_stopped,
};

/* --- the timer ----------------------------------------------------------------------------- */

static void on_no_end(struct slot *slot)
{
    if (slot->job.phase != SLOT_JOB_ENDED) {
        slot_jail_give_up(&slot->jail, "it does not finish its job");
    } else if (slot_job_is_drained(&slot->job)) {
        complete_if_over(slot); /* it is the cgroup that is not empty yet */
    } else {
        log_slot(slot->config->log, LOG_WARNING, LOG_MESSAGE_OUTPUT_HELD, slot->index,
                 slot->job.number, "job %" PRIu64 " has left its output open elsewhere",
                 slot->job.number);
        complete(slot, SLOT_END_EXITED);
    }
}

static void on_timer(void *userdata)
{
    struct slot *slot = userdata;
    switch (slot->state) {
    case SLOT_LAUNCHING:
        slot_jail_give_up(&slot->jail, "it does not start its job");
        break;
    case SLOT_RUNNING:
        on_deadline(slot);
        break;
    case SLOT_ENDING:
        on_no_end(slot);
        break;
    case SLOT_DOWN:
    case SLOT_IDLE:
        break;
    }
}

/* --- what the pool asks for ---------------------------------------------------------------- */

int slot_init(struct slot *slot, const struct slot_config *config, unsigned index)
{
    const struct slot_jail_host host = {
        .base = config->base,
        .work_directory = config->work_directory,
        .work_directory_fd = config->work_directory_fd,
        .ops = &jail_ops,
        .userdata = slot,
    };
    *slot = (struct slot){
        .config = config,
        .index = index,
        .timer = TIMER_NULL,
        .jail = SLOT_JAIL_NULL,
        .job = SLOT_JOB_NULL,
        .next = SLOT_JOB_NULL,
        .kept = JOB_CGROUP_NULL,
    };
    int r = timer_init(&slot->timer, config->base, on_timer, slot);
    if (r == 0)
        r = slot_jail_init(&slot->jail, &host, index);
    if (r < 0)
        return r;
    slot_jail_start(&slot->jail);
    return 0;
}

void slot_deinit(struct slot *slot)
{
    slot_jail_deinit(&slot->jail);
    timer_deinit(&slot->timer);
    slot_job_deinit(&slot->job);
    slot_job_deinit(&slot->next);
    job_cgroup_deinit(&slot->kept);
}

/* Takes a job that an idle slot begins, one without a jail has pending, and a busy one sends ahead.
 */
static int take(struct slot *slot, const struct launch *launch, uint64_t job_no, void *owner)
{
    bool is_ahead = slot->job.phase != SLOT_JOB_NONE;
    struct slot_job *job = is_ahead ? &slot->next : &slot->job;
    assert(job->phase == SLOT_JOB_NONE);
    int r = slot_job_init(job, launch, job_no, owner);
    if (r < 0)
        return r;
    if (is_ahead) {
        send_ahead(slot);
        return 0;
    }
    if (slot->state == SLOT_DOWN)
        return 0;
    r = begin(slot);
    if (r < 0)
        slot_job_deinit(job);
    return r;
}

int slot_run(struct slot *slot, const struct launch *launch, uint64_t job_no, void *owner)
{
    assert(slot_is_idle(slot) || slot_takes_next(slot));
    return take(slot, launch, job_no, owner);
}

int slot_continue(struct slot *slot, const struct launch *launch, uint64_t job_no, void *owner)
{
    bool _unused_ is_free = slot->job.phase == SLOT_JOB_NONE && slot->next.phase == SLOT_JOB_NONE;
    assert(is_free || slot_takes_step(slot, owner));
    return slot->jail.is_stopping ? -ESHUTDOWN : take(slot, launch, job_no, owner);
}

void slot_pause_output(struct slot *slot, const void *owner, bool is_paused)
{
    if (slot->job.owner != owner)
        return; /* one that is ahead asks when it begins */
    capture_pause(&slot->job.out, is_paused);
    capture_pause(&slot->job.err, is_paused);
}

void *slot_pass_on(struct slot *from, struct slot *to)
{
    assert(from != to && slot_holds_next(from));
    assert(slot_is_idle(to) || slot_takes_next(to));
    void *owner = from->next.owner;
    if (to->state == SLOT_IDLE) {
        slot_job_move(&to->job, &from->next);
        begin_accepted(to);
    } else {
        slot_job_move(&to->next, &from->next);
        send_ahead(to);
    }
    return owner;
}

void slot_cancel(struct slot *slot, const void *owner)
{
    bool is_next = slot->next.owner == owner;
    assert(owner && (is_next || slot->job.owner == owner));
    if (slot->job.owner == owner)
        kill_job(slot, SLOT_KILL_CANCELLED);
    if (is_next)
        slot_job_kill(&slot->next, SLOT_KILL_CANCELLED);
    if (is_next && slot->next.phase == SLOT_JOB_WITHDRAWN)
        give_next_back(slot);
}
