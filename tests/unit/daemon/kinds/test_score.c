/* SPDX-License-Identifier: MIT */
/* Tests the verdict of a rubric: every row of the table in protocol.md, and which of two rows
 * applies first. */
#include "daemon/kinds/score.h"
#include "tests/unit/quoted.h"
#include "tests/unit/score_json.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define TEXT(literal)                  \
    {                                  \
        (literal), sizeof(literal) - 1 \
    }
#define NOTHING \
    {           \
        NULL, 0 \
    }
#define DETAIL_BYTES 200

/* The output on stdout or stderr. */
struct text {
    const char *data;
    size_t n;
};

/* Decodes LISTS, the content of task_class.json; NULL: no such file. */
static struct task_class *make_lists(const char *lists)
{
    struct task_class *task_class = NULL;
    if (lists) {
        _cleanup_free_ char *text = to_json(lists);
        assert_int_equal(task_class_decode(text, strlen(text), &task_class, NULL), 0);
    }
    return task_class;
}

static struct outcome exited(int code)
{
    return (struct outcome){.success = code == 0, .exit_code = code, .limit = LIMIT_NONE};
}

static struct outcome killed(int signal, enum limit limit)
{
    return (struct outcome){.exit_code = -1, .signal = signal, .limit = limit};
}

/* Returns captured output: NULL without any, otherwise an allocation of the exact size. */
static struct bytes captured(struct text text)
{
    struct bytes bytes = BYTES_NULL;
    if (text.data)
        assert_int_equal(bytes_copy(text.data, text.n, &bytes), 0);
    return bytes;
}

/* Returns the score as JSON; to be freed. */
static json_t *score_json(struct outcome outcome, struct text out_text, struct text err_text,
                          const char *lists, bool *ret_accepted)
{
    _cleanup_bytes_ struct bytes out = captured(out_text), err = captured(err_text);
    struct task_class *task_class = make_lists(lists);
    const struct score_input input = {
        .outcome = &outcome, .out = &out, .err = &err, .task_class = task_class};
    struct bench_score score = BENCH_SCORE_NULL;
    assert_int_equal(score_rubric(&input, &score, ret_accepted), 0);
    task_class_unref(task_class);
    json_t *json = score_to_json(&score);
    assert_non_null(json);
    bench_score_deinit(&score);
    return json;
}

static void expect_json(json_t *got, const char *expected)
{
    json_t *wanted = parse(expected);
    if (!json_equal(got, wanted)) {
        char *text = json_dumps(got, 0);
        fail_msg("got      %s\nexpected %s", text, expected);
    }
    json_decref(wanted);
}

/* Asserts a score of 0 with the blocking failure mode CODE. Returns its detail: borrowed; NULL:
 * none. */
static const json_t *expect_block(json_t *score, const char *code)
{
    json_t *rest = json_copy(score), *modes = json_object_get(score, "failure_modes");
    assert_int_equal(json_object_del(rest, "failure_modes"), 0);
    expect_json(rest, "{'passed':false,'score':0,'breakdown':{},'cost_usd':0,'wall_clock_ms':1}");
    json_decref(rest);

    assert_int_equal(json_array_size(modes), 1);
    const json_t *mode = json_array_get(modes, 0), *detail = json_object_get(mode, "detail");
    assert_string_equal(json_string_value(json_object_get(mode, "code")), code);
    assert_string_equal(json_string_value(json_object_get(mode, "severity")), "block");
    assert_int_equal(json_object_size(mode), detail ? 3 : 2);
    return detail;
}

static void expect_detail(const json_t *detail, const char *expected, size_t n)
{
    assert_non_null(detail);
    if (json_string_length(detail) != n || memcmp(json_string_value(detail), expected, n) != 0)
        fail_msg("detail is \"%s\" (%zu bytes), expected \"%s\" (%zu)", json_string_value(detail),
                 json_string_length(detail), expected, n);
}

/* --- the rubric failed -------------------------------------------------------------------- */

static const char good_score[] = "{\"passed\":true,\"score\":1}\n";

static void expect_failure(struct outcome outcome, struct text err, const char *code,
                           const char *detail, size_t n)
{
    bool accepted = true;
    /* The stdout of a failed rubric is ignored. */
    json_t *score = score_json(outcome, (struct text)TEXT(good_score), err, NULL, &accepted);
    assert_false(accepted);
    const json_t *got = expect_block(score, code);
    if (detail)
        expect_detail(got, detail, n);
    else
        assert_null(got);
    json_decref(score);
}

static void test_timeout(void **state)
{
    static const int signals[] = {SIGKILL, SIGXCPU, SIGSEGV, 0};
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(signals); i++) {
        expect_failure(killed(signals[i], LIMIT_WALL_CLOCK), (struct text)NOTHING, "rubric.timeout",
                       NULL, 0);
        expect_failure(killed(signals[i], LIMIT_WALL_CLOCK), (struct text)TEXT("Traceback\n"),
                       "rubric.timeout", NULL, 0);
    }
    struct outcome ended = exited(0);
    ended.limit = LIMIT_WALL_CLOCK;
    ended.success = false;
    expect_failure(ended, (struct text)NOTHING, "rubric.timeout", NULL, 0);
}

static void test_failure_with_empty_stderr(void **state)
{
    static const struct {
        struct outcome outcome;
        const char *detail;
    } cases[] = {
        {{.exit_code = 1, .limit = LIMIT_NONE}, "exit status 1"},
        {{.exit_code = 3, .limit = LIMIT_NONE}, "exit status 3"},
        {{.exit_code = 255, .limit = LIMIT_NONE}, "exit status 255"},
        {{.exit_code = -1, .signal = 11, .limit = LIMIT_NONE}, "signal 11 (SIGSEGV)"},
        {{.exit_code = -1, .signal = 9, .limit = LIMIT_NONE}, "signal 9 (SIGKILL)"},
        {{.exit_code = -1, .signal = 64, .limit = LIMIT_NONE}, "signal 64"},
        {{.exit_code = -1, .signal = 9, .limit = LIMIT_OUTPUT}, "limit exceeded: output"},
        {{.exit_code = 0, .limit = LIMIT_OUTPUT}, "limit exceeded: output"},
        {{.exit_code = -1, .signal = 24, .limit = LIMIT_CPU}, "limit exceeded: cpu"},
        {{.exit_code = -1, .signal = 25, .limit = LIMIT_DISK}, "limit exceeded: disk"},
        {{.exit_code = -1, .signal = 9, .limit = LIMIT_MEMORY}, "limit exceeded: memory"},
        {{.exit_code = 1, .limit = LIMIT_PROCESSES}, "limit exceeded: processes"},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
        expect_failure(cases[i].outcome, (struct text)NOTHING, "rubric.malformed_output",
                       cases[i].detail, strlen(cases[i].detail));
}

static void test_failure_with_stderr(void **state)
{
    static const struct outcome outcomes[] = {
        {.exit_code = 1, .limit = LIMIT_NONE},
        {.exit_code = -1, .signal = 11, .limit = LIMIT_NONE},
        {.exit_code = -1, .signal = 9, .limit = LIMIT_OUTPUT},
        {.exit_code = -1, .signal = 24, .limit = LIMIT_CPU},
    };
    static const char err[] = "\nTraceback (most recent call last):\n\0 ValueError\r\n";
    static const char mended[] = "a\xef\xbf\xbd\0\xef\xbf\xbd\n";
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(outcomes); i++) {
        expect_failure(outcomes[i], (struct text)TEXT(err), "rubric.malformed_output", err,
                       sizeof(err) - 1);
        expect_failure(outcomes[i], (struct text)TEXT("a\xff\0\xc3\n"), "rubric.malformed_output",
                       mended, sizeof(mended) - 1);
        expect_failure(outcomes[i], (struct text)TEXT("\n"), "rubric.malformed_output", "\n", 1);
    }
}

/* Writes N bytes of "x" and TAIL to stderr. DETAIL must follow the "x" in the detail. */
static void check_cut(size_t n, const char *tail, const char *detail)
{
    char text[2 * DETAIL_BYTES + 1], expected[2 * DETAIL_BYTES + 1];
    assert_true(n + strlen(tail) < sizeof(text));
    memset(text, 'x', n);
    strcpy(text + n, tail);
    memset(expected, 'x', n);
    strcpy(expected + n, detail);
    expect_failure(exited(1), (struct text){text, strlen(text)}, "rubric.malformed_output",
                   expected, strlen(expected));
}

/* The same as Python's stderr[:200].decode("utf-8", "replace"). */
static void test_stderr_is_cut_at_200_bytes(void **state)
{
    static const char replaced[] = "\xef\xbf\xbd";
    (void)state;
    check_cut(199, "", "");
    check_cut(200, "", "");
    check_cut(200, "y", "");
    check_cut(200, "\xc3\xa9", "");
    check_cut(199, "yz", "y");
    check_cut(198, "\xc3\xa9\xc3\xa9", "\xc3\xa9");
    check_cut(199, "\xc3\xa9", replaced);
    check_cut(199, "\xe2\x82\xac", replaced);
    check_cut(198, "\xe2\x82\xac", replaced);
    check_cut(197, "\xe2\x82\xac", "\xe2\x82\xac");
    check_cut(199, "\xf0\x9f\x98\x80", replaced);
    check_cut(198, "\xf0\x9f\x98\x80", replaced);
    check_cut(197, "\xf0\x9f\x98\x80", replaced);
    check_cut(196, "\xf0\x9f\x98\x80", "\xf0\x9f\x98\x80");
    check_cut(199, "\x80\x80", replaced);
}

/* --- the rubric succeeded without a BenchScore --------------------------------------------- */

struct output_case {
    struct text out;
    const char *path; /* start of the detail, before ": " */
};

static void check_malformed(const struct output_case *c)
{
    bool accepted = true;
    json_t *score = score_json(exited(0), c->out, (struct text)TEXT("a warning"), "{}", &accepted);
    assert_false(accepted);
    const json_t *detail = expect_block(score, "rubric.malformed_output");
    const char *text = json_string_value(detail);
    size_t n = strlen(c->path);
    if (!text || strncmp(text, c->path, n) != 0 || strncmp(text + n, ": ", 2) != 0 || !text[n + 2])
        fail_msg("%s: \"%s\" does not name %s", c->out.data, text ? text : "nothing", c->path);
    assert_int_equal(strlen(text), json_string_length(detail));
    assert_true(json_string_length(detail) < FAULT_MAX);
    json_decref(score);
}

static void test_output_is_not_json(void **state)
{
    static const struct output_case cases[] = {
        {TEXT("nonsense"), "JSON"},
        {TEXT("{"), "JSON"},
        {TEXT("{\"passed\":true,\"score\":1}x"), "JSON"},
        {TEXT("{\"passed\":true,\"score\":1}{\"passed\":true,\"score\":1}"), "JSON"},
        {TEXT("{\"passed\":true,\"score\":1}\0"), "JSON"},
        {TEXT("\0{\"passed\":true,\"score\":1}"), "JSON"},
        {TEXT("\xef\xbb\xbf{\"passed\":true,\"score\":1}"), "JSON"},
        {TEXT("{\"passed\":true,\"score\":NaN}"), "JSON"},
        {TEXT("{\"passed\":true,\"score\":Infinity}"), "JSON"},
        {TEXT("{\"passed\":true,\"score\":1e999}"), "JSON"},
        {TEXT("{\"passed\":true,\"score\":1,\"cost_usd\":-1e999}"), "JSON"},
        {TEXT("{\"passed\":false,\"passed\":true,\"score\":1}"), "JSON"},
        {TEXT("{\"passed\":true,\"score\":1,\"breakdown\":{\"\xff\":1}}"), "JSON"},
        {TEXT("{\"passed\":True,\"score\":1}"), "JSON"},
        {TEXT("{'passed':true,'score':1}"), "JSON"},
        {TEXT("debug print\n{\"passed\":true,\"score\":1}\n"), "JSON"},
        {TEXT("null and void"), "JSON"},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
        check_malformed(&cases[i]);
}

static void expect_details(const struct text *outs, size_t n, const char *expected)
{
    for (size_t i = 0; i < n; i++) {
        bool accepted = true;
        json_t *score = score_json(exited(0), outs[i], (struct text)NOTHING, NULL, &accepted);
        assert_false(accepted);
        expect_detail(expect_block(score, "rubric.malformed_output"), expected, strlen(expected));
        json_decref(score);
    }
}

static void test_output_is_empty(void **state)
{
    static const struct text outs[] = {NOTHING, TEXT(""), TEXT("\n"), TEXT(" \t\r\n \n")};
    (void)state;
    expect_details(outs, ARRAY_SIZE(outs), "nothing on stdout");
}

static void test_output_is_no_object(void **state)
{
    static const struct text arrays[] = {TEXT("[]"), TEXT("[{\"passed\":true,\"score\":1}]\n")};
    static const struct text numbers[] = {TEXT("1"), TEXT("0.5\n")};
    static const struct text booleans[] = {TEXT("true"), TEXT("false")};
    (void)state;
    expect_details(arrays, ARRAY_SIZE(arrays), "expected an object, got an array");
    expect_details(numbers, ARRAY_SIZE(numbers), "expected an object, got a number");
    expect_details(booleans, ARRAY_SIZE(booleans), "expected an object, got a boolean");
}

#define P "\"passed\":true,"
#define S "\"score\":1,"

static void test_output_has_a_wrong_field(void **state)
{
    static const struct output_case cases[] = {
        {TEXT("{}"), "passed"},
        {TEXT("{\"score\":1}"), "passed"},
        {TEXT("{" S "\"passed\":1}"), "passed"},
        {TEXT("{" S "\"passed\":\"yes\"}"), "passed"},
        {TEXT("{" S "\"passed\":null}"), "passed"},
        {TEXT("{\"passed\":true}"), "score"},
        {TEXT("{" P "\"score\":\"1\"}"), "score"},
        {TEXT("{" P "\"score\":true}"), "score"},
        {TEXT("{" P "\"score\":null}"), "score"},
        {TEXT("{" P "\"score\":1.0000000000000002}"), "score"},
        {TEXT("{" P "\"score\":-0.1}"), "score"},
        {TEXT("{" P "\"score\":2}"), "score"},
        {TEXT("{" P S "\"cost_usd\":-1}"), "cost_usd"},
        {TEXT("{" P S "\"cost_usd\":\"0\"}"), "cost_usd"},
        {TEXT("{" P S "\"cost_usd\":null}"), "cost_usd"},
        {TEXT("{" P S "\"wall_clock_ms\":\"1\"}"), "wall_clock_ms"},
        {TEXT("{" P S "\"wall_clock_ms\":1.5}"), "wall_clock_ms"},
        {TEXT("{" P S "\"breakdown\":[]}"), "breakdown"},
        {TEXT("{" P S "\"breakdown\":null}"), "breakdown"},
        {TEXT("{" P S "\"breakdown\":{\"a\":0,\"b.c\":\"1\"}}"), "breakdown.b.c"},
        {TEXT("{" P S "\"breakdown\":{\"a\":true}}"), "breakdown.a"},
        {TEXT("{" P S "\"breakdown\":{\"a\":{}}}"), "breakdown.a"},
        {TEXT("{" P S "\"breakdown\":{\"\":null}}"), "breakdown.\"\""},
        {TEXT("{" P S "\"extra\":1}"), "extra"},
        {TEXT("{" P S "\"Passed\":true}"), "Passed"},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
        check_malformed(&cases[i]);
}

static void test_output_has_a_wrong_failure_mode(void **state)
{
#define MODES(text) TEXT("{" P S "\"failure_modes\":" text "}")
#define GOOD "{\"code\":\"a\",\"severity\":\"info\"}"
    static const struct output_case cases[] = {
        {MODES("{}"), "failure_modes"},
        {MODES("null"), "failure_modes"},
        {MODES("[\"a\"]"), "failure_modes[0]"},
        {MODES("[" GOOD ",null]"), "failure_modes[1]"},
        {MODES("[{\"severity\":\"info\"}]"), "failure_modes[0].code"},
        {MODES("[{\"code\":1,\"severity\":\"info\"}]"), "failure_modes[0].code"},
        {MODES("[" GOOD ",{\"code\":\"a\"}]"), "failure_modes[1].severity"},
        {MODES("[{\"code\":\"a\",\"severity\":\"BLOCK\"}]"), "failure_modes[0].severity"},
        {MODES("[{\"code\":\"a\",\"severity\":\"\"}]"), "failure_modes[0].severity"},
        {MODES("[{\"code\":\"a\",\"severity\":\"info\\u0000\"}]"), "failure_modes[0].severity"},
        {MODES("[{\"code\":\"a\",\"severity\":\"info\",\"detail\":1}]"), "failure_modes[0].detail"},
        {MODES("[" GOOD "," GOOD ",{\"code\":\"a\",\"severity\":\"info\",\"x\":0}]"),
         "failure_modes[2].x"},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
        check_malformed(&cases[i]);
}

/* --- valid BenchScores -------------------------------------------------------------------- */

static void expect_accepted(const char *out, const char *lists, const char *expected)
{
    bool accepted = false;
    _cleanup_free_ char *text = to_json(out);
    json_t *score = score_json(exited(0), (struct text){text, strlen(text)},
                               (struct text)TEXT("on success thrown away"), lists, &accepted);
    expect_json(score, expected);
    assert_true(accepted);
    json_decref(score);
}

static void test_accepted(void **state)
{
    static const struct {
        const char *out, *expected;
    } cases[] = {
        {"{'passed':true,'score':1}", "{'passed':true,'score':1,'breakdown':{},'failure_modes':[],"
                                      "'cost_usd':0,'wall_clock_ms':1}"},
        {"{'passed':false,'score':0.25}",
         "{'passed':false,'score':0.25,'breakdown':{},'failure_modes':[],"
         "'cost_usd':0,'wall_clock_ms':1}"},
        /* The rubric decides whether the case passed, whatever the score and failure modes. */
        {"{'passed':true,'score':0,'failure_modes':[{'code':'x','severity':'block'}]}",
         "{'passed':true,'score':0,'breakdown':{},"
         "'failure_modes':[{'code':'x','severity':'block'}],'cost_usd':0,'wall_clock_ms':1}"},
        {"{'passed':false,'score':1}", "{'passed':false,'score':1,'breakdown':{},"
                                       "'failure_modes':[],'cost_usd':0,'wall_clock_ms':1}"},
        /* The daemon replaces its own wall clock. */
        {"{'passed':true,'score':0.5,'breakdown':{'a':1e300,'b':-3},'cost_usd':12.5,"
         "'wall_clock_ms':99999,'failure_modes':[{'code':'x','severity':'warn','detail':'d'},"
         "{'code':'x','severity':'info','detail':''}]}",
         "{'passed':true,'score':0.5,'breakdown':{'a':1e300,'b':-3},'cost_usd':12.5,"
         "'wall_clock_ms':1,'failure_modes':[{'code':'x','severity':'warn','detail':'d'},"
         "{'code':'x','severity':'info','detail':''}]}"},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
        expect_accepted(cases[i].out, NULL, cases[i].expected);
}

static void test_accepted_with_white_space_around(void **state)
{
    static const struct text outs[] = {
        TEXT("{\"passed\":true,\"score\":1}"),
        TEXT("{\"passed\":true,\"score\":1}\n"),
        TEXT("\r\n\t {\r\n\"passed\"\t:\ntrue , \"score\":1.0}\r\n\n"),
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(outs); i++) {
        bool accepted = false;
        json_t *score = score_json(exited(0), outs[i], (struct text)NOTHING, NULL, &accepted);
        assert_true(accepted);
        json_decref(score);
    }
}

/* --- the task class's lists --------------------------------------------------------------- */

static const char listed[] = "{'passed':true,'score':1,'breakdown':{'a':1,'b':1},'failure_modes':["
                             "{'code':'x','severity':'info'},{'code':'y','severity':'info'}]}";
static const char listed_score[] =
    "{'passed':true,'score':1,'breakdown':{'a':1,'b':1},'failure_modes':["
    "{'code':'x','severity':'info'},{'code':'y','severity':'info'}],'cost_usd':0,"
    "'wall_clock_ms':1}";

static void test_lists_that_let_it_pass(void **state)
{
    static const char *const lists[] = {
        NULL,
        "{}",
        "{'breakdown_keys':null,'failure_modes':null}",
        "{'breakdown_keys':['a','b'],'failure_modes':['x','y']}",
        "{'breakdown_keys':['c','b','a','a'],'failure_modes':['z','y','x']}",
        "{'breakdown_keys':['a','b']}",
        "{'failure_modes':['x','y']}",
        "{'breakdown_keys':['a','b'],'failure_modes':null}",
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(lists); i++)
        expect_accepted(listed, lists[i], listed_score);
    expect_accepted("{'passed':true,'score':1}", "{'breakdown_keys':[],'failure_modes':[]}",
                    "{'passed':true,'score':1,'breakdown':{},'failure_modes':[],'cost_usd':0,"
                    "'wall_clock_ms':1}");
}

struct unknown_case {
    const char *out, *lists, *code, *detail;
};

static void check_unknown(const struct unknown_case *c)
{
    bool accepted = true;
    _cleanup_free_ char *text = to_json(c->out);
    json_t *score = score_json(exited(0), (struct text){text, strlen(text)},
                               (struct text)TEXT("a warning"), c->lists, &accepted);
    assert_false(accepted);
    expect_detail(expect_block(score, c->code), c->detail, strlen(c->detail));
    json_decref(score);
}

#define KEY "rubric.unknown_breakdown_key"
#define MODE "rubric.unknown_failure_mode"

static void test_lists_that_do_not_have_it(void **state)
{
    static const struct unknown_case cases[] = {
        {listed, "{'breakdown_keys':['a']}", KEY, "b"},
        {listed, "{'breakdown_keys':['b']}", KEY, "a"},
        {listed, "{'failure_modes':['x']}", MODE, "y"},
        {listed, "{'failure_modes':['y']}", MODE, "x"},
        /* An empty list allows nothing. The message names the first name in the rubric's order. */
        {listed, "{'breakdown_keys':[]}", KEY, "a"},
        {listed, "{'failure_modes':[]}", MODE, "x"},
        /* Both are wrong: the breakdown comes first. */
        {listed, "{'breakdown_keys':['a'],'failure_modes':['x']}", KEY, "b"},
        {listed, "{'breakdown_keys':[],'failure_modes':[]}", KEY, "a"},
        {listed, "{'breakdown_keys':['a','b'],'failure_modes':[]}", MODE, "x"},
        /* Names must be equal byte for byte. */
        {listed, "{'breakdown_keys':['a','B','b ','bb','']}", KEY, "b"},
        {"{'passed':true,'score':1,'breakdown':{'':1}}", "{'breakdown_keys':['a']}", KEY, ""},
        {"{'passed':true,'score':1,'breakdown':{'\\u00e9':1}}", "{'breakdown_keys':['e']}", KEY,
         "\xc3\xa9"},
        {"{'passed':true,'score':1,'failure_modes':[{'code':'','severity':'info'}]}",
         "{'failure_modes':['x']}", MODE, ""},
        /* Each list applies only to its own names. */
        {listed, "{'breakdown_keys':['a','b','x','y'],'failure_modes':['a','b']}", MODE, "x"},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
        check_unknown(&cases[i]);
}

/* A code with a NUL differs from the listed code before the NUL. The message has all of it. */
static void test_code_with_nul(void **state)
{
    const struct text out = TEXT("{\"passed\":true,\"score\":1,\"failure_modes\":[{\"code\":"
                                 "\"x\\u0000y\",\"severity\":\"info\"}]}");
    bool accepted = true;
    (void)state;
    json_t *score =
        score_json(exited(0), out, (struct text)NOTHING, "{'failure_modes':['x']}", &accepted);
    assert_false(accepted);
    expect_detail(expect_block(score, MODE), "x\0y", 3);
    json_decref(score);

    score = score_json(exited(0), out, (struct text)NOTHING, NULL, &accepted);
    assert_true(accepted);
    const json_t *mode = json_array_get(json_object_get(score, "failure_modes"), 0);
    expect_detail(json_object_get(mode, "code"), "x\0y", 3);
    json_decref(score);
}

/* The message has the whole of a long name. */
static void test_long_unknown_key(void **state)
{
    char name[5001], out[5100];
    (void)state;
    memset(name, 'k', sizeof(name) - 1);
    name[sizeof(name) - 1] = '\0';
    (void)snprintf(out, sizeof(out), "{'passed':true,'score':1,'breakdown':{'%s':1}}", name);
    check_unknown(&(struct unknown_case){out, "{'breakdown_keys':['a']}", KEY, name});
}

/* --- which row comes first ---------------------------------------------------------------- */

static void test_precedence(void **state)
{
    static const struct {
        struct outcome outcome;
        const char *out, *lists, *code;
    } cases[] = {
        {{.limit = LIMIT_WALL_CLOCK}, "nonsense", "{'breakdown_keys':[]}", "rubric.timeout"},
        {{.limit = LIMIT_WALL_CLOCK, .exit_code = 3}, "{}", NULL, "rubric.timeout"},
        {{.limit = LIMIT_OUTPUT, .exit_code = 0}, good_score, NULL, "rubric.malformed_output"},
        {{.limit = LIMIT_NONE, .exit_code = 3},
         "{\"passed\":true,\"score\":1,\"breakdown\":{\"a\":1}}",
         "{'breakdown_keys':[]}",
         "rubric.malformed_output"},
        /* Not a BenchScore and an unknown key. */
        {{.limit = LIMIT_NONE, .success = true},
         "{\"passed\":1,\"score\":1,\"breakdown\":{\"a\":1}}",
         "{'breakdown_keys':[]}",
         "rubric.malformed_output"},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        bool accepted = true;
        const struct text out = {cases[i].out, strlen(cases[i].out)};
        json_t *score =
            score_json(cases[i].outcome, out, (struct text)NOTHING, cases[i].lists, &accepted);
        assert_false(accepted);
        (void)expect_block(score, cases[i].code);
        json_decref(score);
    }
}

/* --- the system under test ---------------------------------------------------------------- */

static void check_sut(enum sut_status status, struct text text, const char *code,
                      const char *expected, size_t n)
{
    _cleanup_bytes_ struct bytes detail = captured(text);
    const struct rubric_spec spec = {.sut = status, .sut_detail = detail};
    struct bench_score score = BENCH_SCORE_NULL;
    assert_int_equal(score_sut(&spec, &score), 0);
    json_t *json = score_to_json(&score);
    const json_t *got = expect_block(json, code);
    if (expected)
        expect_detail(got, expected, n);
    else
        assert_null(got);
    json_decref(json);
    bench_score_deinit(&score);
}

static void test_sut(void **state)
{
    (void)state;
    check_sut(SUT_EXCEPTION, (struct text)NOTHING, "sut.exception", NULL, 0);
    check_sut(SUT_TIMEOUT, (struct text)NOTHING, "sut.timeout", NULL, 0);
    check_sut(SUT_EXCEPTION, (struct text)TEXT(""), "sut.exception", "", 0);
    check_sut(SUT_EXCEPTION, (struct text)TEXT("ValueError: \xc3\xa9\n"), "sut.exception",
              "ValueError: \xc3\xa9\n", 15);
    check_sut(SUT_TIMEOUT, (struct text)TEXT("after\0300 s"), "sut.timeout", "after\0300 s",
              sizeof("after\0300 s") - 1);
    check_sut(SUT_TIMEOUT, (struct text)TEXT("\xff"), "sut.timeout", "\xef\xbf\xbd", 3);
}

/* --- sandbox jobs ------------------------------------------------------------------------- */

static void check_sandbox(struct outcome outcome, const char *summary, const char *expected)
{
    _cleanup_bench_score_ struct bench_score score = BENCH_SCORE_NULL;
    _cleanup_free_ char *text = strdup(summary);
    outcome.summary = text;
    assert_int_equal(score_sandbox(&outcome, &score), 0);
    json_t *got = score_to_json(&score), *wanted = parse(expected);
    if (!json_equal(got, wanted))
        fail_msg("%s: not %s", summary, expected);
    json_decref(got);
    json_decref(wanted);
}

#define SANDBOX_SCORE(passed, score, modes)                                         \
    "{'passed':" passed ",'score':" score ",'breakdown':{},'failure_modes':[" modes \
    "],'cost_usd':0,'wall_clock_ms':1}"
#define SANDBOX_FAILED(code, detail) \
    SANDBOX_SCORE("false", "0", "{'code':'" code "','severity':'block','detail':'" detail "'}")

static void test_sandbox(void **state)
{
    (void)state;
    check_sandbox(exited(0), "ok", SANDBOX_SCORE("true", "1", ""));
    check_sandbox(exited(3), "exit status 3", SANDBOX_FAILED("sandbox.failed", "exit status 3"));
    check_sandbox(exited(1), "line 1\nline 2", SANDBOX_FAILED("sandbox.failed", "line 1\\nline 2"));
    check_sandbox(killed(SIGSEGV, LIMIT_NONE), "signal 11",
                  SANDBOX_FAILED("sandbox.failed", "signal 11"));
    for (enum limit limit = 0; limit < LIMIT_COUNT; limit++)
        check_sandbox(killed(SIGKILL, limit), "sandbox limit exceeded: x",
                      SANDBOX_FAILED("sandbox.limit_exceeded", "sandbox limit exceeded: x"));
    /* An exceeded limit counts however the job ended. */
    struct outcome late = exited(0);
    late.success = false;
    late.limit = LIMIT_OUTPUT;
    check_sandbox(late, "sandbox limit exceeded: output",
                  SANDBOX_FAILED("sandbox.limit_exceeded", "sandbox limit exceeded: output"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_timeout),
        cmocka_unit_test(test_failure_with_empty_stderr),
        cmocka_unit_test(test_failure_with_stderr),
        cmocka_unit_test(test_stderr_is_cut_at_200_bytes),
        cmocka_unit_test(test_output_is_not_json),
        cmocka_unit_test(test_output_is_empty),
        cmocka_unit_test(test_output_is_no_object),
        cmocka_unit_test(test_output_has_a_wrong_field),
        cmocka_unit_test(test_output_has_a_wrong_failure_mode),
        cmocka_unit_test(test_accepted),
        cmocka_unit_test(test_accepted_with_white_space_around),
        cmocka_unit_test(test_lists_that_let_it_pass),
        cmocka_unit_test(test_lists_that_do_not_have_it),
        cmocka_unit_test(test_code_with_nul),
        cmocka_unit_test(test_long_unknown_key),
        cmocka_unit_test(test_precedence),
        cmocka_unit_test(test_sut),
        cmocka_unit_test(test_sandbox),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
