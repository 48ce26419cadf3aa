/* SPDX-License-Identifier: MIT */
#include "client/batch/summary.h"
#include "client/cli/exitstatus.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static void add_result(struct summary *summary, bool passed, double score, double cost,
                       const char *modes)
{
    _cleanup_json_ json_t *failure_modes = modes ? json_loads(modes, 0, NULL) : NULL;
    const struct score_parts parts = {
        .passed = passed,
        .score = score,
        .cost_usd = cost,
        .failure_modes = failure_modes,
    };
    summary_add_result(summary, &parts);
}

static void add_without_score(struct summary *summary, const char *reason)
{
    const struct score_parts parts = {.score = NAN, .reason = reason};
    summary_add_result(summary, &parts);
}

static void assert_text(const struct summary *summary, int64_t wall_ms, uint64_t unanswered,
                        const char *expected)
{
    const struct summary_run run = {
        .wall_ms = wall_ms,
        .answered = summary_answered(summary),
        .unanswered = unanswered,
    };
    _cleanup_free_ char *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);
    assert_non_null(out);
    summary_put(out, summary, &run);
    (void)fclose(out);
    assert_string_equal(text, expected);
}

static void assert_problems(const struct summary *summary, const char *expected)
{
    _cleanup_free_ char *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);
    assert_non_null(out);
    summary_put_problems(out, summary);
    (void)fclose(out);
    assert_string_equal(text, expected);
}

static void test_nothing(void **state)
{
    _cleanup_summary_ struct summary summary = SUMMARY_NULL;
    (void)state;
    assert_int_equal(summary_init(&summary), 0);
    assert_text(&summary, 0, 0, "no job was graded\n");
    summary.unusable = 1;
    assert_text(&summary, 0, 2,
                "no job was graded\n"
                "2 jobs are unanswered\n"
                "1 input line could not be used (named above)\n");
}

static void test_without_score(void **state)
{
    _cleanup_summary_ struct summary summary = SUMMARY_NULL;
    (void)state;
    assert_int_equal(summary_init(&summary), 0);
    add_result(&summary, true, 1, 0, "[]");
    add_without_score(&summary, "no_code");
    add_without_score(&summary, "no_code");
    assert_text(&summary, 1000, 0,
                "3 jobs: 1 passed, 2 failed, 0 errors\n"
                "mean score 1.0000 over 1 verdict, cost $0.0000\n"
                "took 1.0 s, 3.0 jobs/s\n"
                "failure modes:\n"
                "       2  no_code\n");
}

static void test_one(void **state)
{
    _cleanup_summary_ struct summary summary = SUMMARY_NULL;
    (void)state;
    assert_int_equal(summary_init(&summary), 0);
    add_result(&summary, true, 1, 0, "[]");
    assert_text(&summary, 0, 0,
                "1 job: 1 passed, 0 failed, 0 errors\n"
                "mean score 1.0000 over 1 verdict, cost $0.0000\n"
                "took 0 ms, 1000.0 jobs/s\n");
}

/* A crash is told apart from a wrong answer; only the first is shown in the head. */
static void test_crashes(void **state)
{
    static const char *const heads[] = {
        "1 job: 0 passed, 1 failed, 0 errors\n"
        "1 of the failed: the rubric crashed, so the score of 0 says nothing of the answer\n"
        "          a: KeyError: 'x'\n"
        "mean score 0.0000 over 1 verdict, cost $0.0000\n"
        "took 1.0 s, 1.0 jobs/s\n",
        "2 jobs: 0 passed, 2 failed, 0 errors\n"
        "2 of the failed: the rubric crashed, so the score of 0 says nothing of the answers\n"
        "          a: KeyError: 'x' (the first)\n"
        "mean score 0.0000 over 2 verdicts, cost $0.0000\n"
        "took 1.0 s, 2.0 jobs/s\n",
    };
    _cleanup_summary_ struct summary summary = SUMMARY_NULL;
    (void)state;
    assert_int_equal(summary_init(&summary), 0);
    for (size_t i = 0; i < ARRAY_SIZE(heads); i++) {
        add_result(&summary, false, 0, 0, "[]");
        summary_add_crash(&summary, i == 0 ? "a" : NULL, i == 0 ? "KeyError: 'x'" : "other");
        assert_text(&summary, 1000, 0, heads[i]);
    }
}

static void test_many(void **state)
{
    _cleanup_summary_ struct summary summary = SUMMARY_NULL;
    (void)state;
    assert_int_equal(summary_init(&summary), 0);
    add_result(&summary, true, 1, 0.01, NULL);
    add_result(&summary, true, 0.5, 0.02,
               "[{\"code\":\"b\",\"severity\":\"warn\"},{\"code\":\"a\",\"severity\":\"block\"}]");
    add_result(&summary, false, 0, 0, "[{\"code\":\"c\",\"severity\":\"block\"}]");
    add_result(&summary, false, NAN, 0, "[{\"code\":\"c\",\"severity\":\"block\"}]");
    summary_add_error(&summary, "cancelled", "a", NULL);
    summary_add_error(&summary, "draining", "b", "it \x1b[31mstops\n");
    summary_add_error(&summary, "draining", "c", "again");
    summary_add_error(&summary, "draining", "d", "again");
    assert_int_equal(summary_answered(&summary), 8);
    assert_text(&summary, 2000, 1,
                "8 jobs: 2 passed, 2 failed, 4 errors\n"
                "mean score 0.5000 over 3 verdicts, cost $0.0300\n"
                "took 2.0 s, 4.0 jobs/s\n"
                "failure modes:\n"
                "       2  c\n"
                "       1  a\n"
                "       1  b (warn)\n"
                "errors (these jobs have no verdict):\n"
                "       3  draining\n"
                "          b: it \\x1b[31mstops\\n\n"
                "          c: again\n"
                "       1  cancelled\n"
                "1 job is unanswered\n");
}

/* Rubrics choose the codes: any number of them, with any text. */
static void test_codes_are_bounded(void **state)
{
    _cleanup_summary_ struct summary summary = SUMMARY_NULL;
    char code[32];
    (void)state;
    assert_int_equal(summary_init(&summary), 0);
    for (int i = 0; i < 5000; i++) {
        (void)snprintf(code, sizeof(code), "code-%d", i);
        summary_add_error(&summary, code, NULL, code);
    }
    assert_int_equal(json_object_size(summary.error_codes), SUMMARY_CODES_MAX + 1);

    const struct summary_run run = {.wall_ms = 1000};
    _cleanup_free_ char *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);
    summary_put(out, &summary, &run);
    (void)fclose(out);
    assert_non_null(strstr(text, "    4800  (others)\n          code-200\n          code-201\n"));
    assert_non_null(strstr(text, "          code-209\n          further messages are in the "
                                 "results\n       1  code-0\n"));
    assert_non_null(strstr(text, "          and 181 more\n"));
}

static void test_problems_alone(void **state)
{
    _cleanup_summary_ struct summary summary = SUMMARY_NULL;
    (void)state;
    assert_int_equal(summary_init(&summary), 0);
    assert_problems(&summary, "");
    add_result(&summary, true, 1, 0, "[]");
    add_result(&summary, false, 0, 0, "[{\"code\":\"wrong\",\"severity\":\"block\"}]");
    summary.unusable = 1;
    assert_problems(&summary, "");
    summary_add_crash(&summary, "a", "no output");
    summary_add_error(&summary, "bad_request", "b", "unknown field \"cse\"");
    assert_problems(
        &summary,
        "1 of the failed: the rubric crashed, so the score of 0 says nothing of the answer\n"
        "          a: no output\n"
        "errors (these jobs have no verdict):\n"
        "       1  bad_request\n"
        "          b: unknown field \"cse\"\n");
}

static void test_control_characters_are_shown(void **state)
{
    _cleanup_summary_ struct summary summary = SUMMARY_NULL;
    (void)state;
    assert_int_equal(summary_init(&summary), 0);
    add_result(&summary, false, 0, 0,
               "[{\"code\":\"x\\u001b[31m\\n\",\"severity\":\"block\"},{\"code\":\"\","
               "\"severity\":\"block\"}]");
    assert_text(&summary, 1000, 0,
                "1 job: 0 passed, 1 failed, 0 errors\n"
                "mean score 0.0000 over 1 verdict, cost $0.0000\n"
                "took 1.0 s, 1.0 jobs/s\n"
                "failure modes:\n"
                "       1  \n"
                "       1  x\\x1b[31m\\n\n");
}

static void test_exit_status(void **state)
{
    (void)state;
    struct ending ending = {.failed = false};
    assert_int_equal(ending_status(&ending, false), 0);
    ending.failed = true;
    assert_int_equal(ending_status(&ending, false), 1);
    assert_int_equal(ending_status(&ending, true), 0);
    ending.errors = true;
    assert_int_equal(ending_status(&ending, true), 4);
    ending.bad_input = true;
    assert_int_equal(ending_status(&ending, true), 2);
    ending.lost = true;
    assert_int_equal(ending_status(&ending, true), 3);
    ending.interrupted = true;
    assert_int_equal(ending_status(&ending, true), 130);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nothing),
        cmocka_unit_test(test_without_score),
        cmocka_unit_test(test_one),
        cmocka_unit_test(test_crashes),
        cmocka_unit_test(test_many),
        cmocka_unit_test(test_codes_are_bounded),
        cmocka_unit_test(test_problems_alone),
        cmocka_unit_test(test_control_characters_are_shown),
        cmocka_unit_test(test_exit_status),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
