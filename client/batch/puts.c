/* SPDX-License-Identifier: MIT */
#include "puts.h"

#include "proto/jobkinds.h"
#include "proto/printer.h"
#include "proto/program_tests.h"
#include "proto/util.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Bytes of a message beside its tests: twice the digest, the numbers, and the names. */
#define OVERHEAD_MAX ((size_t)320)
/* The most sets of tests for which we remember whether the daemon has them: more than it keeps, so
 * that we forget none that it still has. */
#define KNOWN_MAX 4096

/* --- tests -------------------------------------------------------------------------------- */

void tests_deinit(struct tests *tests)
{
    bytes_deinit(&tests->text);
}

/* Returns the offset behind the item that begins at AT in the array TEXT. */
static size_t item_end(const struct bytes *text, size_t at)
{
    size_t depth = 0;
    bool in_string = false;
    for (; at < text->length; at++) {
        char c = text->data[at];
        if (in_string && c == '\\')
            at++;
        else if (c == '"')
            in_string = !in_string;
        else if (in_string)
            continue;
        else if (c == '{' || c == '[')
            depth++;
        else if (depth == 0 && (c == ',' || c == ']'))
            break;
        else if (c == '}' || c == ']')
            depth--;
    }
    return at;
}

/* Returns the offset behind the last item from AT on that fits into ROOM bytes with those before
 * it; AT if the first does not. */
static size_t part_end(const struct bytes *text, size_t at, size_t room)
{
    size_t end = at;
    for (size_t next = at; next < text->length - 1;) {
        next = item_end(text, next);
        if (next - at > room)
            break;
        end = next++;
    }
    return end;
}

/* Counts the parts; 0 if an item does not fit into one, whose number is *RET_ITEM then. */
static unsigned count_parts(const struct bytes *text, size_t room, size_t *ret_item)
{
    unsigned parts = 0;
    *ret_item = 0;
    for (size_t at = 1, end; at < text->length; at = end + 1, parts++) {
        end = part_end(text, at, room);
        if (end == at)
            return 0;
        for (size_t item = at; item < end; item = item_end(text, item) + 1)
            ++*ret_item;
    }
    return parts;
}

static int check_frames(const struct bytes *text, size_t max_frame, struct fault *fault)
{
    size_t item;
    if (text->length + OVERHEAD_MAX <= max_frame)
        return 0;
    if (max_frame > OVERHEAD_MAX && count_parts(text, max_frame - OVERHEAD_MAX, &item) > 0)
        return 0;
    (void)fault_set(fault,
                    "tests[%zu]: too large: the daemon takes at most %zu bytes in one message "
                    "(max_frame of its [protocol])",
                    max_frame > OVERHEAD_MAX ? item : 0, max_frame);
    return -EMSGSIZE;
}

int tests_take(json_t *job, size_t max_frame, struct tests *ret, struct fault *fault)
{
    _cleanup_tests_ struct tests tests = TESTS_NULL;
    const char *kind = json_string_value(json_object_get(job, "kind"));
    const json_t *array = json_object_get(job, "tests");
    if (!kind || strcmp(kind, job_kind_name(JOB_PROGRAM)) != 0 || json_array_size(array) == 0)
        return 0;
    int r = json_print(array, &tests.text);
    if (r < 0 || tests.text.length < PUTS_TESTS_MIN)
        return r;
    r = check_frames(&tests.text, max_frame, fault);
    if (r < 0)
        return r;
    program_digest(tests.text.data, tests.text.length, tests.digest);
    if (json_object_set_new(job, "tests", json_pack("{s:s}", "put", tests.digest)) < 0)
        return -ENOMEM;
    *ret = TAKE_STRUCT(tests, TESTS_NULL);
    return 0;
}

/* --- what the daemon has ------------------------------------------------------------------ */

void puts_deinit(struct puts *puts)
{
    json_decref(puts->known);
    puts->known = NULL;
}

static int note(struct puts *puts, const char *digest, json_t *take_value)
{
    _cleanup_json_ json_t *value = take_value;
    if (!puts->known)
        puts->known = json_object();
    if (json_object_size(puts->known) >= KNOWN_MAX && !json_object_get(puts->known, digest))
        json_object_clear(puts->known); /* they are put again, which does no harm */
    return json_object_set(puts->known, digest, value) < 0 ? -ENOMEM : 0;
}

/* Prints a part; SENDING tells this sending of the tests from another. */
static int print_put(const struct tests *tests, uint64_t sending, size_t from, size_t to,
                     unsigned part, unsigned parts, struct bytes *ret)
{
    char *text = NULL, number[64] = "";
    if (parts > 0)
        (void)snprintf(number, sizeof(number), "\"part\":%u,\"parts\":%u,", part, parts);
    int n = asprintf(
        &text, "{\"type\":\"put\",\"id\":\"%s/%" PRIu64 "\",\"digest\":\"%s\",%s\"tests\":[%.*s]}",
        tests->digest, sending, tests->digest, number, (int)(to - from), tests->text.data + from);
    if (n < 0)
        return -ENOMEM;
    *ret = (struct bytes){.data = text, .length = (size_t)n};
    return 0;
}

static int send_part(struct session *session, const struct tests *tests, uint64_t sending,
                     size_t from, size_t to, unsigned part, unsigned parts)
{
    _cleanup_bytes_ struct bytes payload = BYTES_NULL;
    int r = print_put(tests, sending, from, to, part, parts, &payload);
    return r < 0 ? r : session_send(session, payload.data, payload.length);
}

static int send_tests(struct session *session, const struct tests *tests, uint64_t sending)
{
    const struct bytes *text = &tests->text;
    size_t item;
    if (text->length + OVERHEAD_MAX <= session->max_frame)
        return send_part(session, tests, sending, 1, text->length - 1, 0, 0);
    size_t room = session->max_frame - MIN(session->max_frame, OVERHEAD_MAX);
    unsigned part = 1, parts = count_parts(text, room, &item);
    int r = parts > 0 ? 0 : -EMSGSIZE;
    for (size_t at = 1, end; r == 0 && at < text->length; at = end + 1, part++) {
        end = part_end(text, at, room);
        r = send_part(session, tests, sending, at, end, part, parts);
    }
    return r;
}

int puts_send(struct puts *puts, struct session *session, const struct tests *tests)
{
    if (!tests->text.data || json_object_get(puts->known, tests->digest))
        return 0;
    int r = send_tests(session, tests, ++puts->sent);
    return r < 0 ? r : note(puts, tests->digest, json_integer((json_int_t)puts->sent));
}

/* Splits the ID of a put into its digest and the number of its sending. Returns false if ID has
 * another form. */
static bool split_id(const char *id, char ret_digest[PROGRAM_DIGEST_SIZE], json_int_t *ret_sending)
{
    static const char scheme[] = "sha256:";
    size_t n = strcspn(id, "/");
    if (n != PROGRAM_DIGEST_SIZE - 1 || id[n] != '/' || strncmp(id, scheme, strlen(scheme)) != 0)
        return false;
    memcpy(ret_digest, id, n);
    ret_digest[n] = '\0';
    *ret_sending = (json_int_t)strtoll(id + n + 1, NULL, 10);
    return true;
}

bool puts_take_answer(struct puts *puts, const struct message *message)
{
    char digest[PROGRAM_DIGEST_SIZE];
    json_int_t sending;
    const char *id = message_text(message, "id");
    if (message->type == MESSAGE_STORED)
        return true;
    if (message->type != MESSAGE_ERROR || !id || !split_id(id, digest, &sending))
        return false;
    /* Of the errors of several parts the first one counts: the others may follow from it, and come
     * when the tests have been sent again. */
    const json_t *known = json_object_get(puts->known, digest);
    if (json_is_integer(known) && json_integer_value(known) == sending)
        (void)note(puts, digest, json_incref(message->object));
    return true;
}

bool puts_were_lost(struct puts *puts, const struct tests *tests, const struct message *answer,
                    json_t **ret_refusal)
{
    *ret_refusal = NULL;
    if (answer->type != MESSAGE_ERROR || !tests->text.data ||
        strcmp(message_text(answer, "code"), "tests_not_found") != 0)
        return false;
    json_t *known = json_object_get(puts->known, tests->digest);
    bool is_refused = json_is_object(known);
    if (is_refused)
        *ret_refusal = json_incref(known);
    /* The next job to come brings them again, unless that is in vain. */
    if (!is_refused || json_is_true(json_object_get(known, "retriable")))
        (void)json_object_del(puts->known, tests->digest);
    return !is_refused;
}
