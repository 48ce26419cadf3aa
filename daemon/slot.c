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
 * configured when it was admitted) waits as `pending` through DYING, SWEEPING and STARTING while
 * that one is killed, and is sent to the new one.
 *
 * A job that loses its jail is answered only when a new jail has come up and emptied the slot's
 * directory, or could not: whoever gets the answer can rely on nothing of the job being left. */
#include "slot.h"
#include "await.h"
#include "clock.h"
#include "events.h"
#include "jail/link.h"

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
/* A program that has ended, with all its tree, leaves its pipes at end of file at once, unless it
 * has sent them to a stranger. */
#define END_OF_FILE_MS 1000
/* What dies in a cgroup is looked for again this soon. */
#define LEAF_RETRY_MS 2
/* A jail that cannot be started is tried again after 0.1 s, 0.2 s, ... at most this. */
#define RESTART_MAX_MS 5000
/* stderr beyond this is counted but not kept. */
#define STDERR_KEPT_MAX (64u << 10)

static void slot_jail_lost(struct slot *slot, const char *why);
static void slot_complete(struct slot *slot, enum slot_end end);

/* --- state and timer ---------------------------------------------------------------------- */

/* TIMEOUT_MS 0: wait for as long as it takes. */
static void slot_enter(struct slot *slot, enum slot_state state, uint64_t timeout_ms)
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

static void kill_job(struct slot *slot, enum slot_kill why)
{
    if (slot->result.killed == SLOT_KILL_NONE)
        slot->result.killed = why;
    kill_by_pidfd(slot->child_pidfd);
    leaf_kill(&slot->leaf);
    if (slot->state == SLOT_RUNNING)
        slot_enter(slot, SLOT_ENDING, JAIL_CLEAN_UP_MS);
}

static void note_exit(struct slot *slot, uint64_t ended_ns)
{
    if (slot->result.ended_ns == 0)
        slot->result.ended_ns = ended_ns;
    slot->child_event = consume_event(slot->child_event);
    if (slot->state == SLOT_RUNNING)
        slot_enter(slot, SLOT_ENDING, JAIL_CLEAN_UP_MS);
}

static void complete_if_over(struct slot *slot)
{
    if (slot->state != SLOT_ENDING || !slot->reported || !capture_is_closed(&slot->out) ||
        !capture_is_closed(&slot->err))
        return;
    if (!leaf_close(&slot->leaf)) {
        slot_enter(slot, SLOT_ENDING, LEAF_RETRY_MS);
        return;
    }
    if (slot->leaf.is_left)
        log_slot(slot->config->log, LOG_WARNING, LOG_MESSAGE_CGROUP_LEFT, slot->index, slot->job_no,
                 "the cgroup of job %" PRIu64 " stays", slot->job_no);
    slot_complete(slot, SLOT_END_EXITED);
}

/* The jail tells of it as well, unless it hangs. */
static void on_child_exit(evutil_socket_t fd, short what, void *userdata)
{
    (void)fd;
    (void)what;
    note_exit(userdata, clock_now_ns());
}

static void on_output(struct capture *capture, size_t n, void *userdata)
{
    struct slot *slot = userdata;
    (void)capture;
    slot->output_bytes += n;
    if (slot->output_bytes > slot->limits.of[LIMIT_OUTPUT])
        kill_job(slot, SLOT_KILL_OUTPUT);
    if (n == 0)
        complete_if_over(slot);
}

/* Gives the job back. The jail, if it lives, is free for the next one. */
static void slot_complete(struct slot *slot, enum slot_end end)
{
    void *owner = TAKE_PTR(slot->owner);
    slot->result.end = end;
    if (slot->result.ended_ns == 0)
        slot->result.ended_ns = clock_now_ns();
    slot->child_event = consume_event(slot->child_event);
    slot->child_pidfd = close_fd(slot->child_pidfd);
    packet_deinit(&slot->pending);
    capture_close(&slot->out);
    capture_close(&slot->err);

    /* The captures leave the slot before the callback, which may give it a new job. */
    struct bytes out = slot->out.kept, err = slot->err.kept;
    slot->out = (struct capture)CAPTURE_NULL;
    slot->err = (struct capture)CAPTURE_NULL;
    struct slot_result result = slot->result;
    result.out = &out;
    result.err = &err;
    if (slot->spent)
        slot_jail_lost(slot, "it could not clean up after its job");
    else if (slot->state == SLOT_ENDING || slot->state == SLOT_LAUNCHING)
        slot_enter(slot, SLOT_IDLE, 0);

    slot->config->ops->done(slot, owner, &result, slot->config->userdata);
    bytes_deinit(&out);
    bytes_deinit(&err);
    if (slot->state == SLOT_IDLE && !slot->stopping)
        slot->config->ops->idle(slot, slot->config->userdata);
}

/* --- what the jail says ------------------------------------------------------------------- */

/* Sends the pending job, with a cgroup of its own where there are any: not earlier, for what is
 * left in the slot's is removed with each jail. */
static int hand_over(struct slot *slot)
{
    struct packet *packet = &slot->pending;
    bool has_leaf = layer_in(slot->confinement->probe.layers, LAYER_CGROUP);
    packet->fds[LINK_CGROUP] = close_fd(packet->fds[LINK_CGROUP]);
    int r = leaf_open(&slot->leaf, has_leaf ? slot->config->cgroups : NULL, slot->job_no,
                      &slot->limits, slot->cpu_percent, &packet->fds[LINK_CGROUP]);
    packet->job.cgroup_counts = leaf_counts_processes(&slot->leaf);
    slot->sent_ns = clock_now_ns();
    return r < 0 ? r : packet_send(packet, slot->link_fd);
}

/* The jail has the shape that the pending job wants. */
static void send_pending(struct slot *slot)
{
    int r = hand_over(slot);
    packet_deinit(&slot->pending);
    slot_enter(slot, SLOT_LAUNCHING, JAIL_ANSWER_MS);
    if (r < 0)
        slot_jail_lost(slot, strerror(-r));
}

static bool is_pending(const struct slot *slot)
{
    return slot->owner && slot->pending.strings && slot->result.killed == SLOT_KILL_NONE;
}

static void jail_is_ready(struct slot *slot)
{
    slot->failed_starts = 0;
    slot_enter(slot, SLOT_IDLE, 0);
    if (is_pending(slot))
        send_pending(slot);
    else if (slot->owner)
        slot_complete(slot, SLOT_END_JAIL_LOST); /* of the jail before this one */
    else
        slot->config->ops->idle(slot, slot->config->userdata);
}

/* Sets the timer to what comes first: the deadline, or the moment at which the tree may have used
 * up its CPU time. */
static void run_on(struct slot *slot)
{
    uint64_t now_ns = clock_now_ns();
    uint64_t left_ms = slot->deadline_ns > now_ns ? (slot->deadline_ns - now_ns) / NS_PER_MS : 0;
    uint64_t cpu_ms = leaf_cpu_remaining_ms(&slot->leaf, slot->limits.of[LIMIT_CPU]);
    slot_enter(slot, SLOT_RUNNING, MAX(MIN(left_ms, cpu_ms), UINT64_C(1)));
}

static void job_has_started(struct slot *slot, uint64_t started_ns, int pidfd)
{
    slot->child_pidfd = pidfd;
    slot->result.started_ns = clock_plausible_ns(started_ns, slot->sent_ns);
    slot->deadline_ns = slot->result.started_ns + slot->limits.of[LIMIT_WALL_CLOCK] * NS_PER_MS;
    run_on(slot);
    if (slot->result.killed != SLOT_KILL_NONE)
        kill_job(slot, slot->result.killed); /* cancelled while it was being started */
    else
        slot->config->ops->started(slot, slot->owner, slot->config->userdata);
}

static const char unwatched[] = "its program cannot be watched";

/* Of a program that has ended at once nothing is left to watch, and what it wrote is in the pipes.
 */
static const char *watch_program(struct slot *slot)
{
    slot->child_event = watch_fd(slot->config->base, slot->child_pidfd, on_child_exit, slot);
    return !slot->child_event || capture_watch(&slot->out) < 0 || capture_watch(&slot->err) < 0
               ? unwatched
               : NULL;
}

static const char *job_has_ended(struct slot *slot, const struct link_report *report)
{
    /* The jail has reaped the program: the pidfd, which the kernel answers for, must say so too. */
    if (slot->reported || !await_readable(slot->child_pidfd, 0))
        return "it reports the end of a program that runs";
    note_exit(slot, clock_plausible_ns(report->ended_ns, slot->result.started_ns));
    if (capture_read_rest(&slot->out) < 0 || capture_read_rest(&slot->err) < 0)
        return unwatched;
    slot->reported = true;
    slot->spent = report->leftover;
    slot->result.wait_status = report->wait_status;
    slot->result.cpu_us = report->cpu_us;
    slot->result.max_rss_bytes = report->max_rss_bytes;
    slot->result.run_delay_ns = report->run_delay_ns;
    slot->result.evidence = report->evidence;
    slot->result.warm = report->warm == 1;
    leaf_collect(&slot->leaf, &slot->result);
    slot_enter(slot, SLOT_ENDING, END_OF_FILE_MS);
    complete_if_over(slot);
    return NULL;
}

/* Takes PIDFD. Returns what is wrong with the report, NULL if nothing is. */
static const char *handle_report(struct slot *slot, const struct link_report *report, int pidfd)
{
    static const char unexpected[] = "it sends what is not expected of it";
    _cleanup_close_ int taken = pidfd;
    if (report->type == LINK_READY) {
        if (slot->state != SLOT_STARTING)
            return unexpected;
        /* What the first jail could have, and what clients are told of. */
        if (report->layers != confinement_shape(slot->confinement, slot->networked)->layers)
            return "it lacks a layer of isolation";
        jail_is_ready(slot);
        return NULL;
    }
    if (!slot->owner || report->job_no != slot->job_no)
        return unexpected;
    /* A program that ends at once is told of in one report. */
    if (slot->state == SLOT_LAUNCHING && pidfd >= 0 &&
        (report->type == LINK_STARTED || report->type == LINK_ENDED)) {
        job_has_started(slot, report->started_ns, TAKE_FD(taken));
        if (report->type == LINK_STARTED)
            return watch_program(slot);
    }
    if (report->type == LINK_FAILED && slot->state == SLOT_LAUNCHING) {
        slot->result.stage = (enum link_stage)MIN(report->stage, LINK_STAGE_COUNT);
        slot->result.error = report->error;
        slot->spent = report->leftover;
        (void)leaf_close(&slot->leaf); /* nothing runs in it */
        slot_complete(slot, SLOT_END_NOT_STARTED);
        return NULL;
    }
    if (report->type == LINK_ENDED && (slot->state == SLOT_RUNNING || slot->state == SLOT_ENDING))
        return job_has_ended(slot, report);
    return unexpected;
}

static void on_link(evutil_socket_t fd, short what, void *userdata)
{
    struct slot *slot = userdata;
    (void)what;
    /* One report at a time: handling it may change everything about the slot. */
    struct link_report report;
    int pidfd = -1;
    int r = link_receive_report(fd, &report, &pidfd);
    if (r == -EAGAIN)
        return;
    if (r <= 0) {
        slot_jail_lost(slot, r == 0 ? "it is gone" : strerror(-r));
        return;
    }
    const char *wrong = handle_report(slot, &report, pidfd);
    if (wrong)
        slot_jail_lost(slot, wrong);
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
    if (slot->failed_starts > 0 && slot->owner)
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
    while (await_readable(slot->link_fd, 0))
        on_link(slot->link_fd, what, slot);
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
}

static void slot_jail_lost(struct slot *slot, const char *why)
{
    if (!slot->stopping) {
        log_slot(slot->config->log, LOG_WARNING, LOG_MESSAGE_JAIL_LOST, slot->index, slot->job_no,
                 "jail %d is given up: %s", (int)slot->jail_pid, why);
        slot->config->tally->jails_lost++;
        if (slot->state == SLOT_STARTING)
            slot->failed_starts++;
    }
    end_jail(slot);
}

/* The jail is dead: its job's processes are ours now. When none is left, a new jail may come. */
static void sweep(struct slot *slot)
{
    bool empty = leaf_close(&slot->leaf);
    if ((slot->config->ops->sweep(slot->config->userdata) > 0 || !empty) &&
        slot->sweeps < SWEEPS_MAX) {
        slot->sweeps++;
        slot_enter(slot, SLOT_SWEEPING, SWEEP_INTERVAL_MS);
    } else if (slot->stopping) {
        slot_enter(slot, SLOT_STOPPED, 0);
        if (slot->owner)
            slot_complete(slot, SLOT_END_JAIL_LOST);
        slot->config->ops->stopped(slot, slot->config->userdata);
    } else {
        slot_start_jail(slot);
    }
}

static void slot_start_jail(struct slot *slot)
{
    const struct slot_config *config = slot->config;
    struct jailproc jail = {.pidfd = -1, .link_fd = -1};
    if (!is_pending(slot))
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
    slot->link_event = watch_fd(config->base, jail.link_fd, on_link, slot);
    slot_enter(slot, SLOT_STARTING, JAIL_ANSWER_MS);
}

static void on_deadline(struct slot *slot)
{
    /* An exit that the kernel already knows of comes before the deadline, in whatever order the
     * two events are handed out. */
    if (await_readable(slot->child_pidfd, 0))
        note_exit(slot, clock_now_ns());
    else if (clock_now_ns() >= slot->deadline_ns)
        kill_job(slot, SLOT_KILL_DEADLINE);
    else if (leaf_cpu_remaining_ms(&slot->leaf, slot->limits.of[LIMIT_CPU]) == 0)
        kill_job(slot, SLOT_KILL_CPU);
    else
        run_on(slot);
}

static void on_no_end(struct slot *slot)
{
    if (slot->reported && capture_is_closed(&slot->out) && capture_is_closed(&slot->err)) {
        complete_if_over(slot); /* it is the cgroup that is not empty yet */
    } else if (slot->reported) {
        log_slot(slot->config->log, LOG_WARNING, LOG_MESSAGE_OUTPUT_HELD, slot->index, slot->job_no,
                 "job %" PRIu64 " has left its output open elsewhere", slot->job_no);
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

/* Opens the pipes of stdout and stderr; the packet gets their write ends. */
static int open_captures(struct slot *slot, struct packet *packet)
{
    size_t limit = slot->limits.of[LIMIT_OUTPUT];
    int r = capture_open(&slot->out, slot->config->base, limit, on_output, slot,
                         &packet->fds[LINK_STDOUT]);
    if (r >= 0)
        r = capture_open(&slot->err, slot->config->base, MIN(limit, (size_t)STDERR_KEPT_MAX),
                         on_output, slot, &packet->fds[LINK_STDERR]);
    return r;
}

void slot_renew(struct slot *slot)
{
    if (slot->state == SLOT_IDLE && !slot->stopping &&
        slot->confinement != slot->config->confinement)
        end_jail(slot);
}

int slot_run(struct slot *slot, const struct launch *launch, uint64_t job_no, void *owner)
{
    slot->result = (struct slot_result){.run_delay_ns = UINT64_MAX};
    slot->limits = launch->limits;
    slot->output_bytes = 0;
    slot->reported = slot->spent = false;
    slot->job_no = job_no;
    slot->cpu_percent = launch->cpu_percent;

    int r = packet_init(&slot->pending, launch, job_no);
    if (r < 0)
        return r;
    bool fits = launch->network == slot->networked && launch->confinement == slot->confinement;
    r = open_captures(slot, &slot->pending);
    if (r >= 0 && fits)
        r = hand_over(slot);
    if (r < 0 && r != -EPIPE) {
        capture_deinit(&slot->out);
        capture_deinit(&slot->err);
        packet_deinit(&slot->pending);
        (void)leaf_close(&slot->leaf); /* nothing was started in it */
        return r;
    }
    slot->owner = owner;
    if (r < 0) {
        slot_jail_lost(slot, "it is gone"); /* the job waits for the next one */
    } else if (fits) {
        packet_deinit(&slot->pending);
        slot_enter(slot, SLOT_LAUNCHING, JAIL_ANSWER_MS);
    } else {
        slot->networked = launch->network;
        confinement_replace(&slot->confinement, launch->confinement);
        end_jail(slot); /* for a new one */
    }
    return 0;
}

void slot_cancel(struct slot *slot)
{
    if (slot->owner)
        kill_job(slot, SLOT_KILL_CANCELLED);
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
        .pending = PACKET_NULL,
        .leaf = LEAF_NULL,
        .out = CAPTURE_NULL,
        .err = CAPTURE_NULL,
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
    capture_deinit(&slot->out);
    capture_deinit(&slot->err);
    packet_deinit(&slot->pending);
    (void)leaf_close(&slot->leaf);
    slot->jail_pidfd = close_fd(slot->jail_pidfd);
    slot->link_fd = close_fd(slot->link_fd);
    slot->child_pidfd = close_fd(slot->child_pidfd);
    slot->confinement = confinement_unref(slot->confinement);
}
