/* SPDX-License-Identifier: MIT */
#include "proto/benchscore.h"
#include "proto/printer.h"
#include "tests/unit/scarce.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static int print(const struct bench_score *score, struct bytes *ret)
{
    struct printer printer = PRINTER_NULL;
    bench_score_print(score, &printer);
    return printer_finish(&printer, ret);
}

/* Decodes the output of a rubric, with ' for ", to a score or to a fault. */
static int decode(const char *text, struct bench_score *ret, struct fault *fault)
{
    char quoted[4096];
    size_t n = 0;
    json_t *object = NULL;
    for (; text[n]; n++) {
        assert_true(n + 1 < sizeof(quoted));
        quoted[n] = text[n] == '\'' ? '"' : text[n];
    }
    int r = json_read_object(quoted, n, &object, fault);
    if (r == 0)
        r = bench_score_decode(object, ret, fault);
    json_decref(object);
    return r;
}

/* --- refused scores ----------------------------------------------------------------------- */

struct refusal {
    const char *text, *message;
};

static void expect_refusals(const struct refusal *cases, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct fault fault = FAULT_NULL;
        struct bench_score score, before;
        memset(&score, 0xA5, sizeof(score));
        before = score;
        int r = decode(cases[i].text, &score, &fault);
        if (r != -EINVAL || strcmp(fault.text, cases[i].message) != 0)
            fail_msg("%s:\n  %d \"%s\", expected\n  \"%s\"", cases[i].text, r, fault.text,
                     cases[i].message);
        assert_memory_equal(&score, &before, sizeof(score));
    }
}

static void test_passed(void **state)
{
    static const struct refusal cases[] = {
        {"{}", "passed: missing"},
        {"{'score':1}", "passed: missing"},
        {"{'passed':null,'score':1}", "passed: expected a boolean, got null"},
        {"{'passed':0,'score':1}", "passed: expected a boolean, got a number"},
        {"{'passed':1,'score':1}", "passed: expected a boolean, got a number"},
        {"{'passed':1.0,'score':1}", "passed: expected a boolean, got a number"},
        {"{'passed':1e0,'score':1}", "passed: expected a boolean, got a number"},
        {"{'passed':2,'score':1}", "passed: expected a boolean, got a number"},
        {"{'passed':'','score':1}", "passed: expected a boolean, got a string"},
        {"{'passed':'true','score':1}", "passed: expected a boolean, got a string"},
        {"{'passed':'True','score':1}", "passed: expected a boolean, got a string"},
        {"{'passed':'yes','score':1}", "passed: expected a boolean, got a string"},
        {"{'passed':'1','score':1}", "passed: expected a boolean, got a string"},
        {"{'passed':[],'score':1}", "passed: expected a boolean, got an array"},
        {"{'passed':{},'score':1}", "passed: expected a boolean, got an object"},
    };
    (void)state;
    expect_refusals(cases, ARRAY_SIZE(cases));
}

static void test_score(void **state)
{
    static const struct refusal cases[] = {
        {"{'passed':true}", "score: missing"},
        {"{'passed':true,'score':null}", "score: expected a number, got null"},
        {"{'passed':true,'score':true}", "score: expected a number, got a boolean"},
        {"{'passed':true,'score':'0.5'}", "score: expected a number, got a string"},
        {"{'passed':true,'score':'NaN'}", "score: expected a number, got a string"},
        {"{'passed':true,'score':'inf'}", "score: expected a number, got a string"},
        {"{'passed':true,'score':'1_000'}", "score: expected a number, got a string"},
        {"{'passed':true,'score':[1]}", "score: expected a number, got an array"},
        {"{'passed':true,'score':{}}", "score: expected a number, got an object"},
        {"{'passed':true,'score':2}", "score: expected a number from 0 to 1"},
        {"{'passed':true,'score':-1}", "score: expected a number from 0 to 1"},
        {"{'passed':true,'score':100}", "score: expected a number from 0 to 1"},
        {"{'passed':true,'score':1.0000001}", "score: expected a number from 0 to 1"},
        {"{'passed':true,'score':1.0000000000000002}", "score: expected a number from 0 to 1"},
        {"{'passed':true,'score':-1e-9}", "score: expected a number from 0 to 1"},
        {"{'passed':true,'score':-5e-324}", "score: expected a number from 0 to 1"},
        {"{'passed':true,'score':1e308}", "score: expected a number from 0 to 1"},
        {"{'passed':true,'score':9007199254740993}", "score: expected a number from 0 to 1"},
        {"{'passed':true,'score':-9223372036854775808}", "score: expected a number from 0 to 1"},
    };
    (void)state;
    expect_refusals(cases, ARRAY_SIZE(cases));
}

#define WITH(fields) "{'passed':true,'score':0.5," fields "}"

static void test_breakdown(void **state)
{
    static const struct refusal cases[] = {
        {WITH("'breakdown':null"), "breakdown: expected an object, got null"},
        {WITH("'breakdown':[]"), "breakdown: expected an object, got an array"},
        {WITH("'breakdown':'{}'"), "breakdown: expected an object, got a string"},
        {WITH("'breakdown':0"), "breakdown: expected an object, got a number"},
        {WITH("'breakdown':{'a':'x'}"), "breakdown.a: expected a number, got a string"},
        {WITH("'breakdown':{'a':'1'}"), "breakdown.a: expected a number, got a string"},
        {WITH("'breakdown':{'a':true}"), "breakdown.a: expected a number, got a boolean"},
        {WITH("'breakdown':{'a':null}"), "breakdown.a: expected a number, got null"},
        {WITH("'breakdown':{'a':[1]}"), "breakdown.a: expected a number, got an array"},
        {WITH("'breakdown':{'a':{'b':1}}"), "breakdown.a: expected a number, got an object"},
        {WITH("'breakdown':{'a':1,'b':2,'c':null}"), "breakdown.c: expected a number, got null"},
        {WITH("'breakdown':{'\xC3\xA9':null}"), "breakdown.\xC3\xA9: expected a number, got null"},
    };
    (void)state;
    expect_refusals(cases, ARRAY_SIZE(cases));
}

#define MODE(fields) WITH("'failure_modes':[" fields "]")

static void test_failure_modes(void **state)
{
    static const struct refusal cases[] = {
        {WITH("'failure_modes':null"), "failure_modes: expected an array, got null"},
        {WITH("'failure_modes':{}"), "failure_modes: expected an array, got an object"},
        {WITH("'failure_modes':'x'"), "failure_modes: expected an array, got a string"},
        {MODE("'x'"), "failure_modes[0]: expected an object, got a string"},
        {MODE("null"), "failure_modes[0]: expected an object, got null"},
        {MODE("[]"), "failure_modes[0]: expected an object, got an array"},
        {MODE("{}"), "failure_modes[0].code: missing"},
        {MODE("{'severity':'block'}"), "failure_modes[0].code: missing"},
        {MODE("{'code':'x'}"), "failure_modes[0].severity: missing"},
        {MODE("{'code':1,'severity':'block'}"),
         "failure_modes[0].code: expected a string, got a number"},
        {MODE("{'code':null,'severity':'block'}"),
         "failure_modes[0].code: expected a string, got null"},
        {MODE("{'code':'x','severity':null}"),
         "failure_modes[0].severity: expected a string, got null"},
        {MODE("{'code':'x','severity':1}"),
         "failure_modes[0].severity: expected a string, got a number"},
        {MODE("{'code':'x','severity':''}"),
         "failure_modes[0].severity: expected block, warn or info"},
        {MODE("{'code':'x','severity':'high'}"),
         "failure_modes[0].severity: expected block, warn or info"},
        {MODE("{'code':'x','severity':'Block'}"),
         "failure_modes[0].severity: expected block, warn or info"},
        {MODE("{'code':'x','severity':'block '}"),
         "failure_modes[0].severity: expected block, warn or info"},
        {MODE("{'code':'x','severity':'warning'}"),
         "failure_modes[0].severity: expected block, warn or info"},
        {MODE("{'code':'x','severity':'error'}"),
         "failure_modes[0].severity: expected block, warn or info"},
        {MODE("{'code':'x','severity':'warn','detail':null}"),
         "failure_modes[0].detail: expected a string, got null"},
        {MODE("{'code':'x','severity':'warn','detail':1}"),
         "failure_modes[0].detail: expected a string, got a number"},
        {MODE("{'code':'x','severity':'warn','detail':['d']}"),
         "failure_modes[0].detail: expected a string, got an array"},
        {MODE("{'code':'x','severity':'warn','message':'m'}"),
         "failure_modes[0].message: unknown field"},
        {MODE("{'code':'x','severity':'warn'},{'code':'y','severity':'info'},{'code':'z'}"),
         "failure_modes[2].severity: missing"},
        {MODE("{'code':'x','severity':'warn'},7"),
         "failure_modes[1]: expected an object, got a number"},
    };
    (void)state;
    expect_refusals(cases, ARRAY_SIZE(cases));
}

/* strcmp() would accept this as "block". */
static void test_severity_with_nul(void **state)
{
    static const struct refusal cases[] = {
        {MODE("{'code':'x','severity':'block\\u0000'}"),
         "failure_modes[0].severity: contains a NUL character"},
        {MODE("{'code':'x','severity':'info\\u0000x'}"),
         "failure_modes[0].severity: contains a NUL character"},
    };
    (void)state;
    expect_refusals(cases, ARRAY_SIZE(cases));
}

static void test_cost(void **state)
{
    static const struct refusal cases[] = {
        {WITH("'cost_usd':null"), "cost_usd: expected a number, got null"},
        {WITH("'cost_usd':'0.01'"), "cost_usd: expected a number, got a string"},
        {WITH("'cost_usd':true"), "cost_usd: expected a number, got a boolean"},
        {WITH("'cost_usd':[]"), "cost_usd: expected a number, got an array"},
        {WITH("'cost_usd':-1"), "cost_usd: expected a number >= 0"},
        {WITH("'cost_usd':-0.01"), "cost_usd: expected a number >= 0"},
        {WITH("'cost_usd':-5e-324"), "cost_usd: expected a number >= 0"},
    };
    (void)state;
    expect_refusals(cases, ARRAY_SIZE(cases));
}

static void test_wall_clock(void **state)
{
    static const struct refusal cases[] = {
        {WITH("'wall_clock_ms':null"), "wall_clock_ms: expected an integer, got null"},
        {WITH("'wall_clock_ms':12.0"), "wall_clock_ms: expected an integer, got a number"},
        {WITH("'wall_clock_ms':12.5"), "wall_clock_ms: expected an integer, got a number"},
        {WITH("'wall_clock_ms':1e3"), "wall_clock_ms: expected an integer, got a number"},
        {WITH("'wall_clock_ms':'12'"), "wall_clock_ms: expected an integer, got a string"},
        {WITH("'wall_clock_ms':true"), "wall_clock_ms: expected an integer, got a boolean"},
        {WITH("'wall_clock_ms':{}"), "wall_clock_ms: expected an integer, got an object"},
    };
    (void)state;
    expect_refusals(cases, ARRAY_SIZE(cases));
}

static void test_unknown_fields(void **state)
{
    static const struct refusal cases[] = {
        {WITH("'zzz':1"), "zzz: unknown field"},
        {WITH("'zzz':null"), "zzz: unknown field"},
        {WITH("'Passed':true"), "Passed: unknown field"},
        {WITH("'reason':'no_code'"), "reason: unknown field"},
        {WITH("'failure_mode':[]"), "failure_mode: unknown field"},
        {"{'zzz':1}", "zzz: unknown field"},
        {"{'score':7,'zzz':1}", "zzz: unknown field"},
        {"{'result':{'passed':true,'score':1}}", "result: unknown field"},
    };
    (void)state;
    expect_refusals(cases, ARRAY_SIZE(cases));
}

/* The JSON decoder refuses these. */
static void test_not_json(void **state)
{
    static const struct refusal cases[] = {
        {"", "JSON: line 1 column 0: unexpected token near end of file"},
        {"hello\n{'passed':true,'score':1}", "JSON: line 1 column 5: invalid token near 'hello'"},
        {"{'passed':True,'score':1}", "JSON: line 1 column 14: invalid token near 'True'"},
        {"{'passed':true,'score':NaN}", "JSON: line 1 column 26: invalid token near 'NaN'"},
        {"{'passed':true,'score':Infinity}",
         "JSON: line 1 column 31: invalid token near 'Infinity'"},
        {"{'passed':true,'score':-Infinity}", "JSON: line 1 column 24: invalid token near '-'"},
        {"{'passed':true,'score':1e400}",
         "JSON: line 1 column 28: real number overflow near '1e400'"},
        {"{'passed':true,'score':.5}", "JSON: line 1 column 24: invalid token near '.'"},
        {"{'passed':true,'score':01}", "JSON: line 1 column 24: invalid token near '0'"},
        {"{'passed':false,'passed':true,'score':0}",
         "JSON: line 1 column 24: duplicate object key near '\"passed\"'"},
        {"{'passed':true,'score':0,'score':1}",
         "JSON: line 1 column 32: duplicate object key near '\"score\"'"},
        {WITH("'breakdown':{'a':1,'a':2}"),
         "JSON: line 1 column 49: duplicate object key near '\"a\"'"},
        {MODE("{'code':'x','code':'y','severity':'warn'}"),
         "JSON: line 1 column 62: duplicate object key near '\"code\"'"},
        {WITH("'breakdown':{'a':1e309}"),
         "JSON: line 1 column 49: real number overflow near '1e309'"},
        {WITH("'breakdown':{'a\\u0000':1}"),
         "JSON: line 1 column 49: NUL byte in object key not supported near '\"a\\u0000\"'"},
        {WITH("'cost_usd':NaN"), "JSON: line 1 column 41: invalid token near 'NaN'"},
        {WITH("'wall_clock_ms':9223372036854775808"),
         "JSON: line 1 column 62: too big integer near '9223372036854775808'"},
        {"{'passed':true,'score':1,}", "JSON: line 1 column 26: string or '}' expected near '}'"},
        {"{'passed':true,'score':1}\n{'passed':true,'score':1}",
         "JSON: line 2 column 1: end of file expected near '{'"},
        {"[{'passed':true,'score':1}]", "expected an object, got an array"},
        {"null", "expected an object, got null"},
        {"0.5", "expected an object, got a number"},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct fault fault = FAULT_NULL;
        struct bench_score score;
        int r = decode(cases[i].text, &score, &fault);
        if (r >= 0 || strcmp(fault.text, cases[i].message) != 0)
            fail_msg("%s:\n  %d \"%s\", expected\n  \"%s\"", cases[i].text, r, fault.text,
                     cases[i].message);
    }
}

/* --- accepted scores and their form -------------------------------------------------------- */

#define PLAIN "'breakdown':{},'failure_modes':[],'cost_usd':0,'wall_clock_ms':1}"

static void test_accepted(void **state)
{
    static const struct {
        const char *text, *encoded;
    } cases[] = {
        {"{'passed':true,'score':1}", "{'passed':true,'score':1," PLAIN},
        {"{'passed':false,'score':0}", "{'passed':false,'score':0," PLAIN},
        {" \n{ 'score' : 1 , 'passed' : true } \r\n\t", "{'passed':true,'score':1," PLAIN},
        /* passed and score are independent */
        {"{'passed':true,'score':0}", "{'passed':true,'score':0," PLAIN},
        {"{'passed':false,'score':1}", "{'passed':false,'score':1," PLAIN},
        {"{'passed':true,'score':1.0}", "{'passed':true,'score':1," PLAIN},
        {"{'passed':true,'score':0.1e1}", "{'passed':true,'score':1," PLAIN},
        {"{'passed':true,'score':0.0}", "{'passed':true,'score':0," PLAIN},
        {"{'passed':true,'score':-0.0}", "{'passed':true,'score':0," PLAIN},
        {"{'passed':true,'score':-0}", "{'passed':true,'score':0," PLAIN},
        {"{'passed':true,'score':1e-400}", "{'passed':true,'score':0," PLAIN},
        {"{'passed':true,'score':5e-324}", "{'passed':true,'score':4.94065645841247e-324," PLAIN},
        {"{'passed':true,'score':0.1}", "{'passed':true,'score':0.1," PLAIN},
        {"{'passed':true,'score':0.9999999999999999}",
         "{'passed':true,'score':0.9999999999999999," PLAIN},
        {"{'passed':true,'score':0.30000000000000004}",
         "{'passed':true,'score':0.30000000000000004," PLAIN},
        {"{'passed':true,'score':0.3333333333333333}",
         "{'passed':true,'score':0.3333333333333333," PLAIN},
        {WITH("'breakdown':{}"), "{'passed':true,'score':0.5," PLAIN},
        {WITH("'breakdown':{'z':1,'a':0.25,'':-3,'n':1e300,'k k':0.0}"),
         "{'passed':true,'score':0.5,'breakdown':{'z':1,'a':0.25,'':-3,'n':1e300,'k k':0.0},"
         "'failure_modes':[],'cost_usd':0,'wall_clock_ms':1}"},
        {WITH("'breakdown':{'\xC3\xA9':9223372036854775807}"),
         "{'passed':true,'score':0.5,'breakdown':{'\xC3\xA9':9223372036854775807},"
         "'failure_modes':[],'cost_usd':0,'wall_clock_ms':1}"},
        {WITH("'failure_modes':[]"), "{'passed':true,'score':0.5," PLAIN},
        {MODE("{'code':'a','severity':'block'},{'severity':'warn','detail':'','code':'b.c'},"
              "{'code':'','severity':'info','detail':'x\\u0000y'}"),
         "{'passed':true,'score':0.5,'breakdown':{},'failure_modes':["
         "{'code':'a','severity':'block'},{'severity':'warn','detail':'','code':'b.c'},"
         "{'code':'','severity':'info','detail':'x\\u0000y'}],'cost_usd':0,'wall_clock_ms':1}"},
        /* the same code twice is two findings */
        {MODE("{'code':'a','severity':'info'},{'code':'a','severity':'info'}"),
         "{'passed':true,'score':0.5,'breakdown':{},'failure_modes':[{'code':'a','severity':'info'"
         "},{'code':'a','severity':'info'}],'cost_usd':0,'wall_clock_ms':1}"},
        {MODE("{'code':'x','severity':'warn','detail':'\\ud83d\\ude00 \\u00e9'}"),
         "{'passed':true,'score':0.5,'breakdown':{},'failure_modes':[{'code':'x','severity':'warn',"
         "'detail':'\xF0\x9F\x98\x80 \xC3\xA9'}],'cost_usd':0,'wall_clock_ms':1}"},
        {WITH("'cost_usd':0"), "{'passed':true,'score':0.5," PLAIN},
        {WITH("'cost_usd':-0.0"), "{'passed':true,'score':0.5," PLAIN},
        {WITH("'cost_usd':0.01"),
         "{'passed':true,'score':0.5,'breakdown':{},'failure_modes':[],'cost_usd':0.01,"
         "'wall_clock_ms':1}"},
        {WITH("'cost_usd':1e308"),
         "{'passed':true,'score':0.5,'breakdown':{},'failure_modes':[],'cost_usd':1e308,"
         "'wall_clock_ms':1}"},
        /* the rubric's own measurement is dropped */
        {WITH("'wall_clock_ms':0"), "{'passed':true,'score':0.5," PLAIN},
        {WITH("'wall_clock_ms':12"), "{'passed':true,'score':0.5," PLAIN},
        {WITH("'wall_clock_ms':-5"), "{'passed':true,'score':0.5," PLAIN},
        {WITH("'wall_clock_ms':9223372036854775807"), "{'passed':true,'score':0.5," PLAIN},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct fault fault = FAULT_NULL;
        _cleanup_bench_score_ struct bench_score score = BENCH_SCORE_NULL;
        _cleanup_bytes_ struct bytes printed = BYTES_NULL;
        if (decode(cases[i].text, &score, &fault) != 0)
            fail_msg("%s: %s", cases[i].text, fault.text);
        assert_int_equal(print(&score, &printed), 0);
        for (char *p = printed.data; *p; p++)
            *p = *p == '"' ? '\'' : *p;
        assert_string_equal(printed.data, cases[i].encoded);
    }
}

static void test_fields_of_the_struct(void **state)
{
    struct fault fault = FAULT_NULL;
    _cleanup_bench_score_ struct bench_score score = BENCH_SCORE_NULL;
    (void)state;
    assert_int_equal(decode("{'passed':true,'score':0.75,'breakdown':{'a':1},'cost_usd':2,"
                            "'failure_modes':[{'code':'c','severity':'info'}],'wall_clock_ms':99}",
                            &score, &fault),
                     0);
    assert_true(score.passed);
    assert_true(score.score == 0.75);
    assert_true(score.cost_usd == 2);
    assert_int_equal(score.wall_clock_ms, 1);
    assert_int_equal(json_object_size(score.breakdown), 1);
    assert_int_equal(json_array_size(score.failure_modes), 1);
}

/* The score does not borrow from the JSON that it was decoded from. */
static void test_owns_its_parts(void **state)
{
    struct fault fault = FAULT_NULL;
    _cleanup_bench_score_ struct bench_score score = BENCH_SCORE_NULL;
    (void)state;
    json_t *object =
        json_pack("{s:b,s:i,s:{s:i},s:[{s:s,s:s}]}", "passed", 1, "score", 1, "breakdown", "a", 1,
                  "failure_modes", "code", "c", "severity", "info");
    assert_int_equal(bench_score_decode(object, &score, &fault), 0);
    json_t *mode = json_array_get(json_object_get(object, "failure_modes"), 0);
    assert_int_equal(json_object_clear(mode), 0);
    assert_int_equal(json_object_clear(json_object_get(object, "breakdown")), 0);
    assert_int_equal(json_object_clear(object), 0);
    json_decref(object);
    assert_int_equal(json_object_size(score.breakdown), 1);
    assert_int_equal(json_object_size(json_array_get(score.failure_modes, 0)), 2);
}

/* A verdict without a number: null on the wire. */
static void test_score_of_null(void **state)
{
    _cleanup_bench_score_ struct bench_score score = {
        .score = NAN,
        .breakdown = json_object(),
        .failure_modes = json_array(),
        .cost_usd = 0.5,
        .wall_clock_ms = INT64_MAX,
    };
    _cleanup_bytes_ struct bytes printed = BYTES_NULL;
    (void)state;
    assert_int_equal(print(&score, &printed), 0);
    assert_string_equal(printed.data,
                        "{\"passed\":false,\"score\":null,\"breakdown\":{},\"failure_modes\":[],"
                        "\"cost_usd\":0.5,\"wall_clock_ms\":9223372036854775807}");
}

/* --- bench_score_block --------------------------------------------------------------------- */

static void test_block(void **state)
{
    static const struct {
        const char *detail;
        size_t length;
        const char *mode;
    } cases[] = {
        {NULL, 0, "{\"code\":\"rubric.timeout\",\"severity\":\"block\"}"},
        {NULL, 99, "{\"code\":\"rubric.timeout\",\"severity\":\"block\"}"},
        {"", 0, "{\"code\":\"rubric.timeout\",\"severity\":\"block\",\"detail\":\"\"}"},
        {"abc", 2, "{\"code\":\"rubric.timeout\",\"severity\":\"block\",\"detail\":\"ab\"}"},
        {"a\xFF\xC3", 3,
         "{\"code\":\"rubric.timeout\",\"severity\":\"block\",\"detail\":\"a\xEF\xBF\xBD"
         "\xEF\xBF\xBD\"}"},
        {"a\0b", 3,
         "{\"code\":\"rubric.timeout\",\"severity\":\"block\",\"detail\":\"a\\u0000b\"}"},
        {"\"\n\\", 3,
         "{\"code\":\"rubric.timeout\",\"severity\":\"block\",\"detail\":\"\\\"\\n\\\\\"}"},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        _cleanup_bench_score_ struct bench_score score = BENCH_SCORE_NULL;
        _cleanup_bytes_ struct bytes printed = BYTES_NULL;
        assert_int_equal(
            bench_score_block("rubric.timeout", cases[i].detail, cases[i].length, &score), 0);
        assert_false(score.passed);
        assert_true(score.score == 0 && score.cost_usd == 0);
        assert_int_equal(score.wall_clock_ms, 1);
        assert_int_equal(json_object_size(score.breakdown), 0);
        assert_int_equal(json_array_size(score.failure_modes), 1);
        assert_int_equal(json_print(json_array_get(score.failure_modes, 0), &printed), 0);
        assert_string_equal(printed.data, cases[i].mode);
    }
}

/* A detail cut after 200 bytes may end inside a character. */
static void test_block_detail_of_200_bytes(void **state)
{
    char detail[202];
    (void)state;
    memset(detail, 'x', 199);
    memcpy(detail + 199, "\xC3\xA9", 3);
    _cleanup_bench_score_ struct bench_score score = BENCH_SCORE_NULL;
    assert_int_equal(bench_score_block("c", detail, 200, &score), 0);
    const json_t *text = json_object_get(json_array_get(score.failure_modes, 0), "detail");
    assert_int_equal(json_string_length(text), 202);
    assert_string_equal(json_string_value(text) + 199, "\xEF\xBF\xBD");
}

static void test_pass(void **state)
{
    _cleanup_bench_score_ struct bench_score score = BENCH_SCORE_NULL;
    (void)state;
    assert_int_equal(bench_score_pass(&score), 0);
    assert_true(score.passed && score.score == 1 && score.cost_usd == 0);
    assert_int_equal(score.wall_clock_ms, 1);
    assert_int_equal(json_object_size(score.breakdown), 0);
    assert_int_equal(json_array_size(score.failure_modes), 0);
}

static void test_deinit_of_nothing(void **state)
{
    struct bench_score score = BENCH_SCORE_NULL;
    (void)state;
    bench_score_deinit(&score);
    bench_score_deinit(&score);
    assert_null(score.breakdown);
}

/* --- memory runs out ----------------------------------------------------------------------- */

/* Runs STEP with its 1st, 2nd, 3rd, ... allocation failing, and then with none. */
static void starve(int (*step)(json_t *object, struct bench_score *score))
{
    json_t *object =
        json_pack("{s:b,s:f,s:{s:i},s:[{s:s,s:s,s:s}]}", "passed", 1, "score", 0.5, "breakdown",
                  "a", 1, "failure_modes", "code", "c", "severity", "info", "detail", "d");
    allocations_left = -1;
    for (int before = 0; allocations_left < 0; before++) {
        _cleanup_bench_score_ struct bench_score score = BENCH_SCORE_NULL;
        allocations_left = before;
        json_set_alloc_funcs(scarce_malloc, free);
        int r = step(object, &score);
        json_set_alloc_funcs(malloc, free);
        assert_int_equal(r, allocations_left < 0 ? -ENOMEM : 0);
        assert_true(r == 0 || !score.breakdown);
    }
    json_decref(object);
}

static int step_decode(json_t *object, struct bench_score *score)
{
    return bench_score_decode(object, score, NULL);
}

static int step_block(json_t *object, struct bench_score *score)
{
    (void)object;
    return bench_score_block("code", "detail", 6, score);
}

static int step_print(json_t *object, struct bench_score *score)
{
    struct bench_score borrowed = {
        .score = 0.5,
        .breakdown = json_object_get(object, "breakdown"),
        .failure_modes = json_object_get(object, "failure_modes"),
        .cost_usd = 0.5,
        .wall_clock_ms = 7,
    };
    (void)score;
    _cleanup_bytes_ struct bytes printed = BYTES_NULL;
    return print(&borrowed, &printed);
}

static void test_without_memory(void **state)
{
    (void)state;
    starve(step_decode);
    starve(step_block);
    starve(step_print);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_passed),
        cmocka_unit_test(test_score),
        cmocka_unit_test(test_breakdown),
        cmocka_unit_test(test_failure_modes),
        cmocka_unit_test(test_severity_with_nul),
        cmocka_unit_test(test_cost),
        cmocka_unit_test(test_wall_clock),
        cmocka_unit_test(test_unknown_fields),
        cmocka_unit_test(test_not_json),
        cmocka_unit_test(test_accepted),
        cmocka_unit_test(test_fields_of_the_struct),
        cmocka_unit_test(test_owns_its_parts),
        cmocka_unit_test(test_score_of_null),
        cmocka_unit_test(test_block),
        cmocka_unit_test(test_block_detail_of_200_bytes),
        cmocka_unit_test(test_pass),
        cmocka_unit_test(test_deinit_of_nothing),
        cmocka_unit_test(test_without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
