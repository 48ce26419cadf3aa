/* SPDX-License-Identifier: MIT */
#include "client/batch/jobline.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#define MAX_FRAME 4096

static const struct bytes default_id = {.data = (char[]){"jobs.jsonl:7"}, .length = 12};

static int make(const char *line, size_t n, const char *bench_root, struct submission *ret,
                struct fault *fault)
{
    const struct jobline_policy policy = {.bench_root = bench_root, .max_frame = MAX_FRAME};
    _cleanup_json_ json_t *job = NULL;
    int r = jobline_read_object(line, n, jobline_is_used, &job, fault);
    return r < 0 ? r : jobline_from_object(job, &default_id, &policy, ret, fault);
}

static void assert_payload(const char *line, const char *bench_root, const char *expected)
{
    _cleanup_submission_ struct submission submission = SUBMISSION_NULL;
    struct fault fault = FAULT_NULL;
    assert_int_equal(make(line, strlen(line), bench_root, &submission, &fault), 0);
    assert_string_equal(submission.payload.data, expected);
    assert_int_equal(submission.payload.length, strlen(expected));
    assert_string_equal(fault.text, "");
}

static void assert_refused(const char *line, size_t n, int error, const char *expected)
{
    struct submission submission = SUBMISSION_NULL;
    struct fault fault = FAULT_NULL;
    assert_int_equal(make(line, n, "/bench", &submission, &fault), error);
    assert_null(submission.payload.data);
    assert_null(submission.id.data);
    assert_string_equal(fault.text, expected);
}

static void test_id_moves_beside_the_job(void **state)
{
    (void)state;
    assert_payload("{\"id\":\"a1\",\"kind\":\"rubric\",\"case\":{\"x\":0.1}}", NULL,
                   "{\"type\":\"submit\",\"id\":\"a1\",\"job\":{\"kind\":\"rubric\",\"case\":"
                   "{\"x\":0.1}}}");
}

static void test_missing_id_is_the_place(void **state)
{
    (void)state;
    assert_payload(" {\"kind\":\"rubric\"}\r", NULL,
                   "{\"type\":\"submit\",\"id\":\"jobs.jsonl:7\",\"job\":{\"kind\":\"rubric\"}}");
}

static void test_bench_root_fills_what_is_left_out(void **state)
{
    (void)state;
    assert_payload("{\"id\":\"a\",\"kind\":\"rubric\"}", "/bench",
                   "{\"type\":\"submit\",\"id\":\"a\",\"job\":{\"kind\":\"rubric\","
                   "\"bench_root\":\"/bench\"}}");
    assert_payload("{\"id\":\"a\",\"kind\":\"rubric\",\"bench_root\":null}", "/bench",
                   "{\"type\":\"submit\",\"id\":\"a\",\"job\":{\"kind\":\"rubric\","
                   "\"bench_root\":\"/bench\"}}");
    /* A bench_root in the line stays, right or wrong; other kinds have none. */
    assert_payload("{\"id\":\"a\",\"kind\":\"rubric\",\"bench_root\":\"relative\"}", "/bench",
                   "{\"type\":\"submit\",\"id\":\"a\",\"job\":{\"kind\":\"rubric\","
                   "\"bench_root\":\"relative\"}}");
    assert_payload("{\"id\":\"a\",\"kind\":\"sandbox\"}", "/bench",
                   "{\"type\":\"submit\",\"id\":\"a\",\"job\":{\"kind\":\"sandbox\"}}");
    assert_payload("{\"id\":\"a\",\"kind\":3}", "/bench",
                   "{\"type\":\"submit\",\"id\":\"a\",\"job\":{\"kind\":3}}");
    assert_payload("{\"id\":\"a\"}", "/bench", "{\"type\":\"submit\",\"id\":\"a\",\"job\":{}}");
}

static void test_values_survive(void **state)
{
    (void)state;
    assert_payload("{\"id\":\"e\\u0000\xC3\xA4\",\"v\":[1.0,1e300,0.1,-0.0,9007199254740993,"
                   "\"\\u0000\\ud83d\\ude00\"]}",
                   NULL,
                   "{\"type\":\"submit\",\"id\":\"e\\u0000\xC3\xA4\",\"job\":{\"v\":[1.0,"
                   "1e300,0.1,-0.0,9007199254740993,"
                   "\"\\u0000\xF0\x9F\x98\x80\"]}}");
}

static void test_refused(void **state)
{
    static const struct {
        const char *line;
        int error;
        const char *fault;
    } cases[] = {
        {"[1]", -EINVAL, "expected an object, got an array"},
        {"3", -EINVAL, "expected an object, got a number"},
        {"{\"id\":7}", -EINVAL, "id: expected a string, got a number"},
        {"{\"id\":null}", -EINVAL, "id: expected a string, got null"},
        {"{\"id\":\"\"}", -EINVAL, "id: expected 1 to 128 bytes, got 0"},
        {"{\"a\":1} x", -EBADMSG, "not JSON: column 9: end of file expected near 'x'"},
        {"{\"a\":1,\"a\":2}", -EBADMSG, "not JSON: column 10: duplicate object key near '\"a\"'"},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
        assert_refused(cases[i].line, strlen(cases[i].line), cases[i].error, cases[i].fault);
}

static void test_id_length(void **state)
{
    char line[256];
    char id[130];
    (void)state;
    memset(id, 'i', 129);
    id[129] = '\0';
    (void)snprintf(line, sizeof(line), "{\"id\":\"%s\"}", id);
    assert_refused(line, strlen(line), -EINVAL, "id: expected 1 to 128 bytes, got 129");

    struct submission submission = SUBMISSION_NULL;
    id[128] = '\0';
    (void)snprintf(line, sizeof(line), "{\"id\":\"%s\"}", id);
    assert_int_equal(make(line, strlen(line), NULL, &submission, NULL), 0);
    assert_int_equal(submission.id.length, 128);
    submission_deinit(&submission);
}

/* Makes a line of DEPTH levels. The daemon reads 200, and the message itself is one of them. */
static size_t nest(char *line, size_t depth)
{
    size_t n = (size_t)sprintf(line, "{\"id\":\"d\",\"a\":");
    memset(line + n, '[', depth - 1);
    n += depth - 1;
    memset(line + n, ']', depth - 1);
    n += depth - 1;
    line[n++] = '}';
    line[n] = '\0';
    return n;
}

static void test_depth(void **state)
{
    char line[1024];
    (void)state;
    size_t n = nest(line, JSON_DEPTH_MAX);
    assert_refused(line, n, -EINVAL, "nested deeper than 199 levels");

    struct submission submission = SUBMISSION_NULL;
    json_t *read_back = NULL;
    n = nest(line, JSON_DEPTH_MAX - 1);
    assert_int_equal(make(line, n, NULL, &submission, NULL), 0);
    assert_int_equal(
        json_read_object(submission.payload.data, submission.payload.length, &read_back, NULL), 0);
    json_decref(read_back);
    submission_deinit(&submission);
}

static void test_too_large(void **state)
{
    char line[MAX_FRAME + 64];
    (void)state;
    const size_t around = strlen("{\"type\":\"submit\",\"id\":\"a\",\"job\":{\"x\":\"\"}}");
    for (int over = 0; over < 2; over++) {
        struct submission submission = SUBMISSION_NULL;
        struct fault fault = FAULT_NULL;
        size_t fill = MAX_FRAME - around + (size_t)over;
        int n = snprintf(line, sizeof(line), "{\"id\":\"a\",\"x\":\"%0*d\"}", (int)fill, 0);
        int r = make(line, (size_t)n, NULL, &submission, &fault);
        assert_int_equal(r, over ? -EMSGSIZE : 0);
        assert_string_equal(fault.text,
                            over ? "too large: 4097 bytes; the daemon takes at most 4096" : "");
        submission_deinit(&submission);
    }
}

static void test_blank(void **state)
{
    (void)state;
    assert_true(jobline_blank("", 0));
    assert_true(jobline_blank(" \t\r", 3));
    assert_false(jobline_blank(" {", 2));
    assert_false(jobline_blank("\0", 1));
}

static void assert_default_id(const char *name, uint64_t line, const char *expected)
{
    _cleanup_bytes_ struct bytes id = BYTES_NULL;
    assert_int_equal(jobline_default_id(name, line, &id), 0);
    assert_string_equal(id.data, expected);
    assert_int_equal(id.length, strlen(expected));
}

static void test_default_id(void **state)
{
    (void)state;
    assert_default_id("dir/a.jsonl", 12, "dir/a.jsonl:12");
    assert_default_id("a\xFF", 1, "a\xEF\xBF\xBD:1");

    /* 128 bytes: the name loses whole characters at its beginning. */
    char name[300];
    char expected[200];
    memset(name, 'n', 200);
    name[200] = '\0';
    (void)snprintf(expected, sizeof(expected), "%.*s:5", 126, name);
    assert_default_id(name, 5, expected);

    for (size_t i = 0; i < 200; i += 2)
        memcpy(name + i, "\xC3\xA4", 2);
    (void)snprintf(expected, sizeof(expected), "%.*s:10", 2 * 62, name);
    assert_default_id(name, 10, expected);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_id_moves_beside_the_job),
        cmocka_unit_test(test_missing_id_is_the_place),
        cmocka_unit_test(test_bench_root_fills_what_is_left_out),
        cmocka_unit_test(test_values_survive),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_id_length),
        cmocka_unit_test(test_depth),
        cmocka_unit_test(test_too_large),
        cmocka_unit_test(test_blank),
        cmocka_unit_test(test_default_id),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
