/* SPDX-License-Identifier: MIT */
#include "slot_jail.h"

#include "daemon/base/await.h"
#include "daemon/base/events.h"
#include "proto/util.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

/* A jail has this long to become ready. */
#define READY_MS 10000
/* An idle jail whose link was closed has this long to clean up and exit. */
#define LEAVE_MS 8000
/* Between two attempts at a jail that takes a process which is starting itself. */
#define WAIT_MS 2
/* Between two looks for what a dead jail's job left behind. */
#define SWEEP_INTERVAL_MS 10
/* A process that SIGKILL does not end within this many looks sleeps in the kernel for good. */
#define SWEEPS_MAX 500
/* A jail that cannot be started is tried again after 0.2 s, 0.4 s, ... and at most this. */
#define RESTART_STEP_MS UINT64_C(100)
#define RESTART_MAX_MS UINT64_C(5000)

/* --- states -------------------------------------------------------------------------------- */

#define TO(state) (1u << SLOT_JAIL_##state)

bool slot_jail_may_enter(enum slot_jail_state from, enum slot_jail_state to)
{
    static const unsigned next[] = {
        [SLOT_JAIL_SWEEPING] = TO(SWEEPING) | TO(STARTING) | TO(STOPPED),
        [SLOT_JAIL_STARTING] = TO(UP) | TO(DYING),
        [SLOT_JAIL_UP] = TO(LEAVING) | TO(DYING),
        [SLOT_JAIL_LEAVING] = TO(DYING),
        [SLOT_JAIL_DYING] = TO(SWEEPING),
        [SLOT_JAIL_STOPPED] = 0,
    };
    return next[from] >> to & 1;
}

static bool has_process(const struct slot_jail *jail)
{
    return jail->pid > 0;
}

/* Whether process and link are as the state says. */
static _unused_ bool is_consistent(const struct slot_jail *jail)
{
    bool is_linked = jail->state == SLOT_JAIL_STARTING || jail->state == SLOT_JAIL_UP;
    bool is_there = is_linked || jail->state == SLOT_JAIL_LEAVING || jail->state == SLOT_JAIL_DYING;
    return has_process(jail) == is_there && (jail->pidfd >= 0) == is_there &&
           (jail->link_fd >= 0) == is_linked && (is_there || !jail->exit_event) &&
           (is_linked || !jail->link_event);
}

/* TIMEOUT_MS 0: the state lasts as long as it takes. */
static void enter(struct slot_jail *jail, enum slot_jail_state state, uint64_t timeout_ms)
{
    assert(slot_jail_may_enter(jail->state, state));
    jail->state = state;
    assert(is_consistent(jail));
    timer_set(&jail->timer, timeout_ms);
}

/* --- the end of a jail --------------------------------------------------------------------- */

static void hang_up(struct slot_jail *jail)
{
    jail->link_event = consume_event(jail->link_event);
    jail->link_fd = close_fd(jail->link_fd);
    jail->is_ignored = false;
}

static void kill_jail(struct slot_jail *jail, const char *why)
{
    assert(has_process(jail));
    hang_up(jail);
    kill_by_pidfd(jail->pidfd);
    enter(jail, SLOT_JAIL_DYING, 0);
    jail->host.ops->down(why, jail->host.userdata);
}

void slot_jail_replace(struct slot_jail *jail)
{
    kill_jail(jail, NULL);
}

static void note_failed_start(struct slot_jail *jail, const char *why)
{
    jail->failed_starts++;
    if (why != jail->trouble)
        (void)snprintf(jail->trouble, sizeof(jail->trouble), "%s", why);
}

void slot_jail_give_up(struct slot_jail *jail, const char *why)
{
    if (jail->state == SLOT_JAIL_STARTING && !jail->is_stopping)
        note_failed_start(jail, why);
    kill_jail(jail, jail->is_stopping ? NULL : why);
}

/* --- what the jail says -------------------------------------------------------------------- */

/* Says which step of its set-up a jail failed at. */
static const char *describe_failure(struct slot_jail *jail, const struct link_notice *notice)
{
    (void)snprintf(jail->trouble, sizeof(jail->trouble), "%.*s: %s", (int)sizeof(notice->view_step),
                   notice->view_step, strerror(notice->error));
    return jail->trouble;
}

/* Takes PIDFD. Returns the fault of NOTICE, NULL if it is valid. */
static const char *handle_notice(struct slot_jail *jail, const struct link_notice *notice,
                                 int pidfd)
{
    static const char unexpected[] = "it sends what is not expected of it";
    const struct slot_jail_ops *ops = jail->host.ops;
    _cleanup_close_ int taken = pidfd;
    if (jail->state == SLOT_JAIL_UP && notice->type != LINK_READY)
        return ops->notice(notice, TAKE_FD(taken), jail->host.userdata);
    if (jail->state == SLOT_JAIL_STARTING && notice->type == LINK_FAILED)
        return describe_failure(jail, notice);
    if (jail->state != SLOT_JAIL_STARTING || notice->type != LINK_READY)
        return unexpected;
    /* Hello messages name the layers of the first jail. */
    if (notice->layers != confinement_shape(jail->confinement, jail->wish.networked)->layers)
        return "it lacks a layer of isolation";
    jail->failed_starts = 0;
    enter(jail, SLOT_JAIL_UP, 0);
    ops->up(jail->host.userdata);
    return NULL;
}

/* Reads one notice, no more: handling it may change everything about the slot. */
static void on_link(evutil_socket_t fd, short what, void *userdata)
{
    struct slot_jail *jail = userdata;
    (void)what;
    struct link_notice notice;
    int pidfd = -1;
    int r = link_receive_notice(fd, &notice, &pidfd);
    if (r == -EAGAIN)
        return;
    if (r <= 0) {
        slot_jail_give_up(jail, r == 0 ? "it is gone" : strerror(-r));
        return;
    }
    const char *wrong = handle_notice(jail, &notice, pidfd);
    if (wrong)
        slot_jail_give_up(jail, wrong);
}

void slot_jail_ignore(struct slot_jail *jail)
{
    if (jail->link_event)
        (void)event_del(jail->link_event);
    jail->is_ignored = jail->link_fd >= 0;
}

void slot_jail_listen(struct slot_jail *jail)
{
    if (jail->is_ignored && jail->link_event)
        (void)event_add(jail->link_event, NULL);
    jail->is_ignored = false;
}

/* --- from one jail to the next ------------------------------------------------------------- */

static void sweep(struct slot_jail *jail);

/* Spawns the next jail: at once, or later and later while jails fail to come up. */
static void restart(struct slot_jail *jail)
{
    uint64_t delay_ms = 0;
    if (jail->failed_starts > 0)
        delay_ms = MIN(RESTART_STEP_MS << MIN(jail->failed_starts, 6u), RESTART_MAX_MS);
    jail->sweeps = 0;
    enter(jail, SLOT_JAIL_SWEEPING, delay_ms);
    if (jail->failed_starts > 0)
        jail->host.ops->unavailable(jail->host.userdata);
    else
        sweep(jail);
}

static void on_exit_of_jail(evutil_socket_t fd, short what, void *userdata)
{
    struct slot_jail *jail = userdata;
    (void)fd;
    /* Handle the last notices first: one may be a job's end. At end of file the link is closed. */
    while (!jail->is_ignored && await_readable(jail->link_fd, 0))
        on_link(jail->link_fd, what, jail);
    if (jail->state != SLOT_JAIL_DYING)
        slot_jail_give_up(jail, "it has died");
    jail->exit_event = consume_event(jail->exit_event);
    (void)waitpid(jail->pid, NULL, 0); /* does not block: the pidfd has told the exit */
    jail->pid = 0;
    jail->pidfd = close_fd(jail->pidfd);
    restart(jail);
}

static void spawn(struct slot_jail *jail)
{
    const struct slot_jail_host *host = &jail->host;
    struct jailproc process = {.pidfd = -1, .link_fd = -1};
    assert(jail->state == SLOT_JAIL_SWEEPING && !has_process(jail));
    host->ops->choose(host->userdata);
    /* A job of our own user may have closed the directory to the next jail. */
    (void)fchmod(host->work_directory_fd, 0700);
    int r = confinement_spawn(jail->confinement, &jail->wish, host->work_directory, jail->index,
                              &process);
    if (r == -EINPROGRESS) {
        enter(jail, SLOT_JAIL_SWEEPING, WAIT_MS);
        return;
    }
    if (r < 0) {
        note_failed_start(jail, strerror(-r));
        host->ops->spawned(r, host->userdata);
        restart(jail);
        return;
    }
    jail->pid = process.pid;
    jail->pidfd = process.pidfd;
    jail->link_fd = process.link_fd;
    jail->exit_event = watch_fd(host->base, jail->pidfd, on_exit_of_jail, jail);
    jail->link_event = watch_fd(host->base, jail->link_fd, on_link, jail);
    host->ops->spawned(0, host->userdata);
    enter(jail, SLOT_JAIL_STARTING, READY_MS);
}

/* A dead jail's processes are children of the daemon now. When none is left, a new jail may come.
 */
static void sweep(struct slot_jail *jail)
{
    if (jail->host.ops->sweep(jail->host.userdata) && jail->sweeps < SWEEPS_MAX) {
        jail->sweeps++;
        enter(jail, SLOT_JAIL_SWEEPING, SWEEP_INTERVAL_MS);
    } else if (jail->is_stopping) {
        enter(jail, SLOT_JAIL_STOPPED, 0);
        jail->host.ops->stopped(jail->host.userdata);
    } else {
        spawn(jail);
    }
}

static void on_timer(void *userdata)
{
    struct slot_jail *jail = userdata;
    switch (jail->state) {
    case SLOT_JAIL_STARTING:
        slot_jail_give_up(jail, "it does not become ready");
        break;
    case SLOT_JAIL_LEAVING:
        slot_jail_give_up(jail, "it does not end");
        break;
    case SLOT_JAIL_SWEEPING:
        sweep(jail);
        break;
    case SLOT_JAIL_UP:
    case SLOT_JAIL_DYING:
    case SLOT_JAIL_STOPPED:
        break;
    }
}

/* --- what the slot asks for ---------------------------------------------------------------- */

int slot_jail_init(struct slot_jail *jail, const struct slot_jail_host *host, unsigned index)
{
    *jail = (struct slot_jail)SLOT_JAIL_NULL;
    jail->host = *host;
    jail->index = index;
    return timer_init(&jail->timer, host->base, on_timer, jail);
}

void slot_jail_start(struct slot_jail *jail)
{
    spawn(jail);
}

bool slot_jail_is_of(const struct slot_jail *jail, const struct confinement *confinement,
                     const struct jail_wish *wish)
{
    return jail->confinement == confinement && jail->wish.networked == wish->networked &&
           (jail->wish.warm || !wish->warm);
}

void slot_jail_reshape(struct slot_jail *jail, struct confinement *confinement,
                       const struct jail_wish *wish)
{
    assert(jail->state == SLOT_JAIL_SWEEPING);
    confinement_replace(&jail->confinement, confinement);
    jail->wish = *wish;
}

void slot_jail_stop(struct slot_jail *jail, bool is_idle)
{
    jail->is_stopping = true;
    if (jail->state == SLOT_JAIL_UP && is_idle) {
        hang_up(jail);
        enter(jail, SLOT_JAIL_LEAVING, LEAVE_MS);
    } else if (jail->state == SLOT_JAIL_UP || jail->state == SLOT_JAIL_STARTING) {
        kill_jail(jail, NULL);
    } /* else it stops by itself */
}

void slot_jail_deinit(struct slot_jail *jail)
{
    if (has_process(jail)) {
        kill_by_pidfd(jail->pidfd);
        (void)waitpid(jail->pid, NULL, 0);
    }
    jail->exit_event = consume_event(jail->exit_event);
    hang_up(jail);
    timer_deinit(&jail->timer);
    jail->pidfd = close_fd(jail->pidfd);
    jail->confinement = confinement_unref(jail->confinement);
    *jail = (struct slot_jail)SLOT_JAIL_NULL;
}
