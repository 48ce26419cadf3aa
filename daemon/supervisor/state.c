/* SPDX-License-Identifier: MIT */
#include "state.h"

#include <assert.h>
#include <inttypes.h>

/* While others wait for the memory of a frame, it gets its next part in this part of the time in
 * which it has to be complete, or is given up. */
#define STALLS_PER_TIMEOUT 30
#define STALL_MIN_MS UINT64_C(100)

/* A service asks for the versions of languages that long after its start: what is more urgent then
 * comes first. After a reload it asks at once: whoever installed a compiler waits for it. */
#define LANGUAGES_DELAY_MS UINT64_C(2000)

/* --- the phase ----------------------------------------------------------------------------- */

static _unused_ bool may_follow(enum phase phase, enum phase next)
{
    switch (next) {
    case PHASE_RUNNING:
        return false;
    case PHASE_REFUSING:
        return phase == PHASE_RUNNING;
    case PHASE_DRAINING:
        return phase == PHASE_RUNNING || phase == PHASE_REFUSING;
    case PHASE_KILLING:
        return phase == PHASE_DRAINING;
    case PHASE_STOPPING:
        return phase == PHASE_DRAINING || phase == PHASE_KILLING;
    }
    return false;
}

static _unused_ bool is_count_right(const struct supervisor *supervisor)
{
    size_t count = 0;
    const struct conn *conn;
    TAILQ_FOREACH(conn, &supervisor->conns, of_supervisor)
    count++;
    return count == supervisor->conn_count;
}

void state_enter(struct supervisor *supervisor, enum phase next)
{
    assert(may_follow(supervisor->phase, next));
    assert(is_count_right(supervisor));
    supervisor->phase = next;
}

/* --- connections --------------------------------------------------------------------------- */

/* These two are called for every client, so they check the count only where that is O(1). */
void state_add_conn(struct supervisor *supervisor, struct conn *conn)
{
    assert((supervisor->conn_count == 0) == TAILQ_EMPTY(&supervisor->conns));
    TAILQ_INSERT_TAIL(&supervisor->conns, conn, of_supervisor);
    supervisor->conn_count++;
}

void state_remove_conn(struct supervisor *supervisor, struct conn *conn)
{
    assert(supervisor->conn_count > 0);
    TAILQ_REMOVE(&supervisor->conns, conn, of_supervisor);
    supervisor->conn_count--;
    assert((supervisor->conn_count == 0) == TAILQ_EMPTY(&supervisor->conns));
}

/* --- settings ------------------------------------------------------------------------------ */

int state_log_level(const struct config *config)
{
    static const int levels[] = {
        [CONFIG_LOG_ERROR] = LOG_ERR,
        [CONFIG_LOG_WARNING] = LOG_WARNING,
        [CONFIG_LOG_INFO] = LOG_INFO,
        [CONFIG_LOG_DEBUG] = LOG_DEBUG,
    };
    return levels[config->log_level];
}

void state_bound_receiving(struct supervisor *supervisor)
{
    const struct config *config = &supervisor->settings->config;
    receive_budget_bound(&supervisor->conn_env.budget, config->receive_bytes,
                         MAX(config->frame_timeout_ms / STALLS_PER_TIMEOUT, STALL_MIN_MS));
}

/* Says that there may be fewer connections than SETTINGS ask for. */
static void tell_of_few_connections(struct supervisor *supervisor, const struct settings *settings)
{
    uint64_t files = settings_open_files();
    if (settings->connections < settings->config.max_clients && !supervisor->single_client)
        log_write(&supervisor->log, LOG_WARNING,
                  "[daemon] max_clients is %u, but %" PRIu64
                  " open files (RLIMIT_NOFILE) suffice for %u, which it is now",
                  settings->config.max_clients, files, settings->connections);
}

void state_adopt(struct supervisor *supervisor, struct settings *settings)
{
    const struct config *config = &settings->config;
    struct conn_env *env = &supervisor->conn_env;
    settings_unref(supervisor->settings);
    supervisor->settings = settings;
    log_set_level(&supervisor->log, state_log_level(config));
    queue_bound(&supervisor->queue, config->queue_jobs, config->queue_bytes,
                config->queue_jobs_per_client);
    env->settings = settings;
    env->max_frame = config->max_frame;
    env->frame_timeout_ms = config->frame_timeout_ms;
    env->high_water = config->reply_high_water;
    /* A private daemon has one client and nobody whom that could keep waiting. */
    env->reply_timeout_ms = supervisor->single_client ? 0 : config->reply_timeout_ms;
    state_bound_receiving(supervisor);
    tell_of_few_connections(supervisor, settings);
}

/* Requests may wait for it. */
static void on_language(void *userdata)
{
    const struct supervisor *supervisor = userdata;
    event_active(supervisor->turn, 0, 0);
}

int state_attach_languages(struct supervisor *supervisor, const struct settings *settings)
{
    int r = languages_attach(settings->languages, supervisor->base, on_language, supervisor);
    if (r == 0 && !supervisor->single_client && settings->config.languages_ask)
        languages_ask_all(settings->languages, settings->generation > 1 ? 0 : LANGUAGES_DELAY_MS);
    return r;
}

struct settings_host state_host(const struct supervisor *supervisor)
{
    return (struct settings_host){
        .jail_program = supervisor->jail_program,
        .warm_program = supervisor->warm_program,
        .is_private = supervisor->single_client,
        .digests = supervisor->digests,
        .no_cgroups = supervisor->cgroups.fd >= 0 ? NULL : supervisor->no_cgroups.text,
        .bounds_memory = supervisor->cgroups.fd >= 0 && supervisor->cgroups.has[CGROUP_MEMORY],
    };
}

struct status_view state_view(const struct supervisor *supervisor)
{
    return (struct status_view){
        .version = supervisor->version,
        .started_ns = supervisor->started_ns,
        .started_at_ns = supervisor->started_at_ns,
        .accepted = supervisor->last_conn_no,
        .draining = state_refuses_jobs(supervisor),
        .healthy = !supervisor->illness,
        .pool = &supervisor->pool,
        .queue = &supervisor->queue,
        .conns = &supervisor->conns,
        .stats = &supervisor->stats,
        .sessions = supervisor->session_count,
        .settings = supervisor->settings,
        .log = &supervisor->log,
    };
}
