/* SPDX-License-Identifier: MIT */
#include "client/report/line.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

/* Decodes TEXT; *RET_OBJECT is what the line points into. */
static struct line decode(const char *text, json_t **ret_object)
{
    struct line line;
    struct fault fault = FAULT_NULL;
    assert_int_equal(json_read_object(text, strlen(text), ret_object, &fault), 0);
    assert_int_equal(line_decode(*ret_object, &line, &fault), 0);
    return line;
}

static void refuse(const char *text, const char *expected)
{
    _cleanup_json_ json_t *object = NULL;
    struct line line;
    struct fault fault = FAULT_NULL;
    assert_int_equal(json_read_object(text, strlen(text), &object, &fault), 0);
    assert_int_equal(line_decode(object, &line, &fault), -EINVAL);
    assert_string_equal(fault.text, expected);
}

static void test_result(void **state)
{
    _cleanup_json_ json_t *object = NULL;
    (void)state;
    struct line line = decode(
        "{\"type\":\"result\",\"id\":\"a#2\",\"kind\":\"rubric\",\"score\":{\"passed\":false,"
        "\"score\":0.25,\"failure_modes\":[{\"code\":\"x\",\"severity\":\"warn\"}],"
        "\"cost_usd\":0.5},\"usage\":{\"wall_clock_ms\":12,\"queue_ms\":3},"
        "\"isolation\":{\"class\":\"subprocess\"},\"run\":{\"case_id\":\"a\",\"sample\":2,"
        "\"task_class\":\"t\",\"attempts\":2,\"earlier\":[{\"why\":\"starved\",\"answer\":"
        "{\"score\":{\"cost_usd\":0.125}}}]}}",
        &object);
    assert_int_equal(line.state, LINE_FAILED);
    assert_string_equal(line.id, "a");
    assert_int_equal(line.sample, 2);
    assert_false(line.is_unnumbered);
    assert_string_equal(line.task_class, "t");
    assert_true(line.score == 0.25 && line.cost_usd == 0.5 && line.cost_of_earlier == 0.125);
    assert_int_equal(line.attempts, 2);
    assert_int_equal(line.wall_ms, 12);
    assert_int_equal(line.queue_ms, 3);
    assert_int_equal(json_array_size(line.failure_modes), 1);
    assert_non_null(line.isolation);
}

static void test_without_run(void **state)
{
    _cleanup_json_ json_t *object = NULL;
    (void)state;
    struct line line = decode("{\"type\":\"result\",\"id\":\"a\",\"kind\":\"sandbox\","
                              "\"score\":null,\"reason\":\"no_code\"}",
                              &object);
    assert_int_equal(line.state, LINE_FAILED);
    assert_true(isnan(line.score));
    assert_string_equal(line.reason, "no_code");
    assert_string_equal(line.task_class, "sandbox");
    assert_int_equal(line.wall_ms, LINE_MS_UNKNOWN);
    assert_false(line.is_unnumbered);
}

static void test_error(void **state)
{
    _cleanup_json_ json_t *object = NULL;
    (void)state;
    struct line line = decode("{\"type\":\"error\",\"id\":\"a\",\"code\":\"internal\","
                              "\"message\":\"m\",\"retriable\":true}",
                              &object);
    assert_int_equal(line.state, LINE_ERROR);
    assert_true(isnan(line.score));
    assert_string_equal(line.code, "internal");
    assert_null(line.task_class);
}

static void test_samples(void **state)
{
    _cleanup_json_ json_t *passed = NULL, *failed = NULL, *none = NULL;
    (void)state;
    struct line line = decode("{\"task_id\":7,\"passed\":true,\"result\":\"passed\"}", &passed);
    assert_int_equal(line.state, LINE_PASSED);
    assert_int_equal(line.id_length, 1);
    assert_true(line.score == 1 && line.is_unnumbered);
    assert_string_equal(line.task_class, "code_exec");
    line = decode("{\"task_id\":\"H/1\",\"sample\":3,\"passed\":false,\"verdict\":\"timeout\","
                  "\"result\":\"timeout: the wall clock has expired\",\"score\":0.5,"
                  /* A sample's own usage is not the usage of its job. */
                  "\"usage\":{\"wall_clock_ms\":1},\"mode\":\"shared\","
                  "\"run\":{\"usage\":{\"wall_clock_ms\":7},\"isolation\":{},"
                  "\"mode\":\"isolated\"}}",
                  &failed);
    assert_int_equal(line.wall_ms, 7);
    assert_non_null(line.isolation);
    assert_false(line.shared);
    assert_string_equal(line.id, "H/1");
    assert_int_equal(line.sample, 3);
    assert_false(line.is_unnumbered);
    assert_string_equal(line.reason, "timeout");
    assert_string_equal(line.detail, "the wall clock has expired");
    assert_true(line.score == 0.5);
    line = decode("{\"task_id\":\"H/1\",\"passed\":null,\"result\":\"not graded: internal: x\"}",
                  &none);
    assert_int_equal(line.state, LINE_ERROR);
    assert_string_equal(line.message, "internal: x");
}

static void test_notes(void **state)
{
    _cleanup_json_ json_t *object = NULL;
    (void)state;
    assert_int_equal(decode("{\"type\":\"bye\",\"reason\":\"draining\"}", &object).state,
                     LINE_NOTE);
}

static void test_refused(void **state)
{
    (void)state;
    refuse("{}", "not a result: it has neither `type` nor `passed`");
    refuse("{\"type\":1}", "type: expected a string, got a number");
    refuse("{\"type\":\"result\",\"id\":\"a\"}", "score: expected an object, got nothing");
    refuse("{\"type\":\"result\",\"id\":\"a\",\"score\":null}",
           "score: expected an object, got null");
    refuse("{\"type\":\"result\",\"id\":\"a\",\"score\":{\"passed\":1}}",
           "score.passed: expected a boolean, got a number");
    refuse("{\"type\":\"result\",\"id\":\"a\",\"score\":{\"passed\":true,\"score\":1.5}}",
           "score.score: 1.5 is out of range");
    refuse("{\"type\":\"result\",\"id\":\"a\",\"score\":{\"passed\":true,\"cost_usd\":-1}}",
           "score.cost_usd: -1 is out of range");
    refuse("{\"type\":\"result\",\"id\":\"a\",\"score\":{\"passed\":true,\"score\":\"1\"}}",
           "score.score: expected a number, got a string");
    refuse("{\"type\":\"result\",\"id\":\"a\",\"score\":{\"passed\":true,\"failure_modes\":[1]}}",
           "score.failure_modes[0].code: expected a string");
    refuse("{\"type\":\"result\",\"id\":\"\",\"score\":{\"passed\":true}}",
           "id: expected a string, got an empty one");
    refuse("{\"type\":\"result\",\"score\":{\"passed\":true}}",
           "id: expected a string, got nothing");
    refuse("{\"passed\":true}", "task_id: expected a string, got nothing");
    refuse("{\"type\":\"error\",\"id\":\"a\"}", "code: expected a string");
    refuse("{\"task_id\":1,\"passed\":0}", "passed: expected a boolean, got a number");
    refuse("{\"task_id\":1,\"passed\":true,\"run\":[]}", "run: expected an object, got an array");
    refuse("{\"type\":\"error\",\"id\":\"a\",\"code\":\"x\",\"run\":{\"sample\":-1}}",
           "run.sample: expected a whole number from 0 on");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_result), cmocka_unit_test(test_without_run),
        cmocka_unit_test(test_error),  cmocka_unit_test(test_samples),
        cmocka_unit_test(test_notes),  cmocka_unit_test(test_refused),
    };
    return cmocka_run_group_tests_name("report_line", tests, NULL, NULL);
}
