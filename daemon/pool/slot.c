/* SPDX-License-Identifier: MIT */
/* Theory of operation.
 *
 *   STARTING -> IDLE -> LAUNCHING -> RUNNING -> ENDING -> IDLE
 *       ^                                                  :
 *       +---- SWEEPING <---- DYING <---- (the jail dies or breaks a rule, from any state)
 *
 * One timerfd serves all of these: in every state it holds the moment at which the slot stops
 * waiting for what that state waits for. slot_enter() alone changes the state.
 *
 * A job that wants another jail than the idle one (with the network; of the confinement that was
 * configured when it was admitted) is pending through DYING, SWEEPING and STARTING while that one
 * is killed, and is sent to the new one.
 *
 * Waking the supervisor between two jobs costs as much as a quick job does. So the jail of a slot
 * whose last job was quick is sent the `next` one while it has one still, and goes on with that by
 * itself; when the end of the first is reported the next becomes the job, LAUNCHING as if it had
 * just been sent. A job that is not quick after all must not keep another one waiting: the jail,
 * which tells then that it runs, returns what it was sent ahead. It waits here for the end of the
 * first, or for any slot that is idle or would take one ahead itself (the pool passes it on). What
 * one jail has had is never given to another with the same pipes: whoever has got hold of that jail
 * would have their write ends.
 *
 * A job that loses its jail is answered only when a new jail has come up and emptied the slot's
 * directory, or could not: whoever gets the answer can rely on nothing of the job being left. */
#include "slot_private.h"

#include "daemon/base/await.h"
#include "daemon/base/clock.h"
#include "daemon/base/events.h"
#include "daemon/jail/link.h"

#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* A jail has this long to become ready, and to start a program. */
#define JAIL_ANSWER_MS 10000
/* A killed or ended program's jail has this long to clean up and report: longer than it gives
 * itself for killing the tree (jail.c). */
#define JAIL_CLEAN_UP_MS 8000
/* Between two looks for what a dead jail's job left behind, and how often to look. */
#define SWEEP_INTERVAL_MS 10
/* A process that SIGKILL does not end in this many looks sleeps in the kernel for good. */
#define SWEEPS_MAX 500
/* What dies in a cgroup is looked for again this soon. */
#define JOB_CGROUP_RETRY_MS 2
/* A jail that cannot be started is tried again after 0.1 s, 0.2 s, ... at most this. */
#define RESTART_MAX_MS 5000

static void take_next(struct slot *slot, uint64_t not_before_ns);
static void end_jail(struct slot *slot);

/* --- state and timer ---------------------------------------------------------------------- */

void slot_enter(struct slot *slot, enum slot_state state, uint64_t timeout_ms)
{
    slot->state = state;
    timer_set(&slot->timer, timeout_ms);
}

uint64_t slot_remaining_ms(const struct slot *slot)
{
    uint64_t now_ns = clock_now_ns();
    if (slot->state != SLOT_RUNNING || slot->deadline_ns <= now_ns)
        return 0;
    return (slot->deadline_ns - now_ns) / NS_PER_MS;
}

/* --- the job's end ------------------------------------------------------------------------ */

void slot_kill_job(struct slot *slot, enum slot_kill why)
{
    if (slot->job.result.killed == SLOT_KILL_NONE)
        slot->job.result.killed = why;
    kill_by_pidfd(slot->child_pidfd);
    job_cgroup_kill(&slot->job.cgroup);
    if (slot->state == SLOT_RUNNING)
        slot_enter(slot, SLOT_ENDING, JAIL_CLEAN_UP_MS);
}

void slot_note_exit(struct slot *slot, uint64_t ended_ns)
{
    if (slot->job.result.ended_ns == 0)
        slot->job.result.ended_ns = ended_ns;
    slot->child_event = consume_event(slot->child_event);
    if (slot->state == SLOT_RUNNING)
        slot_enter(slot, SLOT_ENDING, JAIL_CLEAN_UP_MS);
}

void slot_complete_if_over(struct slot *slot)
{
    if (slot->state != SLOT_ENDING || !slot->job.reported || !capture_is_closed(&slot->job.out) ||
        !capture_is_closed(&slot->job.err))
        return;
    if (!job_cgroup_close(&slot->job.cgroup)) {
        slot_enter(slot, SLOT_ENDING, JOB_CGROUP_RETRY_MS);
        return;
    }
    if (slot->job.cgroup.is_left)
        log_slot(slot->config->log, LOG_WARNING, LOG_MESSAGE_CGROUP_LEFT, slot->index,
                 slot->job.number, "the cgroup of job %" PRIu64 " stays", slot->job.number);
    slot_complete(slot, SLOT_END_EXITED);
}

static void on_output(struct capture *capture, size_t n, void *userdata)
{
    struct slot *slot = userdata;
    (void)capture;
    slot->job.output_bytes += n;
    if (slot->job.output_bytes > slot->job.limits.of[LIMIT_OUTPUT])
        slot_kill_job(slot, SLOT_KILL_OUTPUT);
    if (n == 0)
        slot_complete_if_over(slot);
}

bool slot_is_deaf(const struct slot *slot)
{
    return slot->job.owner && slot->job.reported;
}

/* OVER, which is in no slot any more, goes back to its owner. */
static void give_back(struct slot *slot, struct slot_job *over, enum slot_end end)
{
    over->result.end = end;
    if (over->result.ended_ns == 0)
        over->result.ended_ns = clock_now_ns();
    over->result.out = &over->out.kept;
    over->result.err = &over->err.kept;
    slot->config->ops->done(slot, over->owner, &over->result, slot->config->userdata);
    slot_job_deinit(over);
}

void slot_complete(struct slot *slot, enum slot_end end)
{
    slot->child_event = consume_event(slot->child_event);
    slot->child_pidfd = close_fd(slot->child_pidfd);
    capture_close(&slot->job.out);
    capture_close(&slot->job.err);
    if (slot->job.spent)
        slot_jail_lost(slot, "it could not clean up after its job");
    else if (slot->state == SLOT_ENDING || slot->state == SLOT_LAUNCHING)
        slot_enter(slot, SLOT_IDLE, 0);

    /* It leaves the slot before the callback, which may give it a new one. */
    struct slot_job over = slot->job;
    slot->job = (struct slot_job)SLOT_JOB_NULL;
    if (slot->state == SLOT_IDLE && slot->next.owner)
        take_next(slot, over.result.ended_ns);
    if (slot->link_event)
        (void)event_add(slot->link_event, NULL); /* where it was deaf */
    give_back(slot, &over, end);
    if (!slot->stopping && (slot->state == SLOT_IDLE || slot_takes_next(slot)))
        slot->config->ops->idle(slot, slot->config->userdata);
}

/* --- one job ahead ------------------------------------------------------------------------- */

bool slot_takes_next(const struct slot *slot)
{
    return slot->state == SLOT_LAUNCHING && slot->is_quick && !slot->next.owner &&
           !slot->stopping && !slot->retiring && slot->job.result.killed == SLOT_KILL_NONE;
}

bool slot_holds_next(const struct slot *slot)
{
    return slot_job_is_pending(&slot->next) && slot->next.cgroup.leaf.fd < 0;
}

bool slot_delays_next(const struct slot *slot)
{
    return slot_holds_next(slot) && slot->state != SLOT_LAUNCHING;
}

static void give_next_back(struct slot *slot)
{
    struct slot_job over = slot->next;
    slot->next = (struct slot_job)SLOT_JOB_NULL;
    give_back(slot, &over, SLOT_END_JAIL_LOST);
}

void slot_retract_next(struct slot *slot)
{
    if (!slot->next.owner)
        return;
    slot_job_retract(&slot->next);
    if (slot->next.result.killed != SLOT_KILL_NONE)
        give_next_back(slot);
}

/* --- the job begins ------------------------------------------------------------------------ */

static int hand_over(struct slot *slot, struct slot_job *job)
{
    bool has_leaf = layer_in(slot->confinement->probe.layers, LAYER_CGROUP);
    struct slot_job_host host = {
        .base = slot->config->base,
        .on_output = on_output,
        .userdata = slot,
        .cgroups = has_leaf ? slot->config->cgroups : NULL,
    };
    return slot_job_send(job, &host, slot->link_fd);
}

/* Whether the jail is of the shape that JOB wants. */
static bool fits(const struct slot *slot, const struct slot_job *job)
{
    return job->networked == slot->networked && job->confinement == slot->confinement;
}

/* The jail has the job. */
static void launched(struct slot *slot)
{
    slot_job_is_taken(&slot->job);
    slot_enter(slot, SLOT_LAUNCHING, JAIL_ANSWER_MS);
}

/* Begins with the slot's job, which no jail has; the slot's is idle. A negative errno: it could not
 * be sent to a jail that seems to be well. */
static int begin(struct slot *slot)
{
    if (!fits(slot, &slot->job)) {
        slot->networked = slot->job.networked;
        confinement_replace(&slot->confinement, slot->job.confinement);
        end_jail(slot); /* for a new one */
        return 0;
    }
    int r = hand_over(slot, &slot->job);
    if (r == -EPIPE) {
        slot_jail_lost(slot, "it is gone"); /* the job waits for the next one */
        return 0;
    }
    if (r == 0)
        launched(slot);
    return r;
}

static void begin_anyhow(struct slot *slot)
{
    int r = begin(slot);
    if (r < 0) {
        slot_job_is_taken(&slot->job); /* it is not sent again */
        slot_jail_lost(slot, strerror(-r));
    }
}

/* The jail, which is done with the job before, has the next one already, or is given it now. It has
 * begun with that no earlier than NOT_BEFORE_NS. */
static void take_next(struct slot *slot, uint64_t not_before_ns)
{
    slot->job = slot->next;
    slot->next = (struct slot_job)SLOT_JOB_NULL;
    if (slot->job.sent_ns == 0) {
        begin_anyhow(slot);
        return;
    }
    slot->job.sent_ns = MAX(slot->job.sent_ns, not_before_ns);
    launched(slot);
}

void slot_jail_is_ready(struct slot *slot)
{
    slot->failed_starts = 0;
    slot_enter(slot, SLOT_IDLE, 0);
    if (slot_job_is_pending(&slot->job))
        begin_anyhow(slot);
    else if (slot->job.owner)
        slot_complete(slot, SLOT_END_JAIL_LOST); /* of the jail before this one */
    else if (slot->next.owner)
        take_next(slot, 0);
    else
        slot->config->ops->idle(slot, slot->config->userdata);
}

/* --- the jail's life ---------------------------------------------------------------------- */

static void slot_start_jail(struct slot *slot);

/* There is no jail; the next is started at once, or later if the last ones did not come up. */
static void restart(struct slot *slot)
{
    uint64_t delay_ms = 1;
    if (slot->failed_starts > 0)
        delay_ms = MIN(UINT64_C(100) << MIN(slot->failed_starts, 6u), (uint64_t)RESTART_MAX_MS);
    slot->sweeps = 0;
    slot_enter(slot, SLOT_SWEEPING, delay_ms);
    /* No new jail, no empty directory; the job's client has waited long enough. */
    if (slot->failed_starts > 0 && slot->job.owner)
        slot_complete(slot, SLOT_END_JAIL_LOST);
}

static void jail_is_dead(struct slot *slot)
{
    slot->jail_event = consume_event(slot->jail_event);
    (void)waitpid(slot->jail_pid, NULL, 0); /* its pidfd says that this does not block */
    slot->jail_pid = 0;
    slot->jail_pidfd = close_fd(slot->jail_pidfd);
    /* The link may not have been read to its end yet. */
    slot->link_event = consume_event(slot->link_event);
    slot->link_fd = close_fd(slot->link_fd);
    restart(slot);
}

static void on_jail_exit(evutil_socket_t fd, short what, void *userdata)
{
    struct slot *slot = userdata;
    (void)fd;
    /* What it said last counts, a job's end perhaps. At its end of file the link is closed. */
    while (!slot_is_deaf(slot) && await_readable(slot->link_fd, 0))
        slot_on_link(slot->link_fd, what, slot);
    if (slot->state != SLOT_DYING)
        slot_jail_lost(slot, "it has died");
    jail_is_dead(slot);
}

/* From here on nothing is heard from this jail. */
static void end_jail(struct slot *slot)
{
    slot->link_event = consume_event(slot->link_event);
    slot->link_fd = close_fd(slot->link_fd);
    kill_by_pidfd(slot->child_pidfd);
    kill_by_pidfd(slot->jail_pidfd);
    slot_enter(slot, SLOT_DYING, 0);
    slot_retract_next(slot);
}

void slot_jail_lost(struct slot *slot, const char *why)
{
    if (!slot->stopping) {
        log_slot(slot->config->log, LOG_WARNING, LOG_MESSAGE_JAIL_LOST, slot->index,
                 slot->job.number, "jail %d is given up: %s", (int)slot->jail_pid, why);
        slot->config->tally->jails_lost++;
        if (slot->state == SLOT_STARTING)
            slot->failed_starts++;
    }
    end_jail(slot);
}

/* The jail is dead: its job's processes are ours now. When none is left, a new jail may come. */
static void sweep(struct slot *slot)
{
    bool empty = job_cgroup_close(&slot->job.cgroup);
    empty = job_cgroup_close(&slot->next.cgroup) && empty;
    if ((slot->config->ops->sweep(slot->config->userdata) > 0 || !empty) &&
        slot->sweeps < SWEEPS_MAX) {
        slot->sweeps++;
        slot_enter(slot, SLOT_SWEEPING, SWEEP_INTERVAL_MS);
    } else if (slot->stopping) {
        slot_enter(slot, SLOT_STOPPED, 0);
        if (slot->job.owner)
            slot_complete(slot, SLOT_END_JAIL_LOST);
        if (slot->next.owner)
            give_next_back(slot);
        slot->config->ops->stopped(slot, slot->config->userdata);
    } else {
        slot_start_jail(slot);
    }
}

static void slot_start_jail(struct slot *slot)
{
    const struct slot_config *config = slot->config;
    struct jailproc jail = {.pidfd = -1, .link_fd = -1};
    if (!slot_job_is_pending(&slot->job))
        confinement_replace(&slot->confinement, config->confinement);
    /* A job of our own user may have closed it to the next jail. */
    (void)fchmod(config->work_directory_fd, 0700);
    int r = confinement_spawn(slot->confinement, slot->networked, config->work_directory,
                              slot->index, &jail);
    if (r < 0) {
        log_slot(config->log, LOG_ERR, LOG_MESSAGE_JAIL_NOT_STARTED, slot->index, 0,
                 "cannot start a jail: %s", strerror(-r));
        config->tally->jails_lost++;
        slot->failed_starts++;
        restart(slot);
        return;
    }
    config->tally->jails_started++;
    slot->jail_pid = jail.pid;
    slot->jail_pidfd = jail.pidfd;
    slot->link_fd = jail.link_fd;
    slot->jail_event = watch_fd(config->base, jail.pidfd, on_jail_exit, slot);
    slot->link_event = watch_fd(config->base, jail.link_fd, slot_on_link, slot);
    slot_enter(slot, SLOT_STARTING, JAIL_ANSWER_MS);
}

static void on_deadline(struct slot *slot)
{
    /* An exit that the kernel already knows of comes before the deadline, in whatever order the
     * two events are handed out. */
    if (await_readable(slot->child_pidfd, 0))
        slot_note_exit(slot, clock_now_ns());
    else if (clock_now_ns() >= slot->deadline_ns)
        slot_kill_job(slot, SLOT_KILL_DEADLINE);
    else if (job_cgroup_cpu_remaining_ms(&slot->job.cgroup, slot->job.limits.of[LIMIT_CPU]) == 0)
        slot_kill_job(slot, SLOT_KILL_CPU);
    else
        slot_run_on(slot);
}

static void on_no_end(struct slot *slot)
{
    if (slot->job.reported && capture_is_closed(&slot->job.out) &&
        capture_is_closed(&slot->job.err)) {
        slot_complete_if_over(slot); /* it is the cgroup that is not empty yet */
    } else if (slot->job.reported) {
        log_slot(slot->config->log, LOG_WARNING, LOG_MESSAGE_OUTPUT_HELD, slot->index,
                 slot->job.number, "job %" PRIu64 " has left its output open elsewhere",
                 slot->job.number);
        slot_complete(slot, SLOT_END_EXITED);
    } else {
        slot_jail_lost(slot, "it does not finish its job");
    }
}

static void on_timer(void *userdata)
{
    struct slot *slot = userdata;
    switch (slot->state) {
    case SLOT_STARTING:
        slot_jail_lost(slot, "it does not become ready");
        break;
    case SLOT_LAUNCHING:
        slot_jail_lost(slot, "it does not start its job");
        break;
    case SLOT_RUNNING:
        on_deadline(slot);
        break;
    case SLOT_ENDING:
        on_no_end(slot);
        break;
    case SLOT_SWEEPING:
        sweep(slot);
        break;
    case SLOT_IDLE:
        if (slot->stopping) /* its link is closed, and it does not go */
            slot_jail_lost(slot, "it does not end");
        break;
    case SLOT_DYING:
    case SLOT_STOPPED:
        break;
    }
}

/* --- the job's start ---------------------------------------------------------------------- */

void slot_renew(struct slot *slot)
{
    if (slot->state == SLOT_IDLE && !slot->stopping &&
        slot->confinement != slot->config->confinement)
        end_jail(slot);
}

/* What cannot be sent ahead waits here. */
static void take_ahead(struct slot *slot, struct slot_job job)
{
    slot->next = job;
    if (fits(slot, &slot->next))
        (void)hand_over(slot, &slot->next);
}

int slot_run(struct slot *slot, const struct launch *launch, uint64_t job_no, void *owner)
{
    struct slot_job job;
    int r = slot_job_init(&job, launch, job_no, owner);
    if (r < 0)
        return r;
    if (slot->state == SLOT_IDLE) {
        slot->job = job;
        r = begin(slot);
        if (r < 0)
            slot_job_deinit(&slot->job);
        return r;
    }
    take_ahead(slot, job);
    return 0;
}

void *slot_pass_on(struct slot *from, struct slot *to)
{
    struct slot_job job = from->next;
    from->next = (struct slot_job)SLOT_JOB_NULL;
    if (to->state != SLOT_IDLE) {
        take_ahead(to, job);
        return to->next.owner;
    }
    to->job = job;
    begin_anyhow(to);
    return to->job.owner;
}

void slot_cancel(struct slot *slot, const void *owner)
{
    if (slot->job.owner == owner) {
        slot_kill_job(slot, SLOT_KILL_CANCELLED);
    } else if (slot->next.owner == owner) {
        slot->next.result.killed = SLOT_KILL_CANCELLED;
        if (slot->next.sent_ns == 0)
            give_next_back(slot);
    }
}

/* --- set-up and tear-down ----------------------------------------------------------------- */

int slot_init(struct slot *slot, const struct slot_config *config, unsigned index)
{
    *slot = (struct slot){
        .config = config,
        .index = index,
        .state = SLOT_STOPPED,
        .jail_pidfd = -1,
        .link_fd = -1,
        .child_pidfd = -1,
        .timer = TIMER_NULL,
        .job = SLOT_JOB_NULL,
        .next = SLOT_JOB_NULL,
    };
    int r = timer_init(&slot->timer, config->base, on_timer, slot);
    if (r < 0)
        return r;
    slot_start_jail(slot);
    return 0;
}

void slot_stop(struct slot *slot)
{
    slot->stopping = true;
    if (slot->state == SLOT_STOPPED || slot->state == SLOT_DYING || slot->state == SLOT_SWEEPING)
        return; /* it ends there by itself */
    if (slot->state == SLOT_IDLE) {
        /* A jail whose link is closed ends. */
        slot->link_event = consume_event(slot->link_event);
        slot->link_fd = close_fd(slot->link_fd);
        slot_enter(slot, SLOT_IDLE, JAIL_CLEAN_UP_MS);
    } else {
        slot_jail_lost(slot, "the daemon stops");
    }
}

void slot_deinit(struct slot *slot)
{
    if (slot->jail_pidfd >= 0) {
        kill_by_pidfd(slot->jail_pidfd);
        (void)waitpid(slot->jail_pid, NULL, 0);
    }
    slot->jail_event = consume_event(slot->jail_event);
    slot->link_event = consume_event(slot->link_event);
    timer_deinit(&slot->timer);
    slot->child_event = consume_event(slot->child_event);
    slot_job_deinit(&slot->job);
    slot_job_deinit(&slot->next);
    slot->jail_pidfd = close_fd(slot->jail_pidfd);
    slot->link_fd = close_fd(slot->link_fd);
    slot->child_pidfd = close_fd(slot->child_pidfd);
    slot->confinement = confinement_unref(slot->confinement);
}
