/* SPDX-License-Identifier: MIT */
#include "reply.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
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

_printf_(2, 3) static int print_format(struct bytes *ret, const char *format, ...)
{
    va_list arguments;
    char *printed;
    va_start(arguments, format);
    int n = vasprintf(&printed, format, arguments);
    va_end(arguments);
    if (n < 0)
        return -ENOMEM;
    *ret = (struct bytes){.data = printed, .length = (size_t)n};
    return 0;
}

static json_t *id_string(const struct bytes *id)
{
    return json_stringn_nocheck(id->data, id->length);
}

/* Most results differ in a few numbers: their members are printed as they are, and only what has to
 * be escaped by way of JSON values. */

#define NUMBER_MAX sizeof("-9223372036854775808")

static const char *null_or_number(bool is_null, int64_t value, char ret[NUMBER_MAX])
{
    (void)snprintf(ret, NUMBER_MAX, "%" PRId64, value);
    return is_null ? "null" : ret;
}

static int print_string(const char *text, size_t n, struct bytes *ret)
{
    return n == 0 ? bytes_copy("\"\"", 2, ret) : consume_print(json_stringn_nocheck(text, n), ret);
}

static int print_outcome(const struct outcome *outcome, struct bytes *ret)
{
    _cleanup_bytes_ struct bytes error = BYTES_NULL, summary = BYTES_NULL;
    const char *text = outcome->summary ? outcome->summary : "",
               *limit = limit_name(outcome->limit);
    char exit_code[NUMBER_MAX], signal[NUMBER_MAX];
    const char *quote = limit ? "\"" : "";
    if (print_string(outcome->stderr_text, outcome->stderr_text ? outcome->stderr_length : 0,
                     &error) < 0 ||
        print_string(text, strlen(text), &summary) < 0)
        return -ENOMEM;
    return print_format(ret,
                        "{\"success\":%s,\"exit_code\":%s,\"signal\":%s,"
                        "\"limit_exceeded\":%s%s%s,\"stderr\":%s,\"summary\":%s}",
                        outcome->success ? "true" : "false",
                        null_or_number(outcome->exit_code < 0, outcome->exit_code, exit_code),
                        null_or_number(outcome->signal == 0, outcome->signal, signal), quote,
                        limit ? limit : "null", quote, error.data, summary.data);
}

/* The head of a result, all that each has but its isolation. */
static int print_head(const struct reply_result *result, struct bytes *ret)
{
    _cleanup_bytes_ struct bytes id = BYTES_NULL, score = BYTES_NULL, outcome = BYTES_NULL;
    const struct usage *usage = result->usage;
    char cpu_wait_ms[NUMBER_MAX];
    if (consume_print(id_string(result->id), &id) < 0 ||
        consume_print(result->score ? bench_score_encode(result->score) : json_null(), &score) <
            0 ||
        print_outcome(result->outcome, &outcome) < 0)
        return -ENOMEM;
    return print_format(
        ret,
        "{\"type\":\"result\",\"id\":%s,\"job_no\":%" PRIu64
        ",\"kind\":\"%s\",\"score\":%s,\"outcome\":%s,\"usage\":{\"wall_clock_ms\":%" PRId64
        ",\"cpu_ms\":%" PRId64 ",\"cpu_wait_ms\":%s,\"max_rss_bytes\":%" PRId64
        ",\"queue_ms\":%" PRId64 "}}",
        id.data, result->job_no, result->kind, score.data, outcome.data, usage->wall_clock_ms,
        usage->cpu_ms, null_or_number(usage->cpu_wait_ms < 0, usage->cpu_wait_ms, cpu_wait_ms),
        usage->max_rss_bytes, usage->queue_ms);
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

static int add_word(struct bytes *reply, const char *name, const char *word)
{
    _cleanup_bytes_ struct bytes printed = BYTES_NULL;
    if (!word)
        return 0;
    int r = print_string(word, strlen(word), &printed);
    return r < 0 ? r : add_printed(reply, name, &printed);
}

static int add_value(struct bytes *reply, const char *name, json_t *take_value)
{
    _cleanup_bytes_ struct bytes printed = BYTES_NULL;
    int r = consume_print(take_value, &printed);
    return r < 0 ? r : add_printed(reply, name, &printed);
}

static int add_stdout(struct bytes *reply, const struct bytes *text)
{
    if (!text)
        return 0;
    if (text->length == 0)
        return add_word(reply, "stdout", "");
    return add_value(reply, "stdout", json_text(text->data, MIN(text->length, REPLY_STDOUT_MAX)));
}

/* What not every kind of job has; negative when memory runs out. */
static int add_optional(struct bytes *reply, const struct reply_result *result)
{
    int r = add_word(reply, "reason", result->reason);
    if (r == 0)
        r = add_stdout(reply, result->stdout_bytes);
    if (r == 0)
        r = add_word(reply, "verdict", result->verdict);
    if (r == 0)
        r = add_word(reply, "mode", result->mode);
    if (r == 0)
        r = add_word(reply, "interpreter", result->interpreter);
    if (r == 0 && result->assertions)
        r = add_value(reply, "assertions", json_incref((json_t *)(uintptr_t)result->assertions));
    return r;
}

int reply_result(const struct reply_result *result, struct bytes *ret)
{
    _cleanup_bytes_ struct bytes printed = BYTES_NULL;
    int r = print_head(result, &printed);
    if (r == 0)
        r = add_optional(&printed, result);
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
    _cleanup_bytes_ struct bytes printed = BYTES_NULL;
    if (consume_print(id_string(id), &printed) < 0)
        return -ENOMEM;
    return print_format(ret, "{\"type\":\"started\",\"id\":%s,\"job_no\":%" PRIu64 ",\"slot\":%u}",
                        printed.data, job_no, slot);
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
