/* SPDX-License-Identifier: MIT */
/* Fuzz target: what is written about a job from inside its jail or beside its rubric: a BenchScore,
 * task_class.json, and the report of a code_exec job's checker.
 *
 * The input is what the rubric (or the checker) wrote to stdout, then a NUL, then task_class.json.
 * Holds for any bytes: an accepted score is in its bounds and in the lists, and is the same when it
 * is printed and decoded again; any other is a score of 0 that says why; a verdict of pass takes a
 * report in which every assertion passed; what goes into a reply is what its schema says. */
#include "tests/fuzz/fuzz.h"

#include "daemon/kinds/code_exec_report.h"
#include "daemon/kinds/score.h"

#include <math.h>
#include <string.h>

#define ASSERTIONS 3 /* of the code_exec job */

static const struct outcome ended_well = {.success = true,
                                          .exit_code = 0,
                                          .limit = LIMIT_NONE,
                                          .summary = (char *)(uintptr_t) "ended well"};

/* --- scores ---------------------------------------------------------------------------------- */

static void print(const struct bench_score *score, struct bytes *ret)
{
    struct printer printer = PRINTER_NULL;
    bench_score_print(score, &printer);
    CHECK(printer_finish(&printer, ret) == 0);
}

static void check_round_trip(const struct bench_score *score)
{
    _cleanup_bench_score_ struct bench_score decoded = BENCH_SCORE_NULL;
    _cleanup_bytes_ struct bytes text = BYTES_NULL, again = BYTES_NULL;
    _cleanup_json_ json_t *object = NULL;
    struct fault fault = FAULT_NULL;
    print(score, &text);
    CHECK(json_read_object(text.data, text.length, &object, &fault) == 0);
    CHECK(bench_score_decode(object, &decoded, &fault) == 0);
    CHECK(decoded.passed == score->passed && decoded.score == score->score &&
          decoded.cost_usd == score->cost_usd);
    CHECK(json_equal(decoded.breakdown, score->breakdown));
    CHECK(json_equal(decoded.failure_modes, score->failure_modes));
    print(&decoded, &again);
    CHECK(text.length == again.length && memcmp(text.data, again.data, text.length) == 0);
}

/* Returns the code of failure mode I. */
static const json_t *code_of(const struct bench_score *score, size_t i)
{
    const json_t *mode = json_array_get(score->failure_modes, i);
    const json_t *code = json_object_get(mode, "code");
    CHECK(json_is_string(code) && json_is_string(json_object_get(mode, "severity")));
    return code;
}

static void check_lists(const struct bench_score *score, const struct task_class *lists)
{
    for (void *i = json_object_iter(score->breakdown); i && lists->breakdown_keys;
         i = json_object_iter_next(score->breakdown, i))
        CHECK(json_object_get(lists->breakdown_keys, json_object_iter_key(i)));
    for (size_t i = 0; lists->failure_modes && i < json_array_size(score->failure_modes); i++)
        CHECK(json_object_getn(lists->failure_modes, json_string_value(code_of(score, i)),
                               json_string_length(code_of(score, i))));
}

/* SCORE was made by the daemon, to say what is wrong. */
static void check_block(const struct bench_score *score, const char *prefix)
{
    CHECK(!score->passed && score->score >= 0 && score->score < 1);
    CHECK(json_array_size(score->failure_modes) == 1);
    CHECK(strncmp(json_string_value(code_of(score, 0)), prefix, strlen(prefix)) == 0);
    const json_t *detail = json_object_get(json_array_get(score->failure_modes, 0), "detail");
    CHECK(json_is_string(detail) && json_string_length(detail) > 0);
}

static void check_rubric(const struct bytes *out, const struct task_class *lists)
{
    _cleanup_bench_score_ struct bench_score score = BENCH_SCORE_NULL;
    const struct bytes err = BYTES_NULL;
    const struct score_input input = {
        .outcome = &ended_well, .out = out, .err = &err, .task_class = lists};
    bool accepted;
    CHECK(score_rubric(&input, &score, &accepted) == 0);
    CHECK(score.score >= 0 && score.score <= 1 && isfinite(score.cost_usd) && score.cost_usd >= 0);
    check_round_trip(&score);
    if (!accepted)
        check_block(&score, "rubric.");
    else if (lists)
        check_lists(&score, lists);
}

/* --- task classes ---------------------------------------------------------------------------- */

static struct task_class *read_task_class(const char *text, size_t n)
{
    struct task_class *lists = NULL;
    struct fault fault = FAULT_NULL;
    int r = task_class_decode(text, n, &lists, &fault);
    CHECK(r == 0 ? lists && !*fault.text
                 : !lists && (r == -EINVAL || r == -EBADMSG) && *fault.text);
    CHECK(!lists || !lists->breakdown_keys || json_is_object(lists->breakdown_keys));
    CHECK(!lists || !lists->failure_modes || json_is_object(lists->failure_modes));
    return lists;
}

/* --- the checker's report -------------------------------------------------------------------- */

static void check_assertions(const struct code_exec_report *report)
{
    size_t count = json_array_size(report->assertions), passed = 0;
    CHECK(json_is_array(report->assertions) && count <= ASSERTIONS);
    for (size_t i = 0; i < count; i++) {
        const json_t *assertion = json_array_get(report->assertions, i);
        const json_t *detail = json_object_get(assertion, "detail");
        CHECK(json_is_boolean(json_object_get(assertion, "passed")));
        CHECK(!detail || json_string_length(detail) <= REPLY_ASSERTION_DETAIL_MAX);
        passed += json_is_true(json_object_get(assertion, "passed"));
    }
    if (report->verdict && strcmp(report->verdict, "pass") == 0)
        CHECK(passed == ASSERTIONS);
}

static void check_transcript(const json_t *transcript)
{
    if (!transcript)
        return;
    const char *member =
        json_is_true(json_object_get(transcript, "replayable")) ? "data" : "reason";
    CHECK(json_is_string(json_object_get(transcript, member)));
    CHECK(json_object_size(transcript) == 2);
}

static void check_report(const struct bytes *out)
{
    _cleanup_code_exec_report_ struct code_exec_report report = CODE_EXEC_REPORT_NULL;
    _cleanup_bench_score_ struct bench_score score = BENCH_SCORE_NULL;
    CHECK(code_exec_report_judge(out, ASSERTIONS, &ended_well, &report, &score) == 0);
    check_assertions(&report);
    check_transcript(report.transcript);
    CHECK(!report.verdict == (report.broken != NULL));
    if (!report.verdict)
        return;
    check_round_trip(&score);
    if (strcmp(report.verdict, "pass") == 0)
        CHECK(score.passed && score.score == 1);
    else
        check_block(&score, "code_exec.");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *nul = size > 0 ? memchr(data, '\0', size) : NULL;
    size_t length = nul ? (size_t)(nul - data) : size;
    _cleanup_bytes_ struct bytes out = BYTES_NULL;
    CHECK(bytes_copy(length > 0 ? (const char *)data : "", length, &out) == 0);
    struct task_class *lists =
        nul ? read_task_class((const char *)nul + 1, size - length - 1) : NULL;
    check_rubric(&out, lists);
    check_report(&out);
    task_class_unref(lists);
    return 0;
}
