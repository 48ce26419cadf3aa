/* SPDX-License-Identifier: MIT */
#include "redact.h"

#include "proto/json.h"

#include <string.h>

/* In a shape, 0 stands for a number, a boolean or null, and 1 for one of these or a text. A member
 * "*" stands for every member that is not named, an array of one for any number of elements. */
#define ANY_NAME "*"

static const char status_shape[] =
    "{\"type\":1,\"version\":1,\"protocol\":0,\"uptime_ms\":0,\"state\":1,"
    "\"configuration\":{\"generation\":0,\"age_ms\":0,\"slots\":0},"
    "\"slots\":[{\"slot\":0,\"state\":1,\"retiring\":0}],"
    "\"queue\":{\"jobs\":0,\"jobs_max\":0,\"bytes\":0,\"bytes_max\":0},"
    "\"sessions\":{\"open\":0,\"max\":0,\"opened\":0},"
    "\"clients_total\":0,"
    "\"counters\":{\"submitted\":0,\"results\":0,\"passed\":0,\"failed\":0,\"errors\":{\"*\":0}},"
    "\"kinds\":{\"*\":{\"submitted\":0,\"passed\":0,\"failed\":0,\"errors\":{\"*\":0},"
    "\"limits_exceeded\":{\"*\":0},\"dropped\":0,\"recent\":[{\"seconds\":0,\"span_ms\":0,"
    "\"passed\":0,\"failed\":0,\"errors\":0,\"per_second\":0,"
    "\"wall_clock_ms\":{\"*\":0},\"queue_ms\":{\"*\":0}}]}},"
    "\"isolation\":{\"class\":1,\"layers\":[1],\"digest\":1,\"warm\":0,\"missing\":[{\"layer\":1}]}"
    ","
    "\"languages\":[{\"name\":1,\"available\":0,\"version\":1,\"digest\":1,\"why_not\":1}],"
    "\"memory\":{\"rss_bytes\":0,\"max_rss_bytes\":0}}";

static const char own_job_shape[] = "{\"kind\":1,\"label\":1,\"running_ms\":0,\"remaining_ms\":0}";
static const char other_job_shape[] = "{\"running_ms\":0,\"remaining_ms\":0}";
static const char own_failure_shape[] = "{\"kind\":1,\"label\":1,\"what\":1,\"ago_ms\":0}";

static json_t *pick(json_t *value, const json_t *shape);

static json_t *pick_members(json_t *value, const json_t *shape)
{
    json_t *picked = json_object(), *member;
    const json_t *any = json_object_get(shape, ANY_NAME);
    const char *name;
    json_object_foreach(value, name, member)
    {
        const json_t *wanted = json_object_get(shape, name);
        json_t *part = pick(member, wanted ? wanted : any);
        if (part && json_object_set_new(picked, name, part) < 0) {
            json_decref(picked);
            return NULL;
        }
    }
    return picked;
}

static json_t *pick_elements(json_t *value, const json_t *shape)
{
    json_t *picked = json_array(), *element;
    size_t i;
    json_array_foreach(value, i, element)
    {
        json_t *part = pick(element, json_array_get(shape, 0));
        if (json_array_append_new(picked, part ? part : json_null()) < 0) {
            json_decref(picked);
            return NULL;
        }
    }
    return picked;
}

/* Returns what SHAPE lets through of VALUE, a new reference; NULL: nothing. A SHAPE of NULL lets
 * nothing through. The depth is that of the shape. */
static json_t *pick(json_t *value, const json_t *shape)
{
    if (json_is_object(value) && json_is_object(shape))
        return pick_members(value, shape);
    if (json_is_array(value) && json_is_array(shape))
        return pick_elements(value, shape);
    bool is_plain = json_is_number(value) || json_is_boolean(value) || json_is_null(value);
    if (shape && is_plain)
        return json_incref(value);
    if (json_is_string(value) && json_integer_value(shape) == 1)
        return json_incref(value);
    return NULL;
}

static json_t *pick_text(json_t *value, const char *shape)
{
    _cleanup_json_ json_t *parsed = json_loads(shape, 0, NULL);
    return parsed ? pick(value, parsed) : NULL;
}

static bool is_own(const json_t *job, const char *own)
{
    const char *id = json_string_value(json_object_get(job, "id"));
    return own && id && strncmp(id, own, strlen(own)) == 0;
}

/* Puts what may be seen of the jobs of SLOTS into SEEN, which has the same slots. 0 or -1. */
static int add_jobs(json_t *seen, json_t *slots, const char *own)
{
    json_t *slot;
    size_t i;
    int r = 0;
    json_array_foreach(slots, i, slot)
    {
        json_t *job = json_object_get(slot, "job");
        json_t *shown = json_is_object(job)
                            ? pick_text(job, is_own(job, own) ? own_job_shape : other_job_shape)
                            : json_null();
        if (json_is_object(slot) && json_object_set(json_array_get(seen, i), "job", shown) < 0)
            r = -1;
        json_decref(shown);
    }
    return r;
}

static json_t *own_failures(json_t *failures, const char *own)
{
    json_t *shown = json_array();
    json_t *failure;
    size_t i;
    json_array_foreach(failures, i, failure)
    {
        if (is_own(failure, own) &&
            json_array_append_new(shown, pick_text(failure, own_failure_shape)) < 0) {
            json_decref(shown);
            return NULL;
        }
    }
    return shown;
}

json_t *redact_status(json_t *status, const char *own)
{
    json_t *seen = pick_text(status, status_shape);
    json_t *slots = json_object_get(status, "slots");
    json_t *failures = json_object_get(status, "last_failures");
    if (seen && add_jobs(json_object_get(seen, "slots"), slots, own) == 0 &&
        json_object_set_new(seen, "last_failures", own_failures(failures, own)) == 0)
        return seen;
    json_decref(seen);
    return NULL;
}
