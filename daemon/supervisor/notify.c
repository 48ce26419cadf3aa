/* SPDX-License-Identifier: MIT */
#include "notify.h"

#include "daemon/base/clock.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Each extension of a stop, which is repeated every NOTIFY_INTERVAL_S. It is short so that the
 * manager does not wait much longer for a daemon that hangs. */
#define EXTEND_MS 10000
/* How long after the grace period the daemon may clean up killed jobs and send last answers before
 * it asks for no more time. */
#define WIND_UP_MS 30000
/* A job that runs this long past its deadline shows that deadlines are not enforced. */
#define OVERDUE_MS 30000

/* --- STATUS= ------------------------------------------------------------------------------- */

_printf_(2, 3) static void add(char text[SERVICE_STATUS_MAX], const char *format, ...)
{
    size_t length = strlen(text);
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(text + length, SERVICE_STATUS_MAX - length, format, arguments);
    va_end(arguments);
}

/* "12,345" */
static void add_grouped(char text[SERVICE_STATUS_MAX], uint64_t number)
{
    if (number >= 1000) {
        add_grouped(text, number / 1000);
        add(text, ",%03" PRIu64, number % 1000);
    } else {
        add(text, "%" PRIu64, number);
    }
}

static uint64_t count_graded(const struct stats *stats)
{
    uint64_t graded = 0;
    for (enum job_kind_id kind = 0; kind < JOB_KIND_COUNT; kind++)
        graded += stats->kinds[kind].passed + stats->kinds[kind].failed;
    return graded;
}

static void describe_work(const struct supervisor *supervisor, char text[SERVICE_STATUS_MAX])
{
    const struct pool *pool = &supervisor->pool;
    unsigned retiring = pool_retiring(pool);
    add(text, "%u of %u slots busy", pool_busy(pool) - retiring, pool_size(pool));
    if (retiring > 0)
        add(text, " (and %u with a last job)", retiring);
    add(text, ", %zu queued", queue_count(&supervisor->queue));
}

static void describe_stop(const struct supervisor *supervisor, uint64_t now_ns,
                          char text[SERVICE_STATUS_MAX])
{
    unsigned busy = pool_busy(&supervisor->pool);
    add(text, "stopping: %u %s", busy, busy == 1 ? "job runs" : "jobs run");
    if (now_ns < supervisor->grace_ends_ns && busy > 0)
        add(text, ", %" PRIu64 " s left of the grace period",
            (supervisor->grace_ends_ns - now_ns) / NS_PER_MS / 1000);
}

static void describe(const struct supervisor *supervisor, uint64_t now_ns,
                     char text[SERVICE_STATUS_MAX])
{
    size_t missing = json_array_size(supervisor->settings->isolation.missing);
    text[0] = '\0';
    if (state_is_draining(supervisor))
        describe_stop(supervisor, now_ns, text);
    else
        describe_work(supervisor, text);
    add(text, ", ");
    add_grouped(text, count_graded(&supervisor->stats));
    add(text, " graded");
    if (missing > 0)
        add(text, "; %zu %s missing", missing, missing == 1 ? "layer" : "layers");
    if (supervisor->reload_refused)
        add(text, "; the last reload was refused");
    const char *no_jail = pool_why_no_jail(&supervisor->pool);
    if (no_jail)
        add(text, "; no jail can be started: %s", no_jail);
    if (supervisor->illness)
        add(text, "; not healthy: %s", supervisor->illness);
}

void notify_tell(struct supervisor *supervisor)
{
    char text[SERVICE_STATUS_MAX];
    uint64_t now_ns = clock_now_ns();
    if (!supervisor->service.is_managed)
        return;
    describe(supervisor, now_ns, text);
    service_status(&supervisor->service, text);
    if (state_is_draining(supervisor) &&
        now_ns < supervisor->grace_ends_ns + WIND_UP_MS * NS_PER_MS)
        service_extend(&supervisor->service, EXTEND_MS);
}

/* --- the watchdog -------------------------------------------------------------------------- */

bool notify_is_healthy(void *userdata)
{
    struct supervisor *supervisor = userdata;
    const struct pool *pool = &supervisor->pool;
    bool has_no_jail = pool_has_no_jail(pool);
    supervisor->has_refused = supervisor->has_refused && has_no_jail;
    struct health_view view = {
        .can_dispatch = pool_can_dispatch(pool),
        .dispatched = pool_dispatched(pool),
        .is_overdue = pool_is_overdue(pool, OVERDUE_MS),
        .has_no_jail = has_no_jail,
        .has_jobs = queue_count(&supervisor->queue) > 0 || supervisor->has_refused,
    };
    const char *illness = health_look(&supervisor->health, &view);
    if (illness && !supervisor->illness)
        log_event(&supervisor->log, LOG_ERR, LOG_MESSAGE_ILL,
                  "not healthy, the watchdog is not fed: %s", illness);
    else if (!illness && supervisor->illness)
        log_write(&supervisor->log, LOG_WARNING, "healthy again, the watchdog is fed");
    bool changed = illness != supervisor->illness;
    supervisor->illness = illness;
    if (changed)
        notify_tell(supervisor);
    return !illness;
}
