/* SPDX-License-Identifier: MIT */
#include "session_request.h"

#include <math.h>
#include <string.h>

void session_free_strings(char **strings)
{
    for (char **item = strings; item && *item; item++)
        free(*item);
    free(strings);
}

void session_wish_deinit(struct session_wish *wish)
{
    session_free_strings(wish->env);
    wish->env = NULL;
}

int session_decode_number(const json_t *value, const char *path, uint64_t *ret, struct fault *fault)
{
    json_int_t number = json_integer_value(value);
    if (number <= 0)
        return fault_set(fault, "%s: expected an integer above 0", path);
    *ret = (uint64_t)number;
    return 0;
}

static int decode_variable(const char *name, const json_t *value, const char *parent, char **ret,
                           struct fault *fault)
{
    char path[FIELD_PATH_MAX];
    field_path(path, parent, name);
    if (!*name || strchr(name, '='))
        return fault_set(fault, "%s: the name of a variable is not empty and has no = in it", path);
    int r = field_check_type(value, FIELD_TEXT, path, fault);
    if (r < 0)
        return r;
    return asprintf(ret, "%s=%s", name, json_string_value(value)) < 0 ? -ENOMEM : 0;
}

int session_decode_env(const json_t *object, const char *path, char ***ret, struct fault *fault)
{
    json_t *walked = (json_t *)(uintptr_t)object;
    size_t n = 0, count = json_object_size(object), length = 0;
    if (count > SESSION_ENV_MAX)
        return fault_set(fault, "%s: %zu variables, more than %d", path, count, SESSION_ENV_MAX);
    char **env = *ret = calloc(count + 1, sizeof(**ret));
    if (!env)
        return -ENOMEM;
    for (void *i = json_object_iter(walked); i; i = json_object_iter_next(walked, i)) {
        char *entry = NULL;
        int r = decode_variable(json_object_iter_key(i), json_object_iter_value(i), path, &entry,
                                fault);
        if (r < 0 || !entry)
            return r < 0 ? r : -ENOMEM;
        length += strlen(entry) + 1;
        env[n++] = entry;
    }
    if (length > SANDBOX_STRINGS_MAX / 2)
        return fault_set(fault, "%s: %zu bytes, more than %u", path, length,
                         SANDBOX_STRINGS_MAX / 2);
    return 0;
}

static int decode_limits(const json_t *object, const struct limits *ceilings, struct limits *limits,
                         struct fault *fault)
{
    json_t *walked = (json_t *)(uintptr_t)object;
    for (void *i = json_object_iter(walked); i; i = json_object_iter_next(walked, i)) {
        char path[FIELD_PATH_MAX];
        const char *key = json_object_iter_key(i);
        enum limit limit = limit_from_key(key);
        field_path(path, "limits", key);
        int r = limit == LIMIT_NONE ? fault_set(fault, "%s: unknown field", path)
                                    : job_decode_limit(json_object_iter_value(i), limit, ceilings,
                                                       path, &limits->of[limit], fault);
        if (r < 0)
            return r;
    }
    return 0;
}

/* Decodes seconds, which are what is configured if VALUE is NULL. */
static int decode_time(const json_t *value, const char *path, uint64_t preset_ms,
                       uint64_t ceiling_ms, uint64_t *ret_ms, struct fault *fault)
{
    double seconds = json_number_value(value);
    *ret_ms = preset_ms;
    if (!value)
        return 0;
    if (!(seconds > 0))
        return fault_set(fault, "%s: expected a number of seconds above 0", path);
    double ms = ceil(MIN(seconds, 1e12) * 1000 - 1e-6);
    if (ms > (double)ceiling_ms)
        return fault_set(fault, "%s: above the ceiling of %g s", path, (double)ceiling_ms / 1000);
    *ret_ms = ms > 1 ? (uint64_t)ms : 1;
    return 0;
}

int session_wish_decode(const struct session_fields *fields, const struct request_policy *policy,
                        struct session_wish *ret, struct fault *fault)
{
    int r = 0;
    *ret = (struct session_wish){.limits = policy->defaults[JOB_SESSION]};
    if (fields->limits)
        r = decode_limits(fields->limits, &policy->ceilings[JOB_SESSION], &ret->limits, fault);
    if (r == 0 && fields->env)
        r = session_decode_env(fields->env, "env", &ret->env, fault);
    if (r == 0)
        r = decode_time(fields->lease, "lease", policy->lease_ms, policy->lease_ceiling_ms,
                        &ret->lease_ms, fault);
    if (r == 0)
        r = decode_time(fields->idle, "idle", policy->idle_ms, policy->idle_ceiling_ms,
                        &ret->idle_ms, fault);
    return r;
}
