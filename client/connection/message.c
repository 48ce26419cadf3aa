/* SPDX-License-Identifier: MIT */
#include "message.h"

#include "proto/util.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#define REQUIRED_MAX 4

#define TAIL_NAME "isolation"

struct required {
    const char *name;
    json_type type;
};

static const struct {
    const char *name;
    struct required required[REQUIRED_MAX];
} types[] = {
    [MESSAGE_HELLO] =
        {"hello", {{"version", JSON_STRING}, {"protocol", JSON_INTEGER}, {"limits", JSON_OBJECT}}},
    [MESSAGE_STARTED] = {"started", {{"id", JSON_STRING}}},
    [MESSAGE_RESULT] = {"result", {{"id", JSON_STRING}}},
    [MESSAGE_ERROR] = {"error", {{"code", JSON_STRING}, {"message", JSON_STRING}}},
    [MESSAGE_STATUS] = {"status", {{"version", JSON_STRING}}},
    [MESSAGE_METRICS] = {"metrics", {{"text", JSON_STRING}}},
    [MESSAGE_PONG] = {"pong", {{NULL, JSON_NULL}}},
    [MESSAGE_RELOADED] = {"reloaded",
                          {{"generation", JSON_INTEGER},
                           {"changed", JSON_ARRAY},
                           {"restart", JSON_ARRAY}}},
    [MESSAGE_STORED] = {"stored", {{"digest", JSON_STRING}}},
    [MESSAGE_OUTPUT] = {"output", {{"stream", JSON_STRING}, {"base64", JSON_STRING}}},
    [MESSAGE_INPUT_TAKEN] = {"input_taken", {{"job_no", JSON_INTEGER}, {"bytes", JSON_INTEGER}}},
    [MESSAGE_BYE] = {"bye", {{"reason", JSON_STRING}}},
    [MESSAGE_OTHER] = {"", {{NULL, JSON_NULL}}},
};

void message_deinit(struct message *message)
{
    bytes_deinit(&message->payload);
    json_decref(message->object);
    *message = (struct message)MESSAGE_NULL;
}

static int decode_type(const json_t *object, enum message_type *ret, struct fault *fault)
{
    const char *name = json_string_value(json_object_get(object, "type"));
    if (!name)
        return fault_set(fault, "a message without a type");
    for (size_t i = 0; i < MESSAGE_OTHER; i++) {
        if (strcmp(types[i].name, name) == 0) {
            *ret = (enum message_type)i;
            return 0;
        }
    }
    *ret = MESSAGE_OTHER;
    return 0;
}

static int check_required(const json_t *object, enum message_type type, struct fault *fault)
{
    for (size_t i = 0; i < REQUIRED_MAX && types[type].required[i].name; i++) {
        const struct required *required = &types[type].required[i];
        const json_t *value = json_object_get(object, required->name);
        if (!value || json_typeof(value) != required->type)
            return fault_set(fault, "%s.%s: got %s", types[type].name, required->name,
                             json_type_name(value));
    }
    return 0;
}

/* Checks that a BenchScore has a boolean `passed`, a `score` that is a number or null, and a code
 * for every failure mode; or that there is a `reason` instead of a BenchScore. */
static int check_score(const json_t *result, struct fault *fault)
{
    const json_t *score = json_object_get(result, "score");
    if (json_is_null(score) && json_is_string(json_object_get(result, "reason")))
        return 0;
    if (!json_is_object(score))
        return fault_set(fault, "result.score: got %s", json_type_name(score));
    const json_t *number = json_object_get(score, "score");
    const json_t *modes = json_object_get(score, "failure_modes");
    if (!json_is_boolean(json_object_get(score, "passed")))
        return fault_set(fault, "result.score.passed: expected a boolean");
    if (!json_is_number(number) && !json_is_null(number))
        return fault_set(fault, "result.score.score: expected a number or null");
    if (modes && !json_is_array(modes))
        return fault_set(fault, "result.score.failure_modes: expected an array");
    for (size_t i = 0; i < json_array_size(modes); i++)
        if (!json_is_string(json_object_get(json_array_get(modes, i), "code")))
            return fault_set(fault, "result.score.failure_modes[%zu].code: expected a string", i);
    return 0;
}

/* --- the tail ------------------------------------------------------------------------------- */

/* The first bytes of a tail. */
static const char tail_start[] = ",\"" TAIL_NAME "\":";

void message_tail_deinit(struct message_tail *tail)
{
    bytes_deinit(&tail->text);
    json_decref(tail->isolation);
    tail->isolation = NULL;
}

/* Returns the last place in PAYLOAD that looks like the beginning of a tail; NULL if there is none.
 */
static const char *find_tail(const struct bytes *payload)
{
    const char *end = payload->data + payload->length, *at = payload->data, *found = NULL;
    while ((at = memmem(at, (size_t)(end - at), tail_start, sizeof(tail_start) - 1)))
        found = at++;
    return found;
}

/* Keeps the tail of PAYLOAD, which is an object. If the text between the name and the last brace is
 * a whole object, it is a member of the outermost object; otherwise the name lies deeper inside,
 * and nothing is kept. */
static void keep_tail(struct message_tail *tail, const struct bytes *payload)
{
    const char *start = find_tail(payload);
    if (!start)
        return;
    const char *value = start + sizeof(tail_start) - 1, *end = payload->data + payload->length;
    struct fault fault = FAULT_NULL;
    message_tail_deinit(tail);
    if (json_read_object(value, (size_t)(end - 1 - value), &tail->isolation, &fault) == 0)
        (void)bytes_copy(start, (size_t)(end - start), &tail->text);
}

/* Decodes PAYLOAD up to the tail that it shares with the last one, and adds the shared member: if
 * the head with a brace behind it is an object, PAYLOAD is that object with one more member.
 * Returns false if PAYLOAD must be decoded in full. */
static bool read_head(struct bytes *payload, const struct message_tail *tail, json_t **ret)
{
    const struct bytes *text = &tail->text;
    if (text->length == 0 || payload->length <= text->length)
        return false;
    size_t n = payload->length - text->length;
    if (memcmp(payload->data + n, text->data, text->length) != 0)
        return false;
    struct fault fault = FAULT_NULL;
    _cleanup_json_ json_t *head = NULL;
    payload->data[n] = '}';
    int r = json_read_object(payload->data, n + 1, &head, &fault);
    payload->data[n] = tail_start[0];
    if (r < 0 || json_object_size(head) == 0 || json_object_get(head, TAIL_NAME) ||
        json_object_set(head, TAIL_NAME, tail->isolation) < 0)
        return false;
    *ret = TAKE_PTR(head);
    return true;
}

static int read_payload(struct bytes *payload, struct message_tail *tail, json_t **ret,
                        struct fault *fault)
{
    if (read_head(payload, tail, ret))
        return 0;
    int r = json_read_object(payload->data, payload->length, ret, fault);
    if (r == 0)
        keep_tail(tail, payload);
    return r;
}

/* --- the message ------------------------------------------------------------------------------ */

int message_decode(struct bytes *take_payload, struct message_tail *tail, struct message *ret,
                   struct fault *fault)
{
    _cleanup_message_ struct message message = MESSAGE_NULL;
    message.payload = *take_payload;
    *take_payload = (struct bytes)BYTES_NULL;

    int r = read_payload(&message.payload, tail, &message.object, fault);
    if (r == 0)
        r = decode_type(message.object, &message.type, fault);
    if (r == 0)
        r = check_required(message.object, message.type, fault);
    if (r == 0 && message.type == MESSAGE_RESULT)
        r = check_score(message.object, fault);
    if (r < 0)
        return r;
    *ret = TAKE_STRUCT(message, MESSAGE_NULL);
    return 0;
}

const char *message_text(const struct message *message, const char *name)
{
    return json_string_value(json_object_get(message->object, name));
}

int64_t message_integer(const struct message *message, const char *name)
{
    return json_integer_value(json_object_get(message->object, name));
}

struct score_parts message_score(const struct message *message)
{
    assert(message->type == MESSAGE_RESULT);
    const json_t *score = json_object_get(message->object, "score");
    const json_t *number = json_object_get(score, "score");
    return (struct score_parts){
        .reason = json_is_null(score) ? message_text(message, "reason") : NULL,
        .passed = json_is_true(json_object_get(score, "passed")),
        .score = json_is_number(number) ? json_number_value(number) : NAN,
        .cost_usd = json_number_value(json_object_get(score, "cost_usd")),
        .failure_modes = json_object_get(score, "failure_modes"),
    };
}
