/* SPDX-License-Identifier: MIT */
#include "sumstatus.h"

#include "proto/jobkinds.h"
#include "proto/json.h"
#include "proto/reply.h"

#include <string.h>

static const char no_host[] = "no daemon of the fleet has answered";
static const json_int_t windows_s[] = {60, 300, 900};

static json_t *at(const json_t *object, const char *name)
{
    return json_object_get(object, name);
}

/* Adds the integer NAME of FROM to that of TO. */
static void add(json_t *to, const json_t *from, const char *name)
{
    json_int_t sum = json_integer_value(at(to, name)) + json_integer_value(at(from, name));
    (void)json_object_set_new(to, name, json_integer(sum));
}

/* Adds every member of FROM, which are integers. */
static void add_each(json_t *to, const json_t *from)
{
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)from, name, value) add(to, from, name);
}

/* --- kinds of jobs ------------------------------------------------------------------------ */

static void keep_greater(json_t *to, const json_t *from, const char *name)
{
    if (json_number_value(at(from, name)) > json_number_value(at(to, name)))
        (void)json_object_set(to, name, at(from, name));
}

/* Of two sets of quantiles (null: none) the greater ones. */
static void take_quantiles(json_t *to, const json_t *from, const char *name)
{
    const json_t *more = at(from, name);
    json_t *mine = at(to, name);
    const char *quantile;
    json_t *value;
    if (!json_is_object(more))
        return;
    if (!json_is_object(mine)) {
        (void)json_object_set_new(to, name, json_copy((json_t *)(uintptr_t)more));
        return;
    }
    json_object_foreach((json_t *)(uintptr_t)more, quantile, value)
        keep_greater(mine, more, quantile);
}

static json_t *make_window(json_int_t seconds)
{
    return json_pack("{s:I,s:i,s:i,s:i,s:i,s:f,s:n,s:n}", "seconds", seconds, "span_ms", 0,
                     "passed", 0, "failed", 0, "errors", 0, "per_second", 0.0, "wall_clock_ms",
                     "queue_ms");
}

static void add_window(json_t *to, const json_t *from)
{
    add(to, from, "passed");
    add(to, from, "failed");
    add(to, from, "errors");
    keep_greater(to, from, "span_ms");
    take_quantiles(to, from, "wall_clock_ms");
    take_quantiles(to, from, "queue_ms");
    (void)json_object_set_new(to, "per_second",
                              json_real(json_number_value(at(to, "per_second")) +
                                        json_number_value(at(from, "per_second"))));
}

static json_t *make_kind(void)
{
    json_t *recent = json_array();
    for (size_t i = 0; i < ARRAY_SIZE(windows_s); i++)
        (void)json_array_append_new(recent, make_window(windows_s[i]));
    return json_pack("{s:i,s:i,s:i,s:{},s:{},s:i,s:o}", "submitted", 0, "passed", 0, "failed", 0,
                     "errors", "limits_exceeded", "dropped", 0, "recent", recent);
}

static void add_kind(json_t *to, const json_t *from)
{
    add(to, from, "submitted");
    add(to, from, "passed");
    add(to, from, "failed");
    add(to, from, "dropped");
    add_each(at(to, "errors"), at(from, "errors"));
    add_each(at(to, "limits_exceeded"), at(from, "limits_exceeded"));
    for (size_t i = 0; i < ARRAY_SIZE(windows_s); i++)
        add_window(json_array_get(at(to, "recent"), i), json_array_get(at(from, "recent"), i));
}

/* --- languages ---------------------------------------------------------------------------- */

static json_t *find_language(const json_t *list, const char *name)
{
    for (size_t i = 0; name && i < json_array_size(list); i++) {
        json_t *language = json_array_get(list, i);
        const char *of_it = json_string_value(at(language, "name"));
        if (of_it && strcmp(of_it, name) == 0)
            return language;
    }
    return NULL;
}

/* A member that the daemons do not agree about is left out. */
static void keep_common(json_t *to, const json_t *from, const char *name)
{
    if (!json_equal(at(to, name), at(from, name)))
        (void)json_object_del(to, name);
}

static void join_language(json_t *to, const json_t *from)
{
    keep_common(to, from, "aliases");
    keep_common(to, from, "version");
    keep_common(to, from, "digest");
    if (json_is_true(at(from, "available")) || !json_is_true(at(to, "available")))
        return;
    (void)json_object_set_new(to, "available", json_false());
    if (at(from, "why_not"))
        (void)json_object_set(to, "why_not", at(from, "why_not"));
}

/* A language that not every daemon has in its configuration is not available. */
static void join_languages(json_t *to, const json_t *from)
{
    for (size_t i = 0; i < json_array_size(to); i++) {
        json_t *mine = json_array_get(to, i);
        const char *name = json_string_value(at(mine, "name"));
        const json_t *other = find_language(from, name);
        if (other) {
            join_language(mine, other);
            continue;
        }
        (void)json_object_set_new(mine, "available", json_false());
        (void)json_object_set_new(mine, "why_not",
                                  json_string("not every host of the fleet has "
                                              "it in its configuration"));
    }
}

/* --- the whole ---------------------------------------------------------------------------- */

static void add_slots(json_t *to, const json_t *from)
{
    for (size_t i = 0; i < json_array_size(from); i++) {
        json_t *slot = json_copy(json_array_get(from, i));
        (void)json_object_set_new(slot, "slot", json_integer((json_int_t)json_array_size(to)));
        (void)json_array_append_new(to, slot);
    }
}

static json_t *make_kinds(void)
{
    json_t *kinds = json_object();
    for (enum job_kind_id kind = 0; kind < JOB_KIND_COUNT; kind++)
        (void)json_object_set_new(kinds, job_kind_name(kind), make_kind());
    return kinds;
}

static json_t *make_empty(int64_t uptime_ms)
{
    return json_pack("{s:s,s:s,s:i,s:i,s:I,s:s,s:{s:i,s:I,s:i},s:[],s:{s:i,s:i,s:i,s:i},s:{s:i,s:i,"
                     "s:i},s:[],s:i,"
                     "s:{s:i,s:i,s:i,s:i,s:{}},s:o,s:[],s:[],s:{s:i,s:i},s:{s:s,s:i}}",
                     "type", "status", "version", "?", "protocol", PROTOCOL_VERSION, "pid", 1,
                     "uptime_ms", (json_int_t)uptime_ms, "state", "running", "configuration",
                     "generation", 1, "age_ms", (json_int_t)uptime_ms, "slots", 0, "slots", "queue",
                     "jobs", 0, "jobs_max", 0, "bytes", 0, "bytes_max", 0, "sessions", "open", 0,
                     "max", 0, "opened", 0, "clients", "clients_total", 0, "counters", "submitted",
                     0, "results", 0, "passed", 0, "failed", 0, "errors", "kinds", make_kinds(),
                     "last_failures", "languages", "memory", "rss_bytes", 0, "max_rss_bytes", 0,
                     "log", "format", "plain", "dropped", 0);
}

static void add_status(json_t *to, const json_t *from, bool first)
{
    json_t *counters = at(to, "counters"), *kinds = at(to, "kinds");
    if (first) {
        (void)json_object_set(to, "version", at(from, "version"));
        (void)json_object_set(to, "isolation", at(from, "isolation"));
        (void)json_object_set_new(to, "languages", json_deep_copy(at(from, "languages")));
    } else {
        join_languages(at(to, "languages"), at(from, "languages"));
    }
    add_slots(at(to, "slots"), at(from, "slots"));
    add(at(to, "configuration"), at(from, "configuration"), "slots");
    add(at(to, "queue"), at(from, "queue"), "jobs");
    add(at(to, "queue"), at(from, "queue"), "bytes");
    add(counters, at(from, "counters"), "submitted");
    add(counters, at(from, "counters"), "results");
    add(counters, at(from, "counters"), "passed");
    add(counters, at(from, "counters"), "failed");
    add_each(at(counters, "errors"), at(at(from, "counters"), "errors"));
    add_each(at(to, "memory"), at(from, "memory"));
    add(at(to, "log"), at(from, "log"), "dropped");
    for (enum job_kind_id kind = 0; kind < JOB_KIND_COUNT; kind++)
        add_kind(at(kinds, job_kind_name(kind)), at(at(from, "kinds"), job_kind_name(kind)));
}

json_t *sumstatus_make(const json_t *statuses, int64_t uptime_ms)
{
    json_t *sum = make_empty(uptime_ms);
    for (size_t i = 0; sum && i < json_array_size(statuses); i++)
        add_status(sum, json_array_get(statuses, i), i == 0);
    if (!sum || json_array_size(at(sum, "slots")) > 0)
        return sum;
    (void)json_array_append_new(at(sum, "slots"),
                                json_pack("{s:i,s:s,s:b,s:n,s:n,s:s}", "slot", 0, "state", "broken",
                                          "retiring", 0, "jail_pid", "job", "trouble", no_host));
    (void)json_object_set_new(at(sum, "configuration"), "slots", json_integer(1));
    return sum;
}
