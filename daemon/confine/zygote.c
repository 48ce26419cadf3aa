/* SPDX-License-Identifier: MIT */
#include "zygote.h"

#include "daemon/base/await.h"
#include "daemon/base/clock.h"
#include "daemon/jail/link.h"
#include "proto/util.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

/* The interpreter has this long to start and to load its modules. */
#define READY_MS 10000

/* The pauses before another zygote is started, if one did not start. */
#define PAUSE_MS_MIN 1000
#define PAUSE_MS_MAX 60000

/* Beside the slots' directories, whose paths are at most as long: a jail shows its directory where
 * the zygote shows this one. */
#define DIRECTORY "%s/zygote-of-slots"

static bool has_process(const struct zygote *zygote)
{
    return zygote->state == ZYGOTE_STARTING || zygote->state == ZYGOTE_READY;
}

static void enter(struct zygote *zygote, enum zygote_state state)
{
    static const _unused_ unsigned next[] = {
        [ZYGOTE_NONE] = 1u << ZYGOTE_STARTING | 1u << ZYGOTE_LOST,
        [ZYGOTE_STARTING] = 1u << ZYGOTE_READY | 1u << ZYGOTE_LOST,
        [ZYGOTE_READY] = 1u << ZYGOTE_NONE | 1u << ZYGOTE_LOST,
        [ZYGOTE_LOST] = 1u << ZYGOTE_NONE,
    };
    assert(next[zygote->state] >> state & 1);
    zygote->state = state;
    assert(has_process(zygote) == (zygote->process.pid > 0));
}

/* --- the process --------------------------------------------------------------------------- */

/* Ends a jail that the zygote has made and that was not asked for any more. */
static void end_unclaimed(int link_fd)
{
    struct link_born born;
    int pidfd = -1;
    while (link_receive_born(link_fd, &born, &pidfd) == 1) {
        if (pidfd < 0)
            continue;
        kill_by_pidfd(pidfd);
        (void)waitpid(born.pid, NULL, 0);
        pidfd = close_fd(pidfd);
    }
}

static void end_process(struct zygote *zygote)
{
    struct jailproc *process = &zygote->process;
    if (process->pid <= 0)
        return;
    kill_by_pidfd(process->pidfd);
    (void)waitpid(process->pid, NULL, 0);
    if (zygote->state == ZYGOTE_READY)
        end_unclaimed(process->link_fd);
    close_fd(process->pidfd);
    close_fd(process->link_fd);
    *process = (struct jailproc){.pidfd = -1, .link_fd = -1};
    (void)rmdir(zygote->directory);
}

_printf_(2, 3) static void lose(struct zygote *zygote, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int n = vsnprintf(zygote->reason, sizeof(zygote->reason), format, arguments);
    va_end(arguments);
    bool again = zygote->state == ZYGOTE_READY && zygote->is_useful;
    if (!zygote->is_interpreter_bad && n > 0 && n < (int)sizeof(zygote->reason))
        (void)snprintf(zygote->reason + n, sizeof(zygote->reason) - (size_t)n, "%s",
                       again                     ? "; another one is started"
                       : zygote->has_been_useful ? "; jails are made without it for a while"
                                                 : "; jails are made without it");
    zygote->is_reason_told = false;
    zygote->has_died |= has_process(zygote);
    end_process(zygote);
    zygote->is_useful = false;
    zygote->pause_ms = MIN(MAX(2 * zygote->pause_ms, PAUSE_MS_MIN), PAUSE_MS_MAX);
    zygote->again_ns = clock_now_ns() + zygote->pause_ms * NS_PER_MS;
    enter(zygote, again ? ZYGOTE_NONE : ZYGOTE_LOST);
}

/* Whether what has kept the last one from starting may be over. */
static bool may_return(const struct zygote *zygote)
{
    return zygote->state == ZYGOTE_LOST && zygote->has_been_useful &&
           clock_now_ns() >= zygote->again_ns;
}

static void start(struct zygote *zygote)
{
    int r = jailproc_spawn_zygote(zygote->config, zygote->directory, &zygote->process);
    if (r < 0) {
        lose(zygote, "it cannot be started: %s", strerror(-r));
        return;
    }
    zygote->deadline_ns = clock_now_ns() + READY_MS * NS_PER_MS;
    enter(zygote, ZYGOTE_STARTING);
}

/* Reads what a starting zygote says, if it says anything. */
static void hear(struct zygote *zygote)
{
    struct link_notice notice;
    int unexpected = -1;
    int r = link_receive_notice(zygote->process.link_fd, &notice, &unexpected);
    close_fd(unexpected);
    if (r == -EAGAIN) {
        if (clock_now_ns() >= zygote->deadline_ns)
            lose(zygote, "it does not become ready");
    } else if (r <= 0 || notice.type != LINK_READY) {
        lose(zygote, "it ended before it was ready");
    } else if (notice.warm != 1) {
        zygote->is_interpreter_bad = true;
        lose(zygote, "%.*s", (int)sizeof(notice.cold_because), notice.cold_because);
    } else {
        (void)rmdir(zygote->directory);
        zygote->is_proven = true;
        enter(zygote, ZYGOTE_READY);
    }
}

/* --- what the confinement asks for --------------------------------------------------------- */

struct zygote *zygote_new(const struct jailproc_config *config, const char *work_directory)
{
    struct zygote *zygote = calloc(1, sizeof(*zygote));
    if (!zygote)
        return NULL;
    *zygote = (struct zygote){.config = config, .process = {.pidfd = -1, .link_fd = -1}};
    if (asprintf(&zygote->directory, DIRECTORY, work_directory) < 0) {
        free(zygote);
        return NULL;
    }
    return zygote;
}

struct zygote *zygote_free(struct zygote *zygote)
{
    if (!zygote)
        return NULL;
    end_process(zygote);
    (void)rmdir(zygote->directory);
    free(zygote->directory);
    free(zygote);
    return NULL;
}

bool zygote_await(struct zygote *zygote)
{
    if (zygote->state == ZYGOTE_NONE)
        start(zygote);
    while (zygote->state == ZYGOTE_STARTING) {
        (void)await_readable(zygote->process.link_fd, zygote->deadline_ns);
        hear(zygote);
    }
    return zygote->state == ZYGOTE_READY;
}

int zygote_copy(struct zygote *zygote, const struct jail_shape *shape, const char *directory,
                struct jailproc *ret)
{
    if (may_return(zygote)) {
        zygote->is_interpreter_bad = false;
        enter(zygote, ZYGOTE_NONE);
    }
    if (zygote->state == ZYGOTE_NONE)
        start(zygote);
    if (zygote->state == ZYGOTE_STARTING)
        hear(zygote);
    if (zygote->state != ZYGOTE_READY)
        return zygote->state == ZYGOTE_LOST ? -ENOENT : -EINPROGRESS;
    int r = jailproc_copy(&zygote->process, zygote->config, shape, directory, ret);
    if (r == -EPIPE || r == -ETIMEDOUT || r == -EPROTO || r == -ECONNRESET) {
        lose(zygote, r == -ETIMEDOUT ? "it does not answer"
                     : r == -EPROTO  ? "its answer makes no sense"
                                     : "it has died");
        return -EINPROGRESS;
    }
    if (r == 0) {
        (void)rmdir(zygote->directory); /* it may have been out of reach when it was ready */
        zygote->is_useful = zygote->has_been_useful = true;
        zygote->pause_ms = 0;
    }
    return r;
}

void zygote_give_up(struct zygote *zygote, int r)
{
    lose(zygote, "it cannot make jails: %s", strerror(-r));
}

const char *zygote_take_reason(struct zygote *zygote)
{
    if (!*zygote->reason || zygote->is_reason_told)
        return NULL;
    zygote->is_reason_told = true;
    return zygote->reason;
}

pid_t zygote_pid(const struct zygote *zygote)
{
    return zygote->process.pid;
}
