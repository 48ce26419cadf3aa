/* SPDX-License-Identifier: MIT */
/* What a slot's jail says, and what is made of it. None of it is believed that could be checked. */
#include "slot_private.h"

#include "daemon/base/await.h"
#include "daemon/base/clock.h"
#include "daemon/base/events.h"

#include <string.h>

/* A program that has ended, with all its tree, leaves its pipes at end of file at once, unless it
 * has sent them to a stranger. */
#define END_OF_FILE_MS 1000

void slot_run_on(struct slot *slot)
{
    uint64_t now_ns = clock_now_ns();
    uint64_t left_ms = slot->deadline_ns > now_ns ? (slot->deadline_ns - now_ns) / NS_PER_MS : 0;
    uint64_t cpu_ms =
        job_cgroup_cpu_remaining_ms(&slot->job.cgroup, slot->job.limits.of[LIMIT_CPU]);
    slot_enter(slot, SLOT_RUNNING, MAX(MIN(left_ms, cpu_ms), UINT64_C(1)));
}

static void job_has_started(struct slot *slot, uint64_t started_ns, int pidfd)
{
    slot->child_pidfd = pidfd;
    slot->is_quick = false;
    slot->job.result.started_ns = clock_plausible_ns(started_ns, slot->job.sent_ns);
    slot->deadline_ns =
        slot->job.result.started_ns + slot->job.limits.of[LIMIT_WALL_CLOCK] * NS_PER_MS;
    slot_run_on(slot);
    if (slot->job.result.killed != SLOT_KILL_NONE)
        slot_kill_job(slot, slot->job.result.killed); /* cancelled while it was being started */
    else
        slot->config->ops->started(slot, slot->job.owner, slot->config->userdata);
}

static const char unwatched[] = "its program cannot be watched";

/* The jail tells of it as well, unless it hangs. */
static void on_child_exit(evutil_socket_t fd, short what, void *userdata)
{
    (void)fd;
    (void)what;
    slot_note_exit(userdata, clock_now_ns());
}

/* Of a program that has ended at once nothing is left to watch, and what it wrote is in the pipes.
 */
static const char *watch_program(struct slot *slot)
{
    slot->child_event = watch_fd(slot->config->base, slot->child_pidfd, on_child_exit, slot);
    return !slot->child_event || capture_watch(&slot->job.out) < 0 ||
                   capture_watch(&slot->job.err) < 0
               ? unwatched
               : NULL;
}

static const char *job_has_ended(struct slot *slot, const struct link_notice *report)
{
    /* The jail has reaped the program: the pidfd, which the kernel answers for, must say so too. */
    if (slot->job.reported || !await_readable(slot->child_pidfd, 0))
        return "it reports the end of a program that runs";
    slot_note_exit(slot, clock_plausible_ns(report->ended_ns, slot->job.result.started_ns));
    if (capture_read_rest(&slot->job.out) < 0 || capture_read_rest(&slot->job.err) < 0)
        return unwatched;
    slot->job.reported = true;
    slot->job.spent = report->leftover;
    slot->job.result.wait_status = report->wait_status;
    slot->job.result.cpu_us = report->cpu_us;
    slot->job.result.max_rss_bytes = report->max_rss_bytes;
    slot->job.result.run_delay_ns = report->run_delay_ns;
    slot->job.result.evidence = report->evidence;
    slot->job.result.warm = report->warm == 1;
    job_cgroup_collect(&slot->job.cgroup, &slot->job.result);
    slot_enter(slot, SLOT_ENDING, END_OF_FILE_MS);
    slot_complete_if_over(slot);
    if (slot_is_deaf(slot)) {
        (void)event_del(slot->link_event);
        job_cgroup_kill(&slot->job.cgroup); /* where the jail had no means to */
    }
    return NULL;
}

/* What was sent ahead waits here again, or goes to another slot. */
static void next_has_returned(struct slot *slot)
{
    slot_retract_next(slot);
    slot->config->ops->idle(slot, slot->config->userdata);
}

/* Takes PIDFD. Returns what is wrong with the report, NULL if nothing is. */
static const char *handle_report(struct slot *slot, const struct link_notice *report, int pidfd)
{
    static const char unexpected[] = "it sends what is not expected of it";
    _cleanup_close_ int taken = pidfd;
    if (report->type == LINK_READY) {
        if (slot->state != SLOT_STARTING)
            return unexpected;
        /* What the first jail could have, and what clients are told of. */
        if (report->layers != confinement_shape(slot->confinement, slot->networked)->layers)
            return "it lacks a layer of isolation";
        slot_jail_is_ready(slot);
        return NULL;
    }
    if (report->type == LINK_RETURNED && slot->next.sent_ns > 0 &&
        report->job_no == slot->next.number) {
        next_has_returned(slot);
        return NULL;
    }
    if (!slot->job.owner || report->job_no != slot->job.number)
        return unexpected;
    /* A program that ends at once is told of in one report. */
    if (slot->state == SLOT_LAUNCHING && pidfd >= 0 &&
        (report->type == LINK_STARTED || report->type == LINK_ENDED)) {
        job_has_started(slot, report->started_ns, TAKE_FD(taken));
        if (report->type == LINK_STARTED)
            return watch_program(slot);
        slot->is_quick = true;
    }
    if (report->type == LINK_FAILED && slot->state == SLOT_LAUNCHING) {
        slot->job.result.stage = (enum link_stage)MIN(report->stage, LINK_STAGE_COUNT);
        slot->job.result.error = report->error;
        slot->job.spent = report->leftover;
        (void)job_cgroup_close(&slot->job.cgroup); /* nothing runs in it */
        slot_complete(slot, SLOT_END_NOT_STARTED);
        return NULL;
    }
    if (report->type == LINK_ENDED && (slot->state == SLOT_RUNNING || slot->state == SLOT_ENDING))
        return job_has_ended(slot, report);
    return unexpected;
}

void slot_on_link(evutil_socket_t fd, short what, void *userdata)
{
    struct slot *slot = userdata;
    (void)what;
    /* One report at a time: handling it may change everything about the slot. */
    struct link_notice report;
    int pidfd = -1;
    int r = link_receive_notice(fd, &report, &pidfd);
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
