/* SPDX-License-Identifier: MIT */
#include "client/batch/digest.h"
#include "client/batch/runinfo.h"
#include "rubricdir/digests.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static const struct bytes id = {.data = (char[]){"a\0b"}, .length = 3};

static json_t *make(const char *job)
{
    _cleanup_json_ json_t *object = json_loads(job, 0, NULL);
    assert_non_null(object);
    struct digests *digests;
    assert_int_equal(digests_new(&digests), 0);
    json_t *run = runinfo_make(object, &id, digests);
    assert_non_null(run);
    assert_null(digests_free(digests));
    return run;
}

static const char *text(const json_t *run, const char *name)
{
    return json_string_value(json_object_get(run, name));
}

/* printf '{"case":{"a":2,"b":1},"kind":"rubric"}' | sha256sum */
#define DIGEST_OF_PLAIN "00e90932583d961b3f5f4e6f26a9c1606f5bac9d7ef0b76fbecfeebe3c98abfb"

/* The language is the answer's, as its code is. */
static void test_a_case_in_two_languages(void **state)
{
    (void)state;
    _cleanup_json_ json_t *c =
        make("{\"kind\":\"program\",\"language\":\"c\",\"code\":\"main(){}\",\"tests\":[]}");
    _cleanup_json_ json_t *python =
        make("{\"kind\":\"program\",\"language\":\"python\",\"generation\":\"pass\",\"tests\":[]}");
    assert_string_equal(text(c, "case_digest"), text(python, "case_digest"));
    assert_string_not_equal(text(c, "job_digest"), text(python, "job_digest"));
}

static void test_digests(void **state)
{
    (void)state;
    static const char plain[] = "{\"kind\":\"rubric\",\"case\":{\"b\":1,\"a\":2}}";
    _cleanup_json_ json_t *run = make(plain);
    assert_string_equal(text(run, "job_digest"), DIGEST_OF_PLAIN);
    assert_string_equal(text(run, "case_digest"), DIGEST_OF_PLAIN);
    _cleanup_json_ json_t *with_priority = make("{\"case\":{\"a\":2,\"b\":1},\"priority\":3,"
                                                "\"kind\":\"rubric\"}");
    assert_string_equal(text(with_priority, "job_digest"), DIGEST_OF_PLAIN);
    _cleanup_json_ json_t *with_answer =
        make("{\"case\":{\"a\":2,\"b\":1},\"kind\":\"rubric\",\"sut\":{},"
             "\"harness_output\":{\"x\":1},\"bench_root\":\"/nowhere\"}");
    assert_string_not_equal(text(with_answer, "job_digest"), DIGEST_OF_PLAIN);
    assert_string_equal(text(with_answer, "case_digest"), DIGEST_OF_PLAIN);
    assert_int_not_equal(runinfo_identity(run), runinfo_identity(with_answer));
    assert_int_equal(runinfo_identity(run), runinfo_identity(with_priority));
}

static void test_rubric_digest(void **state)
{
    char root[] = "/tmp/rubricd-runinfo-XXXXXX", path[256], helper[256], job[512];
    (void)state;
    assert_non_null(mkdtemp(root));
    (void)snprintf(path, sizeof(path), "%s/c", root);
    assert_int_equal(mkdir(path, 0700), 0);
    (void)snprintf(job, sizeof(job),
                   "{\"kind\":\"rubric\",\"task_class\":\"c\",\"bench_root\":\"%s\"}", root);
    _cleanup_json_ json_t *without = make(job);
    assert_null(text(without, "rubric_digest"));
    assert_string_equal(text(without, "task_class"), "c");

    (void)snprintf(path, sizeof(path), "%s/c/rubric.py", root);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    (void)fputs("abc", file);
    (void)fclose(file);
    _cleanup_json_ json_t *with = make(job);
    /* printf 'rubric-directory 1\n%s 3 - rubric.py\n' $(printf abc | sha256sum | cut -c-64) |
     * sha256sum */
    assert_string_equal(text(with, "rubric_digest"),
                        "dea94f3177923729079c4e07734d1f7eb4175cc418a659b41573b37dcaa340c0");
    assert_string_equal(text(with, "job_digest"), text(without, "job_digest"));
    assert_int_not_equal(runinfo_identity(with), runinfo_identity(without));
    /* What stands beside it counts. */
    (void)snprintf(helper, sizeof(helper), "%s/c/helper.py", root);
    file = fopen(helper, "w");
    assert_non_null(file);
    (void)fclose(file);
    _cleanup_json_ json_t *helped = make(job);
    assert_string_not_equal(text(helped, "rubric_digest"), text(with, "rubric_digest"));
    assert_int_not_equal(runinfo_identity(helped), runinfo_identity(with));
    (void)unlink(helper);
    (void)unlink(path);
    /* It does not wait for a fifo. */
    assert_int_equal(mkfifo(path, 0600), 0);
    _cleanup_json_ json_t *fifo = make(job);
    assert_null(text(fifo, "rubric_digest"));
    (void)unlink(path);
    (void)snprintf(path, sizeof(path), "%s/c", root);
    (void)rmdir(path);
    (void)rmdir(root);
}

static void test_line(void **state)
{
    (void)state;
    struct bytes line = BYTES_NULL;
    _cleanup_json_ json_t *run = make("{\"kind\":\"sandbox\"}");
    struct message answer = MESSAGE_NULL;
    answer.object = json_pack("{s:s}", "type", "error");
    assert_int_equal(runinfo_earlier(run), 0);
    assert_int_equal(runinfo_add_earlier(run, RUNINFO_ERROR, &answer), 0);
    assert_int_equal(runinfo_add_earlier(run, RUNINFO_STARVED, &answer), 0);
    assert_int_equal(runinfo_earlier(run), 2);
    message_deinit(&answer);
    assert_int_equal(runinfo_set_sample(run, &id, 2), 0);
    assert_int_equal(runinfo_finish(run, "1.2"), 0);
    assert_int_equal(bytes_copy("{\"a\":{}} ", 9, &line), 0);
    assert_int_equal(runinfo_splice(&line, run), 0);

    assert_int_equal(strlen(line.data), line.length);
    _cleanup_json_ json_t *read = json_loads(line.data, JSON_ALLOW_NUL, NULL);
    assert_non_null(read);
    const json_t *back = json_object_get(read, "run");
    assert_int_equal(json_object_size(read), 2);
    assert_true(json_equal(back, run));
    assert_int_equal(json_integer_value(json_object_get(back, "attempts")), 3);
    assert_int_equal(json_integer_value(json_object_get(back, "sample")), 2);
    assert_int_equal(json_string_length(json_object_get(back, "case_id")), 3);
    assert_string_equal(text(json_array_get(json_object_get(back, "earlier"), 1), "why"),
                        "starved");
    bytes_deinit(&line);
}

/* What a line lacks that carries no answer: the rest of the run goes on after it. */
static void test_circumstances(void **state)
{
    (void)state;
    _cleanup_json_ json_t *run = json_object();
    _cleanup_json_ json_t *answer =
        json_pack("{s:s,s:{s:i},s:s}", "mode", "warm", "usage", "cpu_ms", 5, "id", "x");
    assert_int_equal(runinfo_set_circumstances(run, answer), 0);
    assert_int_equal(json_object_size(run), 2);
    assert_string_equal(text(run, "mode"), "warm");
    assert_true(json_equal(json_object_get(run, "usage"), json_object_get(answer, "usage")));
}

static void test_starvation(void **state)
{
    (void)state;
    _cleanup_json_ json_t *run = make("{\"kind\":\"sandbox\"}"), *plain = json_object(),
                          *answer = json_pack("{s:{s:i},s:{s:s}}", "deadline", "moves", 1, "fleet",
                                              "worker", "b");
    assert_int_equal(runinfo_set_starvation(run, plain), 0);
    assert_null(json_object_get(run, "deadline"));
    assert_null(json_object_get(run, "fleet"));
    assert_int_equal(runinfo_set_starvation(run, answer), 0);
    assert_true(json_equal(json_object_get(run, "deadline"), json_object_get(answer, "deadline")));
    assert_true(json_equal(json_object_get(run, "fleet"), json_object_get(answer, "fleet")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_digests),       cmocka_unit_test(test_a_case_in_two_languages),
        cmocka_unit_test(test_rubric_digest), cmocka_unit_test(test_line),
        cmocka_unit_test(test_circumstances), cmocka_unit_test(test_starvation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
