/* SPDX-License-Identifier: MIT */
#include "jobfields.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#define SIZE_TEXT_MAX 32

int job_copy_text(const json_t *value, char **ret)
{
    char *copy = strdup(json_string_value(value));
    if (!copy)
        return -ENOMEM;
    *ret = copy;
    return 0;
}

int job_copy_string(const json_t *value, struct bytes *ret)
{
    return bytes_copy(json_string_value(value), json_string_length(value), ret);
}

/* Rounds seconds up to whole milliseconds: a limit is never shorter than the client asked for. */
static uint64_t milliseconds(double seconds)
{
    double ms = ceil(seconds * 1000 - 1e-6); /* 2.007 * 1000 is 2007.0000000000002 */
    return ms > 1 ? (uint64_t)ms : 1;
}

/* Writes BYTES in the largest unit that gives a whole number. */
static void size_text(uint64_t bytes, char out[SIZE_TEXT_MAX])
{
    static const char *const units[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
    size_t unit = 0;
    for (; bytes > 0 && bytes % 1024 == 0 && unit + 1 < ARRAY_SIZE(units); unit++)
        bytes /= 1024;
    (void)snprintf(out, SIZE_TEXT_MAX, "%" PRIu64 " %s", bytes, units[unit]);
}

static int check_ceiling(uint64_t value, enum limit limit, const struct limits *ceilings,
                         const char *path, struct fault *fault)
{
    uint64_t ceiling = ceilings->of[limit];
    if (value <= ceiling)
        return 0;
    if (limit_is_time(limit))
        return fault_set(fault, "%s: above the ceiling of %g s", path, (double)ceiling / 1000);
    if (limit_is_in_bytes(limit)) {
        char text[SIZE_TEXT_MAX];
        size_text(ceiling, text);
        return fault_set(fault, "%s: above the ceiling of %s", path, text);
    }
    return fault_set(fault, "%s: above the ceiling of %" PRIu64, path, ceiling);
}

int job_decode_limit(const json_t *value, enum limit limit, const struct limits *ceilings,
                     const char *path, uint64_t *ret, struct fault *fault)
{
    uint64_t decoded;
    if (limit_is_time(limit)) {
        double seconds = json_number_value(value);
        if (!json_is_number(value) || !(seconds > 0))
            return fault_set(fault, "%s: expected a number of seconds above 0", path);
        /* Clamp above any ceiling: converting a larger double to an integer is undefined. */
        decoded = milliseconds(MIN(seconds, 1e12));
    } else {
        if (!json_is_integer(value) || json_integer_value(value) <= 0)
            return fault_set(fault, "%s: expected an integer above 0", path);
        decoded = (uint64_t)json_integer_value(value);
    }
    int r = check_ceiling(decoded, limit, ceilings, path, fault);
    if (r == 0)
        *ret = decoded;
    return r;
}

int job_decode_limits(const json_t *object, const struct request_policy *policy,
                      struct job_spec *spec, struct fault *fault)
{
    const struct job_kind *kind = job_kind_get(spec->kind);
    json_t *walked = (json_t *)(uintptr_t)object;
    for (void *i = json_object_iter(walked); i; i = json_object_iter_next(walked, i)) {
        char path[FIELD_PATH_MAX];
        const char *key = json_object_iter_key(i);
        const json_t *value = json_object_iter_value(i);
        field_path(path, "job.limits", key);
        enum limit limit = limit_from_key(key);
        int r =
            kind->decode_limit ? kind->decode_limit(key, value, policy, spec, fault) : LIMIT_COMMON;
        if (r == LIMIT_COMMON && limit == LIMIT_NONE)
            r = fault_set(fault, "%s: unknown field", path);
        else if (r == LIMIT_COMMON)
            r = job_decode_limit(value, limit, &policy->ceilings[spec->kind], path,
                                 &spec->limits.of[limit], fault);
        if (r < 0)
            return r;
    }
    return 0;
}

int job_decode_strings(const json_t *array, const char *parent, char ***ret, struct fault *fault)
{
    size_t n = json_array_size(array);
    *ret = calloc(n + 1, sizeof(**ret)); /* the caller owns it, on failure too */
    if (!*ret)
        return -ENOMEM;
    for (size_t i = 0; i < n; i++) {
        char path[FIELD_PATH_MAX];
        (void)snprintf(path, sizeof(path), "%s[%zu]", parent, i);
        int r = field_check_type(json_array_get(array, i), FIELD_TEXT, path, fault);
        if (r == 0)
            r = job_copy_text(json_array_get(array, i), &(*ret)[i]);
        if (r < 0)
            return r;
    }
    return 0;
}
