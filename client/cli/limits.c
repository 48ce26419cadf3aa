/* SPDX-License-Identifier: MIT */
#include "limits.h"

#include "conf/value.h"
#include "proto/limits.h"

#include <string.h>

static void list_limits(char *out, size_t size)
{
    size_t used = 0;
    for (enum limit limit = 0; limit < LIMIT_COUNT && used < size; limit++)
        used += (size_t)snprintf(out + used, size - used, "%s%s", limit > 0 ? ", " : "",
                                 limit_key(limit));
}

static const struct {
    int (*read)(const char *text, uint64_t *ret);
    const char *what;
} syntaxes[] = {
    {value_read_duration, "a duration such as 500ms, 1.5s, 30s or 5min (seconds without a unit)"},
    {value_read_size, "a size in bytes, or a number with K, M, G or T behind it"},
    {value_read_count, "a whole number"},
};

/* Returns the index of the syntax in which LIMIT is written. */
static size_t syntax_of(enum limit limit)
{
    if (limit_is_time(limit))
        return 0;
    return limit_is_in_bytes(limit) ? 1 : 2;
}

static json_t *limit_value(enum limit limit, uint64_t value)
{
    if (limit_is_time(limit) && value % 1000 != 0)
        return json_real((double)value / 1000);
    return json_integer((json_int_t)(limit_is_time(limit) ? value / 1000 : value));
}

/* With less, which is what 256M without its unit means, a program dies by a signal as it starts.
 * The daemon accepts less, since it cannot know what a job starts. */
#define MEMORY_MIN LIMIT_MIB

/* Reads NAME=VALUE into *RET_LIMIT, which is LIMIT_NONE after a failure, and *RET, the value as
 * jobs have it. */
static int read_limit(const char *text, enum limit *ret_limit, json_t **ret, struct fault *fault)
{
    char name[64], known[256];
    uint64_t value;
    const char *equals = strchr(text, '=');
    *ret_limit = LIMIT_NONE;
    if (!equals || (size_t)(equals - text) >= sizeof(name))
        return fault_set(fault, "--limit: expected NAME=VALUE, got \"%s\"", text);
    (void)snprintf(name, sizeof(name), "%.*s", (int)(equals - text), text);
    enum limit limit = limit_from_key(name);
    if (limit == LIMIT_NONE) {
        list_limits(known, sizeof(known));
        return fault_set(fault, "--limit: unknown limit \"%s\"; the limits are %s", name, known);
    }
    size_t syntax = syntax_of(limit);
    if (syntaxes[syntax].read(equals + 1, &value) < 0 || value > INT64_MAX)
        return fault_set(fault, "--limit %s: expected %s, got \"%s\"", name, syntaxes[syntax].what,
                         equals + 1);
    if (value == 0) /* no daemon takes it, and says so of the job, not of the option */
        return fault_set(fault, "--limit %s: expected a value above 0, got \"%s\"", name,
                         equals + 1);
    if (limit == LIMIT_MEMORY && value < MEMORY_MIN)
        return fault_set(fault,
                         "--limit %s: expected at least 1M, as hardly a program starts in less (a "
                         "number alone is in bytes), got \"%s\"",
                         name, equals + 1);
    *ret_limit = limit;
    *ret = limit_value(limit, value);
    return *ret ? 0 : -ENOMEM;
}

/* Returns the first of N ITEMS, each NAME=VALUE, that sets LIMIT to another value; NULL: none. */
static const char *find_other(const char *const *items, size_t n, enum limit limit,
                              const json_t *value)
{
    for (size_t i = 0; i < n; i++) {
        enum limit its;
        _cleanup_json_ json_t *other = NULL;
        if (read_limit(items[i], &its, &other, NULL) == 0 && its == limit &&
            !json_equal(other, value))
            return items[i];
    }
    return NULL;
}

/* One of the two would be lost without a word. */
static int refuse_both(const char *option, const char *value, const char *other,
                       struct fault *fault)
{
    return fault_set(fault, "%s %s and --limit %s set one limit to different values: give only one",
                     option, value, other);
}

/* Returns the object `limits` of JOB, which it makes if there is none; NULL when memory runs out.
 */
static json_t *limits_of(json_t *job)
{
    json_t *limits = json_object_get(job, "limits");
    if (limits)
        return limits;
    limits = json_object();
    return json_object_set_new(job, "limits", limits) < 0 ? NULL : limits;
}

static int set_limit(json_t *job, enum limit limit, json_t *value)
{
    json_t *limits = limits_of(job);
    return !limits || json_object_set(limits, limit_key(limit), value) < 0 ? -ENOMEM : 0;
}

int limits_add(json_t *job, const struct text_list *list, struct fault *fault)
{
    for (size_t i = 0; i < list->n; i++) {
        enum limit limit;
        _cleanup_json_ json_t *value = NULL;
        int r = read_limit(list->items[i], &limit, &value, fault);
        if (r < 0)
            return r;
        const char *other = find_other(list->items, i, limit, value);
        if (other)
            return refuse_both("--limit", list->items[i], other, fault);
        r = set_limit(job, limit, value);
        if (r < 0)
            return r;
    }
    return 0;
}

int limits_add_option(json_t *job, const char *option, const char *key, const char *value,
                      const struct text_list *list, struct fault *fault)
{
    _cleanup_free_ char *text = NULL;
    _cleanup_json_ json_t *read = NULL;
    struct fault why = FAULT_NULL;
    enum limit limit;
    if (!value)
        return 0;
    if (asprintf(&text, "%s=%s", key, value) < 0) {
        text = NULL;
        return -ENOMEM;
    }
    int r = read_limit(text, &limit, &read, &why);
    /* It speaks of --limit KEY; people have given OPTION. */
    const char *what = strstr(why.text, ": ");
    if (r < 0 && what)
        (void)fault_set(fault, "%s%s", option, what);
    if (r < 0)
        return r;
    const char *other = list ? find_other(list->items, list->n, limit, read) : NULL;
    return other ? refuse_both(option, value, other, fault) : set_limit(job, limit, read);
}
