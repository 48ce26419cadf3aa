/* SPDX-License-Identifier: MIT */
/* Tests the verdict on model-written code: which parts of the checker's report count, and when the
 * outcome of its process overrules the report. */
#include "daemon/kinds/code_exec_report.h"
#include "tests/unit/score_json.h"

#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define T "{'passed':true}\n"
#define F "{'passed':false,'detail':'no'}\n"
#define PASS "{'verdict':'pass','detail':''}\n"
#define FAIL "{'verdict':'assertion_fail','detail':''}\n"
#define UNREADABLE "the checker's report cannot be read"

/* Replaces single quotes by double ones, which makes TEXT JSON. */
static void to_json(char *text, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (text[i] == '\'')
            text[i] = '"';
}

/* Returns captured output: NULL without any, otherwise an allocation of the exact size. */
static struct bytes captured(const char *text, size_t n)
{
    struct bytes bytes = BYTES_NULL;
    if (n > 0) {
        bytes = (struct bytes){.data = malloc(n), .length = n};
        assert_non_null(bytes.data);
        memcpy(bytes.data, text, n);
        to_json(bytes.data, n);
    }
    return bytes;
}

static struct outcome ended(int code, int signal, enum limit limit, const char *summary)
{
    return (struct outcome){
        .success = code == 0 && signal == 0 && limit == LIMIT_NONE,
        .exit_code = signal ? -1 : code,
        .signal = signal,
        .limit = limit,
        .summary = (char *)(uintptr_t)summary,
    };
}

static struct outcome ended_well(void)
{
    return ended(0, 0, LIMIT_NONE, "ok");
}

/* --- expectations ------------------------------------------------------------------------- */

struct expected {
    const char *verdict, *detail; /* DETAIL does not matter if VERDICT is "pass" */
    double score;
    const char *assertions; /* "10": the first passed, the second did not */
};

static void expect_assertions(const json_t *assertions, const char *expected)
{
    assert_int_equal(json_array_size(assertions), strlen(expected));
    for (size_t i = 0; expected[i]; i++) {
        const json_t *passed = json_object_get(json_array_get(assertions, i), "passed");
        assert_true(json_is_boolean(passed));
        assert_int_equal(json_is_true(passed), expected[i] == '1');
    }
}

static void expect_score(const struct bench_score *got, const struct expected *expected)
{
    bool passed = strcmp(expected->verdict, "pass") == 0;
    char code[80];
    (void)snprintf(code, sizeof(code), "code_exec.%s", expected->verdict);
    json_t *score = score_to_json(got);
    json_t *mode = passed ? NULL
                          : json_pack("{s:s,s:s,s:s}", "code", code, "severity", "block", "detail",
                                      expected->detail);
    json_t *wanted = json_pack("{s:b,s:n,s:{},s:o,s:n,s:i}", "passed", passed, "score", "breakdown",
                               "failure_modes", passed ? json_array() : json_pack("[o]", mode),
                               "cost_usd", "wall_clock_ms", 1);
    assert_non_null(wanted);
    /* Numbers are compared by value. */
    assert_true(fabs(got->score - expected->score) < 1e-12);
    assert_true(got->cost_usd == 0);
    assert_int_equal(json_object_set_new(score, "score", json_null()), 0);
    assert_int_equal(json_object_set_new(score, "cost_usd", json_null()), 0);
    if (!json_equal(score, wanted))
        fail_msg("got %s", json_dumps(score, 0));
    json_decref(score);
    json_decref(wanted);
}

static void check_bytes(const char *text, size_t n, size_t total, struct outcome outcome,
                        const struct expected *expected)
{
    _cleanup_bytes_ struct bytes out = captured(text, n);
    _cleanup_code_exec_report_ struct code_exec_report report = CODE_EXEC_REPORT_NULL;
    _cleanup_bench_score_ struct bench_score score = BENCH_SCORE_NULL;
    assert_int_equal(code_exec_report_judge(&out, total, &outcome, &report, &score), 0);
    assert_null(report.broken);
    assert_non_null(report.verdict);
    if (strcmp(report.verdict, expected->verdict) != 0)
        fail_msg("%.*s: %s, expected %s", (int)MIN(n, (size_t)500), text, report.verdict,
                 expected->verdict);
    expect_assertions(report.assertions, expected->assertions);
    expect_score(&score, expected);
}

static void check_outcome(const char *text, size_t total, struct outcome outcome,
                          struct expected expected)
{
    check_bytes(text, strlen(text), total, outcome, &expected);
}

static void check(const char *text, size_t total, const char *verdict, const char *detail,
                  double score, const char *assertions)
{
    check_outcome(text, total, ended_well(), (struct expected){verdict, detail, score, assertions});
}

/* --- verdicts of valid reports ------------------------------------------------------------ */

static void test_pass(void **state)
{
    (void)state;
    check(T PASS, 1, "pass", NULL, 1, "1");
    check(T T T PASS, 3, "pass", NULL, 1, "111");
    /* A "pass" ignores its detail, which may be missing. */
    check(T "{'verdict':'pass','detail':'why'}\n", 1, "pass", NULL, 1, "1");
    check(T "{'verdict':'pass'}\n", 1, "pass", NULL, 1, "1");
}

static void test_assertion_fail(void **state)
{
    (void)state;
    check(F FAIL, 1, "assertion_fail", "no", 0, "0");
    check(T F T T FAIL, 4, "assertion_fail", "no (3 of 4 assertions passed)", 0.75, "1011");
    check(T F "{'verdict':'assertion_fail'}\n", 2, "assertion_fail",
          "no (1 of 2 assertions passed)", 0.5, "10");
    /* The detail is that of the first failed assertion that has one. */
    check("{'passed':false}\n" F F FAIL, 3, "assertion_fail", "no (0 of 3 assertions passed)", 0,
          "000");
    check(F T "{'verdict':'assertion_fail','detail':'given'}\n", 2, "assertion_fail", "given", 0.5,
          "01");
    /* A detail that is not a string is ignored. */
    check(F "{'verdict':'assertion_fail','detail':7}\n", 1, "assertion_fail", "no", 0, "0");
}

#define REVISE(n) "{'revised':" #n ",'detail':'later'}\n"

/* The checker may take back that an assertion passed, and nothing else. */
static void test_revised(void **state)
{
    (void)state;
    static const char fail[] = T T REVISE(1) FAIL;
    check(fail, 2, "assertion_fail", "later (1 of 2 assertions passed)", 0.5, "10");
    check(T T REVISE(0) REVISE(1) FAIL, 2, "assertion_fail", "later (0 of 2 assertions passed)", 0,
          "00");
    check(T "{'revised':0}\n" FAIL, 1, "assertion_fail", "0 of 1 assertions passed", 0, "0");
    check(T REVISE(0) PASS, 1, "error", UNREADABLE, 0, "0");
    check(T REVISE(1) FAIL, 1, "error", UNREADABLE, 0, "1");
    check(T T REVISE(-1) FAIL, 2, "error", UNREADABLE, 0, "11");
    check(T F REVISE(1) FAIL, 2, "error", UNREADABLE, 0.5, "10");
    check(T T REVISE(1) REVISE(1) FAIL, 2, "error", UNREADABLE, 0.5, "10");
    check(T PASS REVISE(0), 1, "error", UNREADABLE, 0, "1");
}

static void test_syntax_error(void **state)
{
    (void)state;
    static const char line[] = "{'verdict':'syntax_error','detail':'line 1: invalid syntax'}\n";
    check(line, 3, "syntax_error", "line 1: invalid syntax", 0, "");
    check("{'verdict':'syntax_error','detail':''}\n", 2, "syntax_error", "0 of 2 assertions passed",
          0, "");
    /* Code that could not be loaded scores 0, whatever came before. */
    check(T "{'verdict':'syntax_error','detail':'x'}\n", 2, "syntax_error", "x", 0, "1");
}

static void test_error(void **state)
{
    (void)state;
    check("{'verdict':'error','detail':'signal 11'}\n", 2, "error", "signal 11", 0, "");
    check(T "{'verdict':'error','detail':'it is lost'}\n", 4, "error", "it is lost", 0.25, "1");
    check(T F "{'verdict':'error','detail':''}\n", 2, "error", "no (1 of 2 assertions passed)", 0.5,
          "10");
}

static void test_timeout_that_is_reported(void **state)
{
    (void)state;
    check(T "{'verdict':'timeout','detail':'slow'}\n", 2, "timeout", "slow", 0, "1");
    check(T "{'verdict':'timeout'}\n", 2, "timeout", "1 of 2 assertions passed", 0, "1");
}

/* --- the end of the process overrules the report ------------------------------------------ */

static void test_wall_clock(void **state)
{
    (void)state;
    static const struct {
        const char *out, *assertions;
    } cases[] = {
        {"", ""},
        {T, "1"},
        {T F, "10"},
        {T T, "11"},
        {T T PASS, "11"},
        {T F FAIL, "10"},
        {"{'verdict':'syntax_error','detail':'x'}\n", ""},
        {T "{'verdict':'error','detail':'x'}\n", "1"},
        {T "not JSON\n" T, "1"},
        {T T T, "11"},
        {T "{'passed':tr", "1"},
    };
    struct outcome outcome = ended(0, SIGKILL, LIMIT_WALL_CLOCK, "the summary");
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct expected expected = {"timeout", "limit exceeded: wall_clock", 0,
                                    cases[i].assertions};
        check_outcome(cases[i].out, 2, outcome, expected);
    }
}

/* No report makes up for a process that did not end well. */
static void test_bad_end(void **state)
{
    (void)state;
    static const char *const reports[] = {T T PASS, T T FAIL, T T "rubbish\n", T T,
                                          T T "{'verdict':'timeout','detail':'x'}\n"};
    static const char summary[] = "what the supervisor saw";
    for (size_t i = 0; i < ARRAY_SIZE(reports); i++) {
        struct expected expected = {"error", summary, 0, "11"};
        check_outcome(reports[i], 2, ended(3, 0, LIMIT_NONE, summary), expected);
        check_outcome(reports[i], 2, ended(0, SIGSEGV, LIMIT_NONE, summary), expected);
        for (enum limit limit = 0; limit < LIMIT_COUNT; limit++) {
            if (limit == LIMIT_WALL_CLOCK)
                continue;
            expected.detail = limit == LIMIT_OUTPUT ? "limit exceeded: output" : summary;
            check_outcome(reports[i], 2, ended(0, SIGKILL, limit, summary), expected);
            check_outcome(reports[i], 2, ended(0, 0, limit, summary), expected);
        }
    }
    check_outcome(T, 4, ended(0, SIGKILL, LIMIT_OUTPUT, summary),
                  (struct expected){"error", "limit exceeded: output", 0.25, "1"});
    check_outcome("", 4, ended(1, 0, LIMIT_NONE, summary),
                  (struct expected){"error", summary, 0, ""});
    check_outcome("", 4, ended(1, 0, LIMIT_NONE, ""),
                  (struct expected){"error", "0 of 4 assertions passed", 0, ""});
}

/* --- invalid reports ---------------------------------------------------------------------- */

struct forgery {
    const char *out;
    size_t total;
    double score;
    const char *assertions;
};

static void check_forgeries(const struct forgery *cases, size_t n)
{
    for (size_t i = 0; i < n; i++)
        check(cases[i].out, cases[i].total, "error", UNREADABLE, cases[i].score,
              cases[i].assertions);
}

static void test_pass_without_all_assertions(void **state)
{
    (void)state;
    static const struct forgery cases[] = {
        {PASS, 1, 0, ""},
        {T PASS, 2, 0.5, "1"},
        {T T PASS, 3, 2.0 / 3, "11"},
        {F PASS, 1, 0, "0"},
        {T F PASS, 2, 0.5, "10"},
        {F T PASS, 2, 0.5, "01"},
        /* More lines than assertions: any of them may be forged. */
        {T T PASS, 1, 0, "1"},
        {F T PASS, 1, 0, "0"},
        {T F PASS, 1, 0, "1"},
        {T T T T PASS, 2, 0, "11"},
    };
    check_forgeries(cases, ARRAY_SIZE(cases));
}

static void test_other_verdict_though_all_passed(void **state)
{
    (void)state;
    static const struct forgery cases[] = {
        {T FAIL, 1, 0, "1"},
        {T T "{'verdict':'error','detail':'x'}\n", 2, 0, "11"},
        {T T "{'verdict':'syntax_error','detail':'x'}\n", 2, 0, "11"},
        {T "{'verdict':'timeout','detail':'x'}\n", 1, 0, "1"},
    };
    check_forgeries(cases, ARRAY_SIZE(cases));
}

static void test_behind_the_verdict(void **state)
{
    (void)state;
    static const struct forgery cases[] = {
        {PASS T, 1, 0, ""},
        {PASS T T, 2, 0, ""},
        {T PASS T, 2, 0.5, "1"},
        {T PASS PASS, 1, 0, "1"},
        {F FAIL PASS, 1, 0, "0"},
        {T PASS FAIL, 1, 0, "1"},
        {F FAIL FAIL, 1, 0, "0"},
        {T PASS "{}\n", 1, 0, "1"},
        {T PASS "\n", 1, 0, "1"},
        {T PASS "rubbish\n", 1, 0, "1"},
        {T PASS "{'broken':'x'}\n", 1, 0, "1"},
        /* The same for a line without a newline. */
        {T PASS "rubbish", 1, 0, "1"},
        {T PASS " ", 1, 0, "1"},
        {T PASS "{'verdict':'assertion_fail'}", 1, 0, "1"},
        {F FAIL "{'passed':tr", 1, 0, "0"},
    };
    check_forgeries(cases, ARRAY_SIZE(cases));
}

static void test_unknown_verdict(void **state)
{
    (void)state;
    static const struct forgery cases[] = {
        {T "{'verdict':'passed','detail':''}\n", 1, 0, "1"},
        {T "{'verdict':'PASS'}\n", 1, 0, "1"},
        {T "{'verdict':'pass '}\n", 1, 0, "1"},
        {T "{'verdict':'pas'}\n", 1, 0, "1"},
        {T "{'verdict':'pasz'}\n", 1, 0, "1"},
        {T "{'verdict':''}\n", 1, 0, "1"},
        {T "{'verdict':true}\n", 1, 0, "1"},
        {T "{'verdict':null}\n", 1, 0, "1"},
        {T "{'verdict':['pass']}\n", 1, 0, "1"},
        {T "{'verdict':'pass\\u0000'}\n", 1, 0, "1"},
        {T "{'verdict':'pass\\u0000ed'}\n", 1, 0, "1"},
        {F "{'verdict':'error\\u0000'}\n", 1, 0, "0"},
        {T "{'Verdict':'pass'}\n", 1, 0, "1"},
        {T "{'verdict':'pass','verdict':'pass'}\n", 1, 0, "1"},
        {T "{'detail':'pass'}\n", 1, 0, "1"},
        {T "{}\n", 1, 0, "1"},
        /* A line with neither member also ends the report. */
        {"{}\n" T PASS, 1, 0, ""},
    };
    check_forgeries(cases, ARRAY_SIZE(cases));
}

static void test_no_json(void **state)
{
    (void)state;
    static const struct forgery cases[] = {
        {"", 1, 0, ""},
        {"\n", 1, 0, ""},
        {"rubbish\n", 1, 0, ""},
        {"rubbish\n" T PASS, 1, 0, ""},
        {"\n" T PASS, 1, 0, ""},
        {T "\n" PASS, 1, 0, "1"},
        {T "rubbish\n" PASS, 1, 0, "1"},
        {T "true\n" PASS, 1, 0, "1"},
        {T "[]\n" PASS, 1, 0, "1"},
        {T "[{'passed':true}]\n" PASS, 2, 0.5, "1"},
        {T "'pass'\n" PASS, 1, 0, "1"},
        {T "1\n" PASS, 1, 0, "1"},
        {T "null\n" PASS, 1, 0, "1"},
        {"{'passed':true} {'passed':true}\n" PASS, 2, 0, ""},
        {"{'passed':false,'passed':true}\n" PASS, 1, 0, ""},
        {"{'passed':true,'detail':'\xff'}\n" PASS, 1, 0, ""},
        /* Only LF ends a line, and only objects are lines. */
        {"{'passed':true}\r" PASS, 1, 0, ""},
        {"{'passed':\ntrue}\n" PASS, 1, 0, ""},
    };
    check_forgeries(cases, ARRAY_SIZE(cases));
}

static void test_passed_that_is_no_boolean(void **state)
{
    (void)state;
    static const struct forgery cases[] = {
        {"{'passed':1}\n" PASS, 1, 0, ""},        {"{'passed':'true'}\n" PASS, 1, 0, ""},
        {"{'passed':null}\n" PASS, 1, 0, ""},     {"{'passed':[true]}\n" PASS, 1, 0, ""},
        {T "{'passed':1.0}\n" PASS, 2, 0.5, "1"}, {"{'Passed':true}\n" PASS, 1, 0, ""},
    };
    check_forgeries(cases, ARRAY_SIZE(cases));
}

/* The last line has no newline. */
static void test_cut_off(void **state)
{
    (void)state;
    static const struct forgery cases[] = {
        {T "{'verdict':'pass'}", 1, 0, "1"},
        {T "{'verdict':'pa", 1, 0, "1"},
        {F "{'verdict':'assertion_fail'}", 1, 0, "0"},
        {"{'passed':true}", 1, 0, ""},
        {T, 1, 0, "1"},
        {T F, 2, 0.5, "10"},
    };
    check_forgeries(cases, ARRAY_SIZE(cases));
}

static void test_nul(void **state)
{
    (void)state;
    static const char clean[] = T T PASS;
    struct expected pass = {"pass", NULL, 1, "11"};
    check_bytes(clean, sizeof(clean) - 1, 2, ended_well(), &pass);
    /* Replaces each byte, and inserts before each. */
    for (size_t at = 0; at < sizeof(clean); at++) {
        for (size_t added = 0; added < 2; added++) {
            char text[sizeof(clean)];
            memcpy(text, clean, at);
            text[at] = '\0';
            size_t from = at + 1 - added;
            if (from > sizeof(clean) - 1)
                continue;
            memcpy(text + at + 1, clean + from, sizeof(clean) - 1 - from);
            size_t n = at + 1 + sizeof(clean) - 1 - from;
            _cleanup_bytes_ struct bytes out = captured(text, n);
            _cleanup_code_exec_report_ struct code_exec_report report = CODE_EXEC_REPORT_NULL;
            _cleanup_bench_score_ struct bench_score score = BENCH_SCORE_NULL;
            struct outcome outcome = ended_well();
            assert_int_equal(code_exec_report_judge(&out, 2, &outcome, &report, &score), 0);
            assert_string_equal(report.verdict, "error");
            assert_false(score.passed);
        }
    }
    /* A string may have an escaped NUL. */
    check("{'passed':true,'detail':'a\\u0000b'}\n" PASS, 1, "pass", NULL, 1, "1");
}

static const char valid[] = "{'passed':true}\n{'passed':true,'detail':'caf\xc3\xa9'}\n" T PASS;

static void test_truncations(void **state)
{
    (void)state;
    for (size_t n = 0; n < sizeof(valid); n++) {
        _cleanup_bytes_ struct bytes out = captured(valid, n);
        _cleanup_code_exec_report_ struct code_exec_report report = CODE_EXEC_REPORT_NULL;
        _cleanup_bench_score_ struct bench_score score = BENCH_SCORE_NULL;
        struct outcome outcome = ended_well();
        bool whole = n == sizeof(valid) - 1;
        size_t lines = 0;
        for (size_t i = 0; i < n; i++)
            lines += valid[i] == '\n';
        assert_int_equal(code_exec_report_judge(&out, 3, &outcome, &report, &score), 0);
        assert_string_equal(report.verdict, whole ? "pass" : "error");
        assert_int_equal(score.passed, whole);
        /* The complete lines count. */
        assert_int_equal(json_array_size(report.assertions), MIN(lines, (size_t)3));
        double part = lines >= 3 ? whole : (double)lines / 3;
        assert_true(fabs(score.score - part) < 1e-12);
    }
}

/* --- broken checkers ---------------------------------------------------------------------- */

static void expect_no_verdict(const char *text, struct outcome outcome, enum error_code code,
                              const char *why)
{
    _cleanup_bytes_ struct bytes out = captured(text, strlen(text));
    _cleanup_code_exec_report_ struct code_exec_report report = CODE_EXEC_REPORT_NULL;
    _cleanup_bench_score_ struct bench_score score = BENCH_SCORE_NULL;
    assert_int_equal(code_exec_report_judge(&out, 1, &outcome, &report, &score), 0);
    assert_non_null(report.broken);
    assert_string_equal(report.broken, why);
    assert_int_equal(report.broken_code, code);
    assert_null(report.verdict);
    assert_false(score.passed);
    assert_null(score.failure_modes);
}

static void expect_broken(const char *text, struct outcome outcome, const char *why)
{
    expect_no_verdict(text, outcome, ERROR_SANDBOX_FAILED, why);
}

/* The tests or the prelude import a module that is not there. */
static void test_lacking(void **state)
{
    (void)state;
    expect_no_verdict("{'lacking':'numpy','by':'tests'}\n", ended_well(), ERROR_MODULE_NOT_FOUND,
                      "the job's tests import the module numpy, which the Python of this host does "
                      "not have");
    expect_no_verdict(
        "{'lacking':'a.b','by':'prelude'}\n", ended_well(), ERROR_MODULE_NOT_FOUND,
        "the job's prelude imports the module a.b, which the Python of this host does "
        "not have");
    expect_no_verdict(T "{'lacking':'x'}\n", ended_well(), ERROR_MODULE_NOT_FOUND,
                      "the job's tests import the module x, which the Python of this host does not "
                      "have");
    static const struct forgery cases[] = {
        {T "{'lacking':true}\n", 1, 0, "1"},
        {"{'lacking':'x'}", 1, 0, ""},
    };
    check_forgeries(cases, ARRAY_SIZE(cases));
}

/* A text of the tests cannot be used. */
static void test_refused(void **state)
{
    (void)state;
    expect_no_verdict("{'refused':'job.targets[0]','detail':'it does not compile: x (line 1)'}\n",
                      ended_well(), ERROR_BAD_REQUEST,
                      "job.targets[0]: it does not compile: x (line 1)");
    expect_no_verdict("{'refused':'job.test'}\n", ended_well(), ERROR_BAD_REQUEST,
                      "job.test: it cannot be used");
    static const struct forgery cases[] = {
        {T "{'refused':true}\n", 1, 0, "1"},
        {"{'refused':'x'}", 1, 0, ""},
    };
    check_forgeries(cases, ARRAY_SIZE(cases));
}

static void test_broken(void **state)
{
    (void)state;
    struct outcome exit_70 = ended(70, 0, LIMIT_NONE, "exit status 70");
    expect_broken("{'broken':'OSError: prctl'}\n", exit_70, "OSError: prctl");
    expect_broken("{'broken':'x'}\n", ended_well(), "x");
    expect_broken("{'broken':''}\n", exit_70, "");
    expect_broken(T "{'broken':'x','verdict':'pass'}\n", ended_well(), "x");
    expect_broken(T "{'broken':'x'}\n" PASS, ended_well(), "x");
    /* The error must be a string, on a complete line. */
    static const struct forgery cases[] = {
        {T "{'broken':true}\n", 1, 0, "1"},
        {"{'broken':null}\n" T PASS, 1, 0, ""},
        {"{'broken':'x'}", 1, 0, ""},
    };
    check_forgeries(cases, ARRAY_SIZE(cases));
}

/* --- the details of assertions ------------------------------------------------------------ */

#define UNIT_MAX 4

/* Reports a detail of BEFORE bytes of 'x' and N bytes of UNIT. The verdict's detail has WANTED
 * bytes. */
static void check_detail(size_t before, const char *unit, size_t n, size_t wanted)
{
    char detail[REPLY_ASSERTION_DETAIL_MAX * 2 + 1] = "", text[sizeof(detail) + 100];
    size_t length = before + n;
    assert_true(length < sizeof(detail) && wanted <= length);
    memset(detail, 'x', before);
    for (size_t i = 0; i < n; i++)
        detail[before + i] = unit[i % strlen(unit)];
    (void)snprintf(text, sizeof(text), "{'passed':false,'detail':'%s'}\n" FAIL, detail);
    _cleanup_bytes_ struct bytes out = captured(text, strlen(text));
    _cleanup_code_exec_report_ struct code_exec_report report = CODE_EXEC_REPORT_NULL;
    _cleanup_bench_score_ struct bench_score score = BENCH_SCORE_NULL;
    struct outcome outcome = ended_well();
    assert_int_equal(code_exec_report_judge(&out, 1, &outcome, &report, &score), 0);
    assert_string_equal(report.verdict, "assertion_fail");
    const json_t *got = json_object_get(json_array_get(report.assertions, 0), "detail");
    assert_non_null(got);
    assert_int_equal(json_string_length(got), wanted);
    assert_memory_equal(json_string_value(got), detail, wanted);
}

static void test_details_are_cut(void **state)
{
    (void)state;
    enum { MAX = REPLY_ASSERTION_DETAIL_MAX };
    check_detail(0, "a", 0, 0);
    check_detail(0, "a", MAX - 1, MAX - 1);
    check_detail(0, "a", MAX, MAX);
    check_detail(0, "a", MAX + 1, MAX);
    check_detail(0, "a", (size_t)MAX * 2, MAX);
    check_detail(MAX - 2, "\xc3\xa9", 2, MAX);
    check_detail(MAX - 1, "\xc3\xa9", 2, MAX - 1);
    check_detail(MAX - 2, "\xe2\x82\xac", 3, MAX - 2);
    check_detail(MAX - 1, "\xe2\x82\xac", 3, MAX - 1);
    for (size_t i = 1; i < UNIT_MAX; i++)
        check_detail(MAX - i, "\xf0\x9f\x98\x80", UNIT_MAX, MAX - i);
    check_detail(MAX - UNIT_MAX, "\xf0\x9f\x98\x80", (size_t)UNIT_MAX * 2, MAX);
}

/* Of a line only these two members are kept. */
static void test_entries(void **state)
{
    (void)state;
    static const char text[] = "{'passed':true,'detail':'d','more':1}\n"
                               "{'passed':false,'detail':7}\n"
                               "{'passed':false,'detail':'a\\u0000b','verdict':'pass'}\n" FAIL;
    _cleanup_bytes_ struct bytes out = captured(text, sizeof(text) - 1);
    _cleanup_code_exec_report_ struct code_exec_report report = CODE_EXEC_REPORT_NULL;
    _cleanup_bench_score_ struct bench_score score = BENCH_SCORE_NULL;
    struct outcome outcome = ended_well();
    assert_int_equal(code_exec_report_judge(&out, 3, &outcome, &report, &score), 0);
    json_t *wanted = json_pack("[{s:b,s:s},{s:b},{s:b,s:o}]", "passed", 1, "detail", "d", "passed",
                               0, "passed", 0, "detail", json_stringn("a\0b", 3));
    assert_true(json_equal(report.assertions, wanted));
    json_decref(wanted);
}

/* --- transcripts -------------------------------------------------------------------------- */

static void check_transcript(const char *text, const char *wanted)
{
    _cleanup_bytes_ struct bytes out = captured(text, strlen(text));
    _cleanup_code_exec_report_ struct code_exec_report report = CODE_EXEC_REPORT_NULL;
    _cleanup_bench_score_ struct bench_score score = BENCH_SCORE_NULL;
    struct outcome outcome = ended_well();
    assert_int_equal(code_exec_report_judge(&out, 1, &outcome, &report, &score), 0);
    assert_string_equal(report.verdict, "pass");
    char *got = report.transcript ? json_dumps(report.transcript, JSON_COMPACT) : NULL;
    if (wanted) {
        assert_non_null(got);
        assert_string_equal(got, wanted);
    } else {
        assert_null(got);
    }
    free(got);
}

static void test_transcript(void **state)
{
    (void)state;
    check_transcript(T PASS, NULL);
    check_transcript(T "{'transcript':'eA=='}\n" PASS, "{\"replayable\":true,\"data\":\"eA==\"}");
    check_transcript(T "{'unreplayable':'why'}\n" PASS,
                     "{\"replayable\":false,\"reason\":\"why\"}");
    /* The last one counts. */
    check_transcript(T "{'transcript':1,'unreplayable':'why'}\n" PASS,
                     "{\"replayable\":false,\"reason\":\"why\"}");
    check_transcript(T "{'transcript':'eA=='}\n{'unreplayable':'why'}\n" PASS,
                     "{\"replayable\":false,\"reason\":\"why\"}");
    check(T "{'transcript':'eA=='}\n", 1, "error", UNREADABLE, 0, "1");
    check("{'transcript':'eA=='}\n" PASS, 1, "error", UNREADABLE, 0, "");
    check(T PASS "{'transcript':'eA=='}\n", 1, "error", UNREADABLE, 0, "1");
    check(T "{'transcript':1}\n" PASS, 1, "error", UNREADABLE, 0, "1");
}

/* A replay diverges whatever its assertions say. */
static void test_diverged(void **state)
{
    (void)state;
    check(T "{'verdict':'diverged','detail':'why'}\n", 1, "diverged", "why", 0, "1");
    check(F "{'verdict':'diverged','detail':'why'}\n", 1, "diverged", "why", 0, "0");
    check("{'verdict':'diverged','detail':'why'}\n", 1, "diverged", "why", 0, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pass),
        cmocka_unit_test(test_assertion_fail),
        cmocka_unit_test(test_revised),
        cmocka_unit_test(test_syntax_error),
        cmocka_unit_test(test_error),
        cmocka_unit_test(test_timeout_that_is_reported),
        cmocka_unit_test(test_wall_clock),
        cmocka_unit_test(test_bad_end),
        cmocka_unit_test(test_pass_without_all_assertions),
        cmocka_unit_test(test_other_verdict_though_all_passed),
        cmocka_unit_test(test_behind_the_verdict),
        cmocka_unit_test(test_unknown_verdict),
        cmocka_unit_test(test_no_json),
        cmocka_unit_test(test_passed_that_is_no_boolean),
        cmocka_unit_test(test_cut_off),
        cmocka_unit_test(test_nul),
        cmocka_unit_test(test_truncations),
        cmocka_unit_test(test_broken),
        cmocka_unit_test(test_lacking),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_details_are_cut),
        cmocka_unit_test(test_entries),
        cmocka_unit_test(test_transcript),
        cmocka_unit_test(test_diverged),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
