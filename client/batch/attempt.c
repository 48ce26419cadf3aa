/* SPDX-License-Identifier: MIT */
#include "attempt.h"

#include "proto/util.h"

#include <string.h>

#define DELAY_FIRST_MS 500
#define DELAY_MAX_MS 30000
#define DOUBLINGS_MAX 10

bool attempt_is_retriable(const struct message *error, bool all)
{
    const char *code = message_text(error, "code");
    if (strcmp(code, "cancelled") == 0 || strcmp(code, "draining") == 0)
        return false;
    return all || json_is_true(json_object_get(error->object, "retriable"));
}

int64_t attempt_delay_ms(size_t n)
{
    size_t doublings = MIN(n - 1, (size_t)DOUBLINGS_MAX);
    return MIN((int64_t)DELAY_FIRST_MS << doublings, (int64_t)DELAY_MAX_MS);
}

bool attempt_is_starved(const struct message *answer)
{
    const json_t *usage = json_object_get(answer->object, "usage");
    const char *limit = json_string_value(
        json_object_get(json_object_get(answer->object, "outcome"), "limit_exceeded"));
    json_int_t wall = json_integer_value(json_object_get(usage, "wall_clock_ms"));
    json_int_t wait = json_integer_value(json_object_get(usage, "cpu_wait_ms"));
    if (answer->type == MESSAGE_ERROR)
        return strcmp(message_text(answer, "code"), "starved") == 0;
    if (json_object_get(answer->object, "deadline"))
        return false;
    return limit && strcmp(limit, "wall_clock") == 0 && wait > 0 && wait >= wall - wait;
}
