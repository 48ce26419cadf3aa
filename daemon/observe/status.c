/* SPDX-License-Identifier: MIT */
#include "status.h"
#include "self_usage.h"

#include "daemon/base/clock.h"
#include "proto/printer.h"

#include <unistd.h>

enum status_slot_state status_slot_state(const struct slot_view *slot)
{
    switch (slot->activity) {
    case SLOT_COMES_UP:
        return STATUS_SLOT_STARTING;
    case SLOT_WAITS:
        return STATUS_SLOT_IDLE;
    case SLOT_WORKS:
        return STATUS_SLOT_BUSY;
    case SLOT_IS_BROKEN:
        return STATUS_SLOT_BROKEN;
    }
    return STATUS_SLOT_BROKEN;
}

const char *status_slot_state_name(enum status_slot_state state)
{
    static const char *const names[STATUS_SLOT_STATES] = {"idle", "busy", "starting", "broken"};
    return names[state];
}

static json_t *job_json(const struct slot_view *slot, uint64_t now_ns)
{
    const struct job *job = slot->owner;
    if (!job)
        return json_null();
    char label[JOB_LABEL_MAX];
    job_describe(job->spec, label);
    uint64_t since_ns = slot->started_ns ? slot->started_ns : now_ns;
    return json_pack("{s:I,s:o,s:s,s:s,s:I,s:I,s:I,s:I}", "job_no", (json_int_t)job->number, "id",
                     json_stringn_nocheck(job->id.data, job->id.length), "kind",
                     job_kind_name(job->spec->kind), "label", label, "client",
                     (json_int_t)job->client_no, "uid", (json_int_t)job->peer.uid, "running_ms",
                     (json_int_t)((now_ns - since_ns) / NS_PER_MS), "remaining_ms",
                     (json_int_t)slot->remaining_ms);
}

static json_t *slots_json(const struct pool *pool, uint64_t now_ns)
{
    json_t *list = json_array();
    struct slot_view slot;
    for (unsigned at = 0; pool_look(pool, &at, &slot);) {
        (void)json_array_append_new(
            list, json_pack("{s:i,s:s,s:b,s:o,s:o,s:s*}", "slot", (int)slot.index, "state",
                            status_slot_state_name(status_slot_state(&slot)), "retiring",
                            slot.is_retiring, "jail_pid",
                            slot.jail_pid > 0 ? json_integer(slot.jail_pid) : json_null(), "job",
                            job_json(&slot, now_ns), "trouble", slot.trouble));
    }
    return list;
}

static json_t *clients_json(const struct conn_list *conns, size_t *ret_total)
{
    json_t *list = json_array();
    const struct conn *conn;
    size_t total = 0;
    TAILQ_FOREACH(conn, conns, of_supervisor)
    {
        if (total++ >= STATUS_CLIENTS_MAX)
            continue;
        (void)json_array_append_new(
            list, json_pack("{s:I,s:I,s:I,s:I,s:s*,s:I,s:I,s:I,s:b}", "client",
                            (json_int_t)conn->number, "uid", (json_int_t)conn->peer.uid, "gid",
                            (json_int_t)conn->peer.gid, "pid", (json_int_t)conn->peer.pid, "share",
                            conn->user->share, "queued", (json_int_t)queue_lane_count(&conn->lane),
                            "running", (json_int_t)job_set_running(&conn->jobs), "unsent_bytes",
                            (json_int_t)conn_unsent(conn), "paused",
                            conn_is_parked(conn) || conn_is_choked(conn)));
    }
    *ret_total = total;
    return list;
}

static json_t *queue_json(const struct queue *queue)
{
    const struct queue_load load = queue_load(queue);
    return json_pack("{s:I,s:I,s:I,s:I}", "jobs", (json_int_t)load.count, "jobs_max",
                     (json_int_t)load.max_count, "bytes", (json_int_t)load.bytes, "bytes_max",
                     (json_int_t)load.max_bytes);
}

static json_t *sessions_json(const struct status_view *view)
{
    return json_pack("{s:I,s:I,s:I}", "open", (json_int_t)view->sessions, "max",
                     (json_int_t)view->settings->sessions, "opened",
                     (json_int_t)view->stats->sessions_opened);
}

static json_t *memory_json(void)
{
    struct self_usage usage;
    self_usage_measure(&usage);
    return json_pack("{s:I,s:I}", "rss_bytes", (json_int_t)usage.rss_bytes, "max_rss_bytes",
                     (json_int_t)usage.max_rss_bytes);
}

static json_t *log_json(const struct log *log)
{
    return json_pack("{s:s,s:I}", "format", log_sink_name(log->sink), "dropped",
                     (json_int_t)log->dropped);
}

static json_t *isolation_json(const struct settings *settings)
{
    const struct isolation *isolation = &settings->isolation;
    json_t *copy = json_copy(isolation->summary);
    const char *because = confinement_cold_because(settings->confinement);
    if (json_object_set(copy, "missing", isolation->missing) < 0 ||
        json_object_set_new(copy, "warm", json_boolean(isolation->is_warm)) < 0 ||
        json_object_set_new(copy, "networked_digest", json_string(isolation->networked_digest)) <
            0 ||
        (!isolation->is_warm &&
         json_object_set_new(copy, "cold_because", json_string(because)) < 0)) {
        json_decref(copy);
        return NULL;
    }
    return copy;
}

static json_t *configuration_json(const struct status_view *view, uint64_t now_ns)
{
    const struct settings *settings = view->settings;
    return json_pack("{s:I,s:I,s:i}", "generation", (json_int_t)settings->generation, "age_ms",
                     (json_int_t)((now_ns - settings->made_ns) / NS_PER_MS), "slots",
                     (int)settings->slots);
}

static json_t *aliases_json(const struct language *language)
{
    json_t *list = language->aliases.count > 0 ? json_array() : NULL;
    for (size_t i = 0; i < language->aliases.count; i++)
        (void)json_array_append_new(list, json_string(language->aliases.item[i]));
    return list;
}

/* Each language that is configured. `version` comes once it was asked for, `why_not` if it cannot
 * be had. */
static json_t *languages_json(const struct settings *settings)
{
    json_t *list = json_array();
    const struct language_list *languages = &settings->config.languages;
    for (size_t i = 0; i < languages->count; i++) {
        const struct language *language = &languages->item[i];
        const char *version, *why_not;
        bool has = languages_has(settings->languages, language, &version, &why_not);
        (void)json_array_append_new(
            list, json_pack("{s:s,s:o*,s:b,s:s*,s:s*,s:s*}", "name", language->name, "aliases",
                            aliases_json(language), "available", has, "version", version, "digest",
                            languages_digest(settings->languages, language), "why_not", why_not));
    }
    return list;
}

int status_reply(const struct status_view *view, struct bytes *ret)
{
    uint64_t now_ns = clock_now_ns();
    size_t total;
    json_t *clients = clients_json(view->conns, &total);
    _cleanup_json_ json_t *status = json_pack(
        "{s:s,s:s,s:i,s:i,s:I,s:s,s:o,s:o,s:o,s:o,s:o,s:I,s:o,s:o,s:o,s:o,s:o,s:o,s:o}", "type",
        "status", "version", view->version, "protocol", PROTOCOL_VERSION, "pid", (int)getpid(),
        "uptime_ms", (json_int_t)((now_ns - view->started_ns) / NS_PER_MS), "state",
        view->draining ? "draining" : "running", "configuration", configuration_json(view, now_ns),
        "slots", slots_json(view->pool, now_ns), "queue", queue_json(view->queue), "sessions",
        sessions_json(view), "clients", clients, "clients_total", (json_int_t)total, "counters",
        stats_counters_json(view->stats), "kinds", stats_kinds_json(view->stats, now_ns),
        "last_failures", stats_failures_json(view->stats, now_ns), "isolation",
        isolation_json(view->settings), "languages", languages_json(view->settings), "memory",
        memory_json(), "log", log_json(view->log));
    return status ? json_print(status, ret) : -ENOMEM;
}
