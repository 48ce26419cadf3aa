/* SPDX-License-Identifier: MIT */
#include "reply.h"

#include <string.h>

static const struct {
    const char *name;
    bool retriable;
} error_codes[] = {
    [ERROR_BAD_REQUEST] = {"bad_request", false},
    [ERROR_FRAME_TOO_LARGE] = {"frame_too_large", false},
    [ERROR_DENIED] = {"denied", false},
    [ERROR_CANCELLED] = {"cancelled", false},
    [ERROR_DRAINING] = {"draining", true},
    [ERROR_RUBRIC_NOT_FOUND] = {"rubric_not_found", false},
    [ERROR_NOT_PERMITTED] = {"not_permitted", false},
    [ERROR_SANDBOX_FAILED] = {"sandbox_failed", true},
    [ERROR_INTERNAL] = {"internal", true},
};

const char *error_code_name(enum error_code code)
{
    return error_codes[code].name;
}

bool error_code_retriable(enum error_code code)
{
    return error_codes[code].retriable;
}

void outcome_deinit(struct outcome *outcome)
{
    free(outcome->stderr_text);
    free(outcome->summary);
    *outcome = (struct outcome)OUTCOME_NULL;
}

/* Prints and consumes VALUE, which is NULL where memory ran out while it was built. */
static int consume_print(json_t *value, struct bytes *ret)
{
    if (!value)
        return -ENOMEM;
    int r = json_print(value, ret);
    json_decref(value);
    return r;
}

static json_t *id_string(const struct bytes *id)
{
    return json_stringn_nocheck(id->data, id->length);
}

static json_t *null_or_integer(bool is_null, int64_t value)
{
    return is_null ? json_null() : json_integer(value);
}

static json_t *encode_outcome(const struct outcome *outcome)
{
    const char *limit = limit_name(outcome->limit);
    const char *text = outcome->stderr_text ? outcome->stderr_text : "";
    return json_pack("{s:b,s:o,s:o,s:s?,s:o,s:s}", "success", outcome->success, "exit_code",
                     null_or_integer(outcome->exit_code < 0, outcome->exit_code), "signal",
                     null_or_integer(outcome->signal == 0, outcome->signal), "limit_exceeded",
                     limit, "stderr",
                     json_stringn_nocheck(text, outcome->stderr_text ? outcome->stderr_length : 0),
                     "summary", outcome->summary ? outcome->summary : "");
}

static json_t *encode_usage(const struct usage *usage)
{
    return json_pack("{s:I,s:I,s:o,s:I,s:I}", "wall_clock_ms", (json_int_t)usage->wall_clock_ms,
                     "cpu_ms", (json_int_t)usage->cpu_ms, "cpu_wait_ms",
                     null_or_integer(usage->cpu_wait_ms < 0, usage->cpu_wait_ms), "max_rss_bytes",
                     (json_int_t)usage->max_rss_bytes, "queue_ms", (json_int_t)usage->queue_ms);
}

/* Puts one more member into OBJECT, which is printed and not empty. */
static int add_printed(struct bytes *object, const char *name, const struct bytes *value)
{
    size_t room = object->length + strlen(name) + value->length + sizeof(",\"\":}");
    char *data = realloc(object->data, room);
    if (!data)
        return -ENOMEM;
    size_t at = object->length - 1; /* of the brace that ends it */
    int n = snprintf(data + at, room - at, ",\"%s\":%.*s}", name, (int)value->length, value->data);
    *object = (struct bytes){.data = data, .length = at + (size_t)n};
    return 0;
}

static int add_word(json_t *object, const char *name, const char *word)
{
    return word ? json_object_set_new(object, name, json_string(word)) : 0;
}

/* What not every kind of job has; negative when memory runs out. */
static int add_optional(json_t *reply, const struct reply_result *result)
{
    const struct bytes *text = result->stdout_bytes;
    int r = add_word(reply, "reason", result->reason);
    if (r == 0 && text)
        r = json_object_set_new(
            reply, "stdout",
            json_text(text->data ? text->data : "", MIN(text->length, REPLY_STDOUT_MAX)));
    if (r == 0)
        r = add_word(reply, "verdict", result->verdict);
    if (r == 0)
        r = add_word(reply, "mode", result->mode);
    if (r == 0)
        r = add_word(reply, "interpreter", result->interpreter);
    if (r == 0 && result->assertions)
        r = json_object_set(reply, "assertions", (json_t *)(uintptr_t)result->assertions);
    return r;
}

int reply_result(const struct reply_result *result, struct bytes *ret)
{
    _cleanup_json_ json_t *reply =
        json_pack("{s:s,s:o,s:I,s:s,s:o,s:o,s:o}", "type", "result", "id", id_string(result->id),
                  "job_no", (json_int_t)result->job_no, "kind", result->kind, "score",
                  result->score ? bench_score_encode(result->score) : json_null(), "outcome",
                  encode_outcome(result->outcome), "usage", encode_usage(result->usage));
    if (!reply || add_optional(reply, result) < 0)
        return -ENOMEM;
    _cleanup_bytes_ struct bytes printed = BYTES_NULL;
    int r = json_print(reply, &printed);
    if (r == 0)
        r = add_printed(&printed, "isolation", result->isolation);
    if (r < 0)
        return r;
    *ret = printed;
    printed = (struct bytes)BYTES_NULL;
    return 0;
}

int reply_started(const struct bytes *id, uint64_t job_no, unsigned slot, struct bytes *ret)
{
    return consume_print(json_pack("{s:s,s:o,s:I,s:i}", "type", "started", "id", id_string(id),
                                   "job_no", (json_int_t)job_no, "slot", (int)slot),
                         ret);
}

int reply_error(const struct bytes *id, uint64_t job_no, enum error_code code, const char *message,
                struct bytes *ret)
{
    json_t *error = json_pack("{s:s}", "type", "error");
    if ((id && json_object_set_new(error, "id", id_string(id)) < 0) ||
        (job_no && json_object_set_new(error, "job_no", json_integer((json_int_t)job_no)) < 0) ||
        json_object_set_new(error, "code", json_string(error_code_name(code))) < 0 ||
        json_object_set_new(error, "message", json_text(message, strlen(message))) < 0 ||
        json_object_set_new(error, "retriable", json_boolean(error_code_retriable(code))) < 0) {
        json_decref(error);
        return -ENOMEM;
    }
    return consume_print(error, ret);
}

int reply_hello(const struct reply_hello *hello, struct bytes *ret)
{
    return consume_print(json_pack("{s:s,s:s,s:s,s:i,s:O,s:O,s:O}", "type", "hello", "software",
                                   "rubricd", "version", hello->version, "protocol",
                                   PROTOCOL_VERSION, "limits", hello->limits, "isolation",
                                   hello->isolation, "interpreter", hello->interpreter),
                         ret);
}

int reply_pong(struct bytes *ret)
{
    return consume_print(json_pack("{s:s}", "type", "pong"), ret);
}

static json_t *strings(char *const *item, size_t count)
{
    json_t *array = json_array();
    for (size_t i = 0; i < count; i++)
        if (json_array_append_new(array, json_string(item[i])) < 0)
            return json_decref(array), NULL;
    return array;
}

int reply_reloaded(const struct reply_reloaded *reloaded, struct bytes *ret)
{
    return consume_print(json_pack("{s:s,s:I,s:o,s:o,s:s}", "type", "reloaded", "generation",
                                   (json_int_t)reloaded->generation, "changed",
                                   strings(reloaded->changed, reloaded->changed_count), "restart",
                                   strings(reloaded->restart, reloaded->restart_count), "digest",
                                   reloaded->digest),
                         ret);
}

int reply_bye(const char *reason, const char *message, struct bytes *ret)
{
    return consume_print(
        json_pack("{s:s,s:s,s:s}", "type", "bye", "reason", reason, "message", message), ret);
}
