/* SPDX-License-Identifier: MIT */
#include "marks.h"

#include "proto/json.h"
#include "proto/printer.h"

#include <string.h>

int marks_read(const char *text, size_t n, uint64_t seq, json_t **ret)
{
    _cleanup_json_ json_t *mark = NULL;
    struct fault fault = FAULT_NULL;
    json_t *starts = NULL;
    if (json_read_object(text, n, &mark, &fault) == 0 &&
        (uint64_t)json_integer_value(json_object_get(mark, "seq")) == seq)
        starts = json_object_get(mark, "starts");
    *ret = json_is_array(starts) ? json_incref(starts) : json_array();
    return *ret ? 0 : -ENOMEM;
}

int marks_add(json_t *starts, const char *worker, const char *nonce)
{
    return json_array_append_new(starts, json_pack("{s:s,s:s}", "worker", worker, "nonce", nonce)) <
                   0
               ? -ENOMEM
               : 0;
}

int marks_find(const json_t *starts, const char *nonce)
{
    for (size_t i = 0; i < json_array_size(starts); i++) {
        const char *of_start =
            json_string_value(json_object_get(json_array_get(starts, i), "nonce"));
        if (of_start && strcmp(of_start, nonce) == 0)
            return (int)i;
    }
    return -ENOENT;
}

int marks_remove(json_t *starts, const char *nonce)
{
    int at = marks_find(starts, nonce);
    return at < 0 ? at : json_array_remove(starts, (size_t)at);
}

int marks_print(uint64_t seq, const json_t *starts, struct bytes *ret)
{
    _cleanup_json_ json_t *mark =
        json_pack("{s:I,s:O}", "seq", (json_int_t)seq, "starts", (json_t *)(uintptr_t)starts);
    return mark ? json_print(mark, ret) : -ENOMEM;
}

void marks_reason(const json_t *starts, char ret[FAULT_MAX])
{
    size_t n = json_array_size(starts), used;
    used = (size_t)snprintf(ret, FAULT_MAX, "the job was started %zu times (by ", n);
    for (size_t i = 0; i < n && used < FAULT_MAX; i++) {
        const char *worker =
            json_string_value(json_object_get(json_array_get(starts, i), "worker"));
        used += (size_t)snprintf(ret + used, FAULT_MAX - used, "%s%.64s",
                                 i == 0       ? ""
                                 : i + 1 == n ? " and "
                                              : ", ",
                                 worker ? worker : "?");
    }
    if (used < FAULT_MAX)
        (void)snprintf(ret + used, FAULT_MAX - used,
                       "), and no worker lived to say how it ended: it may take them down");
}
