/* SPDX-License-Identifier: MIT */
#include "frontputs.h"

#include "blobs.h"

#include "proto/json.h"
#include "proto/printer.h"
#include "proto/program_tests.h"

#include <string.h>
#include <sys/queue.h>

/* Tests that are being stored. */
struct upload {
    struct frontputs *puts;
    json_t *answer; /* to be given when they are */
    char digest[PROGRAM_DIGEST_SIZE], ref[BLOBS_REF_SIZE];
    struct blob *blob;
    LIST_ENTRY(upload) link;
};

struct frontputs {
    struct bus *bus;
    frontputs_answer *answer;
    void *arg;
    json_t *refs;                     /* by digest */
    json_t *parts;                    /* the tests of the parts so far */
    char digest[PROGRAM_DIGEST_SIZE]; /* of those; "": none */
    json_int_t next_part;
    LIST_HEAD(, upload) uploads;
};

int frontputs_new(struct bus *bus, frontputs_answer *answer, void *arg, struct frontputs **ret)
{
    struct frontputs *puts = calloc(1, sizeof(*puts));
    if (!puts)
        return -ENOMEM;
    *puts = (struct frontputs){
        .bus = bus, .answer = answer, .arg = arg, .refs = json_object(), .parts = json_array()};
    LIST_INIT(&puts->uploads);
    *ret = puts;
    return 0;
}

static void upload_free(struct upload *upload)
{
    (void)blob_free(upload->blob);
    json_decref(upload->answer);
    free(upload);
}

struct frontputs *frontputs_free(struct frontputs *puts)
{
    if (!puts)
        return NULL;
    while (!LIST_EMPTY(&puts->uploads)) {
        struct upload *upload = LIST_FIRST(&puts->uploads);
        LIST_REMOVE(upload, link);
        upload_free(upload);
    }
    json_decref(puts->refs);
    json_decref(puts->parts);
    free(puts);
    return NULL;
}

const char *frontputs_ref(const struct frontputs *puts, const char *digest)
{
    return json_string_value(json_object_get(puts->refs, digest));
}

/* Answers MESSAGE with an error. */
static void refuse(struct frontputs *puts, const json_t *message, const char *code, const char *why)
{
    json_t *error = json_pack("{s:s,s:s,s:s,s:b}", "type", "error", "code", code, "message", why,
                              "retriable", strcmp(code, "internal") == 0);
    if (json_is_string(json_object_get(message, "id")))
        (void)json_object_set(error, "id", json_object_get(message, "id"));
    puts->answer(puts->arg, error);
}

/* Answers MESSAGE with an error and forgets the parts so far, which are of the same tests. */
static void refuse_part(struct frontputs *puts, const json_t *message, const char *code,
                        const char *why)
{
    json_array_clear(puts->parts);
    puts->digest[0] = '\0';
    refuse(puts, message, code, why);
}

static void on_stored(void *arg, _unused_ struct bytes *text, const char *why)
{
    struct upload *upload = arg;
    struct frontputs *puts = upload->puts;
    LIST_REMOVE(upload, link);
    if (why || json_object_set_new(puts->refs, upload->digest, json_string(upload->ref)) < 0)
        refuse(puts, upload->answer, "internal", why ? why : "out of memory");
    else
        puts->answer(puts->arg, json_incref(upload->answer));
    upload_free(upload);
}

static void store(struct frontputs *puts, json_t *take_answer, struct bytes *take_text)
{
    struct upload *upload = calloc(1, sizeof(*upload));
    if (!upload) {
        refuse(puts, take_answer, "internal", "out of memory");
        json_decref(take_answer);
        return;
    }
    upload->puts = puts;
    upload->answer = take_answer;
    (void)snprintf(upload->digest, sizeof(upload->digest), "%s", puts->digest);
    blobs_ref(take_text->data, take_text->length, strchr(puts->digest, ':') + 1, upload->ref);
    LIST_INSERT_HEAD(&puts->uploads, upload, link);
    upload->blob = blob_up(puts->bus, take_text, upload->ref, on_stored, upload);
    if (!upload->blob)
        on_stored(upload, NULL, "out of memory");
}

/* Adds the tests of MESSAGE to those of the parts before. -EINVAL if it does not follow them,
 * -ENOMEM. */
static int add_part(struct frontputs *puts, const json_t *message, const char *digest)
{
    json_t *part = json_object_get(message, "part");
    json_int_t number = part ? json_integer_value(part) : 1;
    if (number == 1) {
        json_array_clear(puts->parts);
        (void)snprintf(puts->digest, sizeof(puts->digest), "%s", digest);
        puts->next_part = 1;
    }
    if (number != puts->next_part || strcmp(puts->digest, digest) != 0)
        return -EINVAL;
    puts->next_part++;
    return json_array_extend(puts->parts, json_object_get(message, "tests")) < 0 ? -ENOMEM : 0;
}

/* Makes the answer to a part that is kept. */
static json_t *make_answer(const struct frontputs *puts, const json_t *message)
{
    static const char *const copied[] = {"id", "digest", "part", "parts"};
    json_t *answer = json_pack("{s:s,s:I,s:I}", "type", "stored", "tests",
                               (json_int_t)json_array_size(puts->parts), "bytes", (json_int_t)0);
    for (size_t i = 0; i < ARRAY_SIZE(copied); i++)
        if (json_object_get(message, copied[i]))
            (void)json_object_set(answer, copied[i], json_object_get(message, copied[i]));
    return answer;
}

void frontputs_take(struct frontputs *puts, const json_t *message)
{
    const char *digest = json_string_value(json_object_get(message, "digest"));
    const json_t *part = json_object_get(message, "part"),
                 *parts = json_object_get(message, "parts");
    char found[PROGRAM_DIGEST_SIZE];
    _cleanup_bytes_ struct bytes text = BYTES_NULL;
    if (!digest || strlen(digest) != PROGRAM_DIGEST_SIZE - 1 ||
        strncmp(digest, "sha256:", strlen("sha256:")) != 0 ||
        !json_is_array(json_object_get(message, "tests"))) {
        refuse_part(puts, message, "bad_request", "put: expected a digest and an array of tests");
        return;
    }
    int r = add_part(puts, message, digest);
    if (r == -EINVAL) {
        refuse_part(puts, message, "bad_request",
                    "part: parts of the same tests come one after another");
        return;
    }
    _cleanup_json_ json_t *answer = r == 0 ? make_answer(puts, message) : NULL;
    bool is_last = !part || json_integer_value(part) >= json_integer_value(parts);
    if (!answer || (is_last && json_print(puts->parts, &text) < 0)) {
        refuse_part(puts, message, "internal", "out of memory");
        return;
    }
    if (!is_last) {
        puts->answer(puts->arg, json_incref(answer));
        return;
    }
    (void)json_object_set_new(answer, "bytes", json_integer((json_int_t)text.length));
    program_digest(text.data, text.length, found);
    if (strcmp(found, digest) != 0) {
        refuse_part(puts, message, "bad_request", "digest: the tests have another one");
        return;
    }
    json_array_clear(puts->parts);
    store(puts, json_incref(answer), &text);
}
