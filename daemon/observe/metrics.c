/* SPDX-License-Identifier: MIT */
#include "metrics.h"
#include "self_usage.h"

#include "daemon/base/clock.h"
#include "daemon/jail/layers.h"
#include "proto/printer.h"

#include <string.h>

#define LABEL(name, value) \
    {                      \
        name, value        \
    }

static void put_plain(struct exposition *e, const char *name, enum exposition_type type,
                      const char *unit, const char *help, uint64_t value)
{
    exposition_family(e, name, type, unit, help);
    exposition_integer(e, NULL, 0, value);
}

static void put_plain_seconds(struct exposition *e, const char *name, enum exposition_type type,
                              const char *help, uint64_t value_ns)
{
    exposition_family(e, name, type, "seconds", help);
    exposition_seconds(e, NULL, 0, value_ns);
}

static void put_labelled(const struct exposition *e, const char *label, const char *text,
                         uint64_t value)
{
    const struct exposition_label labels[] = {LABEL(label, text)};
    exposition_integer(e, labels, ARRAY_SIZE(labels), value);
}

/* A sample of jobs of KIND, with a second label. */
static void put_of_kind(const struct exposition *e, enum job_kind_id kind, const char *label,
                        const char *text, uint64_t value)
{
    const struct exposition_label labels[] = {LABEL("kind", job_kind_name(kind)),
                                              LABEL(label, text)};
    exposition_integer(e, labels, ARRAY_SIZE(labels), value);
}

/* --- the daemon ---------------------------------------------------------------------------- */

static void put_build(struct exposition *e, const struct status_view *view)
{
    char protocol[16];
    (void)snprintf(protocol, sizeof(protocol), "%d", PROTOCOL_VERSION);
    const struct exposition_label labels[] = {LABEL("version", view->version),
                                              LABEL("protocol", protocol)};
    exposition_family(e, "rubricd_build", EXPOSITION_INFO, NULL,
                      "Version of the daemon and of its protocol.");
    exposition_integer(e, labels, ARRAY_SIZE(labels), 1);

    exposition_family(
        e, "rubricd_state", EXPOSITION_STATESET, NULL,
        "Whether the daemon takes new jobs (running) or is about to stop (draining).");
    put_labelled(e, "rubricd_state", "running", !view->draining);
    put_labelled(e, "rubricd_state", "draining", view->draining);
    put_plain(e, "rubricd_healthy", EXPOSITION_GAUGE, NULL,
              "0 while the watchdog is not fed because jobs make no progress.", view->healthy);
}

static void put_process(struct exposition *e, const struct status_view *view, uint64_t now_ns)
{
    struct self_usage usage;
    self_usage_measure(&usage);
    put_plain_seconds(e, "rubricd_uptime_seconds", EXPOSITION_GAUGE,
                      "Time since the start, without time that the host slept.",
                      now_ns - view->started_ns);
    put_plain_seconds(e, "process_start_time_seconds", EXPOSITION_GAUGE,
                      "When the daemon started, since the epoch.", view->started_at_ns);
    put_plain_seconds(e, "process_cpu_seconds", EXPOSITION_COUNTER,
                      "CPU time of the daemon itself, without jails and jobs.", usage.cpu_ns);
    put_plain(e, "process_resident_memory_bytes", EXPOSITION_GAUGE, "bytes",
              "Resident memory of the daemon itself.", usage.rss_bytes);
    put_plain(e, "process_open_fds", EXPOSITION_GAUGE, NULL, "Open file descriptors.",
              usage.open_fds);
    put_plain(e, "process_max_fds", EXPOSITION_GAUGE, NULL,
              "Maximum number of open file descriptors.", usage.max_fds);
}

static void put_log(struct exposition *e, const struct log *log)
{
    exposition_family(e, "rubricd_log", EXPOSITION_INFO, NULL, "Where the log goes.");
    put_labelled(e, "format", log_sink_name(log->sink), 1);
    put_plain(e, "rubricd_log_entries_dropped", EXPOSITION_COUNTER, NULL,
              "Log entries that were lost because the log did not keep up.", log->dropped);
}

static const char *text_of(const json_t *object, const char *name)
{
    const char *text = json_string_value(json_object_get(object, name));
    return text ? text : "";
}

static void put_isolation(struct exposition *e, const struct status_view *view)
{
    const struct isolation *isolation = &view->settings->isolation;
    const struct exposition_label labels[] = {
        LABEL("class", text_of(isolation->summary, "class")),
        LABEL("digest", text_of(isolation->summary, "digest"))};
    exposition_family(e, "rubricd_isolation", EXPOSITION_INFO, NULL,
                      "Isolation class and digest: scores are comparable where both agree.");
    exposition_integer(e, labels, ARRAY_SIZE(labels), 1);

    exposition_family(e, "rubricd_isolation_layer", EXPOSITION_STATESET, NULL,
                      "Layers of confinement: 1 if in force.");
    for (enum layer layer = 0; layer < LAYER_COUNT; layer++)
        put_labelled(e, "rubricd_isolation_layer", layer_name(layer),
                     layer_in(isolation->layers, layer));

    exposition_family(e, "rubricd_isolation_required_layer", EXPOSITION_STATESET, NULL,
                      "Layers without which the daemon does not start.");
    for (enum layer layer = 0; layer < LAYER_COUNT; layer++) {
        bool required = false;
        for (size_t i = 0; i < view->settings->config.require.count; i++)
            required |= layer_from_name(view->settings->config.require.item[i]) == layer;
        put_labelled(e, "rubricd_isolation_required_layer", layer_name(layer), required);
    }
}

/* --- slots, queue, connections ------------------------------------------------------------- */

static void put_slots(struct exposition *e, const struct pool *pool)
{
    uint64_t counts[STATUS_SLOT_STATES] = {0};
    struct slot_view slot;
    for (unsigned at = 0; pool_look(pool, &at, &slot);)
        counts[status_slot_state(&slot)]++;
    exposition_family(e, "rubricd_slots", EXPOSITION_GAUGE, NULL,
                      "Slots of the pool by state; a broken slot is replacing its jail.");
    for (enum status_slot_state state = 0; state < STATUS_SLOT_STATES; state++)
        put_labelled(e, "state", status_slot_state_name(state), counts[state]);
    put_plain(e, "rubricd_jails_started", EXPOSITION_COUNTER, NULL,
              "Jails that were started: one for each slot at first, then replacements.",
              pool_tally(pool)->jails_started);
    put_plain(e, "rubricd_jails_lost", EXPOSITION_COUNTER, NULL,
              "Jails that died or had to be given up, or could not be started.",
              pool_tally(pool)->jails_lost);
}

static void put_sessions(struct exposition *e, const struct status_view *view)
{
    put_plain(e, "rubricd_sessions", EXPOSITION_GAUGE, NULL, "Sessions that are open.",
              view->sessions);
    put_plain(e, "rubricd_max_sessions", EXPOSITION_GAUGE, NULL,
              "Maximum number of open sessions, as configured.", view->settings->sessions);
    put_plain(e, "rubricd_sessions_opened", EXPOSITION_COUNTER, NULL, "Sessions that were opened.",
              view->stats->sessions_opened);
    exposition_family(e, "rubricd_sessions_ended", EXPOSITION_COUNTER, NULL,
                      "Sessions that have ended, by the reason.");
    for (enum session_end end = 0; end < SESSION_ENDS; end++)
        put_labelled(e, "reason", session_end_name(end), view->stats->sessions_ended[end]);
}

/* When the oldest queued job was queued; NOW_NS if none is. */
static uint64_t oldest_queued_ns(const struct conn_list *conns, uint64_t now_ns)
{
    uint64_t oldest_ns = now_ns;
    const struct conn *conn;
    TAILQ_FOREACH(conn, conns, of_supervisor)
    for (int priority = -QUEUE_PRIORITY_MAX; priority <= QUEUE_PRIORITY_MAX; priority++) {
        struct queue_entry *entry = queue_lane_oldest(&conn->lane, priority);
        if (entry)
            oldest_ns = MIN(oldest_ns, container_of(entry, struct job, entry)->queued_ns);
    }
    return oldest_ns;
}

static void put_queue(struct exposition *e, const struct status_view *view, uint64_t now_ns)
{
    const struct queue_load queue = queue_load(view->queue);
    put_plain(e, "rubricd_queue_jobs", EXPOSITION_GAUGE, NULL, "Jobs that wait for a slot.",
              queue.count);
    put_plain(e, "rubricd_queue_max_jobs", EXPOSITION_GAUGE, NULL,
              "Maximum number of queued jobs, as configured.", queue.max_count);
    put_plain(e, "rubricd_queue_bytes", EXPOSITION_GAUGE, "bytes", "Payload of queued jobs.",
              queue.bytes);
    put_plain(e, "rubricd_queue_max_bytes", EXPOSITION_GAUGE, "bytes",
              "Maximum payload of queued jobs, as configured.", queue.max_bytes);
    put_plain_seconds(e, "rubricd_queue_oldest_seconds", EXPOSITION_GAUGE,
                      "How long the oldest queued job has waited; 0 if none is queued.",
                      now_ns - oldest_queued_ns(view->conns, now_ns));
}

static void put_connections(struct exposition *e, const struct status_view *view)
{
    uint64_t open = 0, parked = 0, choked = 0;
    const struct conn *conn;
    TAILQ_FOREACH(conn, view->conns, of_supervisor)
    {
        open++;
        parked += conn_is_parked(conn);
        choked += conn_is_choked(conn);
    }
    put_plain(e, "rubricd_connections", EXPOSITION_GAUGE, NULL, "Connected clients.", open);
    put_plain(e, "rubricd_max_connections", EXPOSITION_GAUGE, NULL,
              "Maximum number of connected clients, as configured or as open files allow.",
              view->settings->connections);
    exposition_family(e, "rubricd_paused_connections", EXPOSITION_GAUGE, NULL,
                      "Clients that are not read from because the queue has no room for their next "
                      "job, or because they leave replies unread.");
    put_labelled(e, "reason", "queue_full", parked);
    put_labelled(e, "reason", "replies_unread", choked);
    put_plain(e, "rubricd_connections_accepted", EXPOSITION_COUNTER, NULL,
              "Clients that have connected.", view->accepted);
    put_plain(e, "rubricd_connections_refused", EXPOSITION_COUNTER, NULL,
              "Clients that were refused because too many were connected.", view->stats->refused);
    put_plain(e, "rubricd_connections_unread", EXPOSITION_COUNTER, NULL,
              "Clients that were dismissed because they left replies unread for too long.",
              view->stats->unread);
    put_plain(e, "rubricd_unread_jobs", EXPOSITION_COUNTER, NULL,
              "Unanswered jobs that were cancelled because their client left replies unread for "
              "too long.",
              view->stats->unread_jobs);
}

/* --- jobs ---------------------------------------------------------------------------------- */

static void put_in_flight(struct exposition *e, const struct status_view *view)
{
    uint64_t running[JOB_KIND_COUNT] = {0};
    struct slot_view slot;
    for (unsigned at = 0; pool_look(view->pool, &at, &slot);) {
        const struct job *job = slot.owner;
        if (job)
            running[job->spec->kind]++;
    }
    exposition_family(e, "rubricd_jobs_in_flight", EXPOSITION_GAUGE, NULL,
                      "Jobs that have not ended.");
    for (enum job_kind_id kind = 0; kind < JOB_KIND_COUNT; kind++) {
        uint64_t unfinished = stats_unfinished(view->stats, kind);
        put_of_kind(e, kind, "state", "queued", unfinished - running[kind]);
        put_of_kind(e, kind, "state", "running", running[kind]);
    }
}

static void put_submitted(struct exposition *e, const struct stats *stats)
{
    exposition_family(e, "rubricd_jobs_submitted", EXPOSITION_COUNTER, NULL,
                      "Jobs that clients have submitted. Each ends in a result, in an error, or "
                      "dropped.");
    for (enum job_kind_id kind = 0; kind < JOB_KIND_COUNT; kind++)
        put_labelled(e, "kind", job_kind_name(kind), stats->kinds[kind].submitted);
    exposition_family(e, "rubricd_jobs_dropped", EXPOSITION_COUNTER, NULL,
                      "Jobs whose client was gone before they started.");
    for (enum job_kind_id kind = 0; kind < JOB_KIND_COUNT; kind++)
        put_labelled(e, "kind", job_kind_name(kind), stats->kinds[kind].dropped);
}

static void put_results(struct exposition *e, const struct stats *stats)
{
    exposition_family(e, "rubricd_job_results", EXPOSITION_COUNTER, NULL,
                      "Jobs that have ended with a verdict.");
    for (enum job_kind_id kind = 0; kind < JOB_KIND_COUNT; kind++) {
        put_of_kind(e, kind, "result", "passed", stats->kinds[kind].passed);
        put_of_kind(e, kind, "result", "failed", stats->kinds[kind].failed);
    }

    exposition_family(e, "rubricd_job_errors", EXPOSITION_COUNTER, NULL,
                      "Jobs that have ended in an error instead of a verdict.");
    for (enum job_kind_id kind = 0; kind < JOB_KIND_COUNT; kind++)
        for (enum error_code code = 0; code < STATS_ERROR_CODES; code++)
            put_of_kind(e, kind, "code", error_code_name(code), stats->kinds[kind].errors[code]);

    exposition_family(e, "rubricd_job_limits_exceeded", EXPOSITION_COUNTER, NULL,
                      "Results of jobs that exceeded a limit.");
    for (enum job_kind_id kind = 0; kind < JOB_KIND_COUNT; kind++)
        for (enum limit limit = 0; limit < LIMIT_COUNT; limit++)
            put_of_kind(e, kind, "limit", limit_name(limit), stats->kinds[kind].limits[limit]);

    exposition_family(e, "rubricd_deadline_moves", EXPOSITION_COUNTER, NULL,
                      "How often the deadline of a job moved because it waited for a CPU.");
    for (enum job_kind_id kind = 0; kind < JOB_KIND_COUNT; kind++)
        put_labelled(e, "kind", job_kind_name(kind), stats->kinds[kind].moves);
}

static void put_latencies(struct exposition *e, const struct stats *stats)
{
    exposition_family(e, "rubricd_job_wall_clock_seconds", EXPOSITION_HISTOGRAM, "seconds",
                      "How long the programs of jobs with a result ran.");
    for (enum job_kind_id kind = 0; kind < JOB_KIND_COUNT; kind++) {
        const struct exposition_label labels[] = {LABEL("kind", job_kind_name(kind))};
        exposition_histogram(e, labels, ARRAY_SIZE(labels), &stats->kinds[kind].wall_clock);
    }
    exposition_family(
        e, "rubricd_job_queue_wait_seconds", EXPOSITION_HISTOGRAM, "seconds",
        "How long jobs that were given to a slot waited until their program started.");
    for (enum job_kind_id kind = 0; kind < JOB_KIND_COUNT; kind++) {
        const struct exposition_label labels[] = {LABEL("kind", job_kind_name(kind))};
        exposition_histogram(e, labels, ARRAY_SIZE(labels), &stats->kinds[kind].queue_wait);
    }
}

/* --- configuration ------------------------------------------------------------------------- */

static void put_configuration(struct exposition *e, const struct status_view *view, uint64_t now_ns)
{
    const struct settings *settings = view->settings;
    const struct config *config = &settings->config;
    exposition_family(e, "rubricd_default_wall_clock_seconds", EXPOSITION_GAUGE, "seconds",
                      "Deadline of jobs that ask for none, as configured.");
    for (enum job_kind_id kind = 0; kind < JOB_KIND_COUNT; kind++) {
        const struct exposition_label labels[] = {LABEL("kind", job_kind_name(kind))};
        exposition_seconds(e, labels, ARRAY_SIZE(labels),
                           config->limits[kind].of[LIMIT_WALL_CLOCK] * NS_PER_MS);
    }
    put_plain(e, "rubricd_configured_slots", EXPOSITION_GAUGE, NULL,
              "Number of slots, as configured.", settings->slots);
    put_plain(
        e, "rubricd_configuration_generation", EXPOSITION_GAUGE, NULL,
        "Generation of the configuration in force: 1 at the start, one more with each reload.",
        settings->generation);
    put_plain_seconds(e, "rubricd_configuration_age_seconds", EXPOSITION_GAUGE,
                      "Time since the configuration was read.", now_ns - settings->made_ns);
    exposition_family(e, "rubricd_reloads", EXPOSITION_COUNTER, NULL,
                      "Reloads of the configuration; a refused one changes nothing.");
    put_labelled(e, "result", "done", settings->generation - 1);
    put_labelled(e, "result", "refused", view->stats->reloads_refused);
    put_plain_seconds(e, "rubricd_grace_period_seconds", EXPOSITION_GAUGE,
                      "How long running jobs have to end when the daemon stops, as configured.",
                      config->grace_period_ms * NS_PER_MS);
}

/* --- all together -------------------------------------------------------------------------- */

int metrics_print(const struct status_view *view, enum exposition_format format, struct bytes *ret)
{
    struct bytes text = BYTES_NULL;
    uint64_t now_ns = clock_now_ns();
    struct exposition e = {.out = open_memstream(&text.data, &text.length), .format = format};
    if (!e.out)
        return -ENOMEM;
    put_build(&e, view);
    put_process(&e, view, now_ns);
    put_log(&e, view->log);
    put_isolation(&e, view);
    put_slots(&e, view->pool);
    put_sessions(&e, view);
    put_queue(&e, view, now_ns);
    put_connections(&e, view);
    put_in_flight(&e, view);
    put_submitted(&e, view->stats);
    put_results(&e, view->stats);
    put_latencies(&e, view->stats);
    put_configuration(&e, view, now_ns);
    exposition_end(&e);
    bool failed = ferror(e.out);
    failed |= fclose(e.out) != 0;
    if (failed) {
        bytes_deinit(&text);
        return -ENOMEM;
    }
    *ret = text;
    return 0;
}

int metrics_reply(const struct status_view *view, struct bytes *ret)
{
    _cleanup_bytes_ struct bytes text = BYTES_NULL;
    int r = metrics_print(view, EXPOSITION_OPENMETRICS, &text);
    if (r < 0)
        return r;
    _cleanup_json_ json_t *reply =
        json_pack("{s:s,s:s,s:s%}", "type", "metrics", "content_type",
                  exposition_content_type(EXPOSITION_OPENMETRICS), "text", text.data, text.length);
    return reply ? json_print(reply, ret) : -ENOMEM;
}
