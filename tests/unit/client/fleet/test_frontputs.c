/* SPDX-License-Identifier: MIT */
/* Tests that a client puts for its jobs, without a server: this file stands in for what stores
 * them. */
#include "client/fleet/blobs.h"
#include "client/fleet/frontputs.h"

#include "proto/program_tests.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static struct {
    blob_done *stored; /* of the last upload */
    void *upload;
    unsigned uploads;
    json_t *answer; /* the last one */
} seen;

void blobs_ref(const char *text, size_t n, const char *hex, char ret[BLOBS_REF_SIZE])
{
    (void)text, (void)n;
    (void)snprintf(ret, BLOBS_REF_SIZE, "%.8s 1", hex);
}

struct blob *blob_up(struct bus *bus, struct bytes *take_text, const char *ref, blob_done *done,
                     void *arg)
{
    (void)bus, (void)ref;
    bytes_deinit(take_text);
    seen.uploads++;
    seen.stored = done;
    seen.upload = arg;
    return (struct blob *)&seen;
}

struct blob *blob_free(struct blob *blob)
{
    (void)blob;
    return NULL;
}

static void on_answer(void *arg, json_t *take_message)
{
    (void)arg;
    json_decref(seen.answer);
    seen.answer = take_message;
}

static int set_up(void **state)
{
    struct frontputs *puts;
    memset(&seen, 0, sizeof(seen));
    if (frontputs_new(NULL, on_answer, NULL, &puts) < 0)
        return -1;
    *state = puts;
    return 0;
}

static int tear_down(void **state)
{
    *state = frontputs_free(*state);
    json_decref(seen.answer);
    return 0;
}

/* Puts part PART of PARTS of the tests with the inputs "1", "2", ... */
static void put(struct frontputs *puts, const char *digest, int part, int parts)
{
    json_t *message =
        json_pack("{s:s,s:s,s:i,s:i,s:[{s:s#}]}", "type", "put", "digest", digest, "part", part,
                  "parts", parts, "tests", "input", part == 1 ? "1" : "2", 1);
    assert_non_null(message);
    frontputs_take(puts, message);
    json_decref(message);
}

/* The digest of PARTS such parts. */
static void digest_of(int parts, char ret[PROGRAM_DIGEST_SIZE])
{
    const char *text = parts == 1 ? "[{\"input\":\"1\"}]" : "[{\"input\":\"1\"},{\"input\":\"2\"}]";
    program_digest(text, strlen(text), ret);
}

static void assert_answer(const char *type, const char *code)
{
    const char *found = json_string_value(json_object_get(seen.answer, "code"));
    assert_string_equal(json_string_value(json_object_get(seen.answer, "type")), type);
    assert_string_equal(found ? found : "", code);
}

static void test_parts_are_stored_as_one(void **state)
{
    char digest[PROGRAM_DIGEST_SIZE];
    digest_of(2, digest);
    put(*state, digest, 1, 2);
    assert_answer("stored", "");
    assert_int_equal(seen.uploads, 0);
    put(*state, digest, 2, 2);
    assert_int_equal(seen.uploads, 1);
    assert_null(frontputs_ref(*state, digest));
    seen.stored(seen.upload, NULL, NULL);
    assert_answer("stored", "");
    assert_non_null(frontputs_ref(*state, digest));
}

static void test_a_part_that_does_not_follow(void **state)
{
    char digest[PROGRAM_DIGEST_SIZE];
    digest_of(2, digest);
    put(*state, digest, 2, 2);
    assert_answer("error", "bad_request");
    put(*state, digest, 1, 2);
    put(*state, digest, 1, 2); /* begins anew */
    assert_answer("stored", "");
    put(*state, digest, 2, 2);
    assert_int_equal(seen.uploads, 1);
    seen.stored(seen.upload, NULL, NULL);
    assert_answer("stored", "");
}

/* Tests that could not be stored take nothing from others, of which a part has come meanwhile. */
static void test_a_failure_while_other_tests_come(void **state)
{
    char first[PROGRAM_DIGEST_SIZE], second[PROGRAM_DIGEST_SIZE];
    digest_of(1, first);
    digest_of(2, second);
    put(*state, first, 1, 1);
    blob_done *stored = seen.stored;
    void *upload = seen.upload;
    put(*state, second, 1, 2);
    stored(upload, NULL, "the stream of inputs is full");
    assert_answer("error", "internal");
    assert_null(frontputs_ref(*state, first));
    put(*state, second, 2, 2);
    assert_int_equal(seen.uploads, 2);
    seen.stored(seen.upload, NULL, NULL);
    assert_answer("stored", "");
    assert_non_null(frontputs_ref(*state, second));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_parts_are_stored_as_one, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_part_that_does_not_follow, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_failure_while_other_tests_come, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
