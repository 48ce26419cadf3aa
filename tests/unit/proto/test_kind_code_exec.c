/* SPDX-License-Identifier: MIT */
/* Tests jobs of kind `code_exec`: valid values of every field, and exact messages for others. */
#include "requests.h"
#include "tests/unit/limit_table.h"
#include "tests/unit/scarce.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

/* Returns a policy in which the ceiling of code_exec's wall clock is 30 s. */
static struct request_policy policy(void)
{
    struct request_policy policy = {
        .defaults = {[JOB_CODE_EXEC] = job_kind_get(JOB_CODE_EXEC)->defaults},
        .ceilings = {[JOB_CODE_EXEC] = limits_ceiling_default},
        .allow_network = true, /* applies to sandbox jobs only */
    };
    policy.ceilings[JOB_CODE_EXEC].of[LIMIT_WALL_CLOCK] = 30000;
    return policy;
}

static const struct code_exec_spec *accept(const char *text, struct request *ret)
{
    struct request_policy defaults = policy();
    struct fault fault = FAULT_NULL;
    json_t *message = parse(text);
    if (request_decode(message, &defaults, ret, &fault) != 0)
        fail_msg("%.300s:\n  %s", text, fault.text);
    json_decref(message); /* the request does not borrow from it */
    assert_int_equal(ret->job->kind, JOB_CODE_EXEC);
    return &ret->job->code_exec;
}

#define JOB(fields) "{'type':'submit','id':'a','job':{'kind':'code_exec'," fields "}}"
#define CODE(fields) JOB("'code':'x=1'," fields)
#define TARGETS(fields) CODE("'targets':['assert x']," fields)
#define TEST(fields) CODE("'test':'def check(c): pass'," fields)

static void assert_bytes(const struct bytes *bytes, const char *data, size_t n)
{
    assert_non_null(bytes->data);
    assert_int_equal(bytes->length, n);
    assert_memory_equal(bytes->data, data, n);
}

/* --- the code ------------------------------------------------------------------------------- */

static void test_least(void **state)
{
    _cleanup_request_ struct request request = REQUEST_NULL;
    const struct code_exec_spec *spec = accept(CODE("'targets':['assert x']"), &request);
    (void)state;
    assert_string_equal(job_kind_name(JOB_CODE_EXEC), "code_exec");
    assert_false(spec->is_generation);
    assert_bytes(&spec->text, "x=1", 3);
    assert_int_equal(spec->target_count, 1);
    assert_bytes(&spec->targets[0], "assert x", 8);
    assert_null(spec->test.data);
    assert_null(spec->entry_point);
    assert_null(spec->prelude.data);
    assert_null(spec->test_setup.data);
    assert_false(spec->shared);
    assert_int_equal(request.job->priority, 0);
    assert_limits(&request.job->limits, &job_kind_get(JOB_CODE_EXEC)->defaults);
    assert_int_equal(request.job->limits.of[LIMIT_WALL_CLOCK], 3000);
}

static void test_text(void **state)
{
    static const struct {
        const char *text;
        bool is_generation;
        const char *data;
        size_t n;
    } cases[] = {
        {JOB("'targets':'x','code':'a\\u0000\xC3\xA9\\n'"), false, "a\0\xC3\xA9\n", 5},
        {JOB("'targets':'x','generation':'a\\u0000\xC3\xA9\\n'"), true, "a\0\xC3\xA9\n", 5},
        {JOB("'targets':'x','code':''"), false, "", 0},
        {JOB("'targets':'x','generation':''"), true, "", 0},
        {JOB("'targets':'x','generation':null,'code':' '"), false, " ", 1},
        {JOB("'targets':'x','generation':'\\r\\n','code':null"), true, "\r\n", 2},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        _cleanup_request_ struct request request = REQUEST_NULL;
        const struct code_exec_spec *spec = accept(cases[i].text, &request);
        assert_int_equal(spec->is_generation, cases[i].is_generation);
        assert_bytes(&spec->text, cases[i].data, cases[i].n);
    }
}

#define ONE_TEXT "job: expected exactly one of generation and code"

static void test_bad_text(void **state)
{
    static const struct refusal cases[] = {
        {JOB("'targets':'x'"), ONE_TEXT},
        {JOB("'targets':'x','code':null,'generation':null"), ONE_TEXT},
        {JOB("'targets':'x','code':'','generation':''"), ONE_TEXT},
        {JOB("'targets':'x','code':1"), "job.code: expected a string, got a number"},
        {JOB("'targets':'x','code':['x']"), "job.code: expected a string, got an array"},
        {JOB("'targets':'x','generation':{}"), "job.generation: expected a string, got an object"},
        /* fields of other kinds, and unknown ones */
        {TARGETS("'argv':['/bin/true']"), "job.argv: unknown field"},
        {TARGETS("'snippet':'x'"), "job.snippet: unknown field"},
        {TARGETS("'stdin':''"), "job.stdin: unknown field"},
        {TARGETS("'task_class':'t'"), "job.task_class: unknown field"},
        {TARGETS("'timeout_s':3"), "job.timeout_s: unknown field"},
        {TARGETS("'target':'x'"), "job.target: unknown field"},
    };
    (void)state;
    refuse_all(cases, ARRAY_SIZE(cases));
}

/* --- targets, test -------------------------------------------------------------------------- */

static void test_targets(void **state)
{
    _cleanup_request_ struct request request = REQUEST_NULL, one = REQUEST_NULL;
    const struct code_exec_spec *spec =
        accept(CODE("'targets':['assert f(1)\\n',' a\\u0000b','\\u0000','\xC2\xA0'],'test':null"),
               &request);
    (void)state;
    assert_int_equal(spec->target_count, 4);
    assert_bytes(&spec->targets[0], "assert f(1)\n", 12);
    assert_bytes(&spec->targets[1], " a\0b", 4);
    assert_bytes(&spec->targets[2], "\0", 1);
    assert_bytes(&spec->targets[3], "\xC2\xA0", 2);
    spec = accept(CODE("'targets':'assert 1'"), &one);
    assert_int_equal(spec->target_count, 1);
    assert_bytes(&spec->targets[0], "assert 1", 8);
}

#define BLANK ": empty, or nothing but white space"
#define ONE_CHECK "job: expected exactly one of targets and test"

static void test_bad_targets(void **state)
{
    static const struct refusal cases[] = {
        {CODE("'targets':[]"), "job.targets: expected 1 to 4096 assertions, got 0"},
        {CODE("'targets':''"), "job.targets" BLANK},
        {CODE("'targets':' \\t\\n\\u000b\\f\\r'"), "job.targets" BLANK},
        {CODE("'targets':['']"), "job.targets[0]" BLANK},
        {CODE("'targets':['x','y',' \\t\\n\\u000b\\f\\r']"), "job.targets[2]" BLANK},
        {CODE("'targets':['x','y',3]"), "job.targets[2]: expected a string, got a number"},
        {CODE("'targets':['x',null]"), "job.targets[1]: expected a string, got null"},
        {CODE("'targets':[['x']]"), "job.targets[0]: expected a string, got an array"},
        {CODE("'targets':{'0':'x'}"),
         "job.targets: expected a string or an array of strings, got an object"},
        {CODE("'targets':0"),
         "job.targets: expected a string or an array of strings, got a number"},
        {CODE("'targets':false"),
         "job.targets: expected a string or an array of strings, got a boolean"},
        {JOB("'code':''"), ONE_CHECK},
        {CODE("'targets':null,'test':null"), ONE_CHECK},
        {CODE("'entry_point':'f'"), ONE_CHECK},
        {CODE("'targets':['x'],'test':'x','entry_point':'f'"), ONE_CHECK},
        {CODE("'targets':[],'test':'x','entry_point':'f'"), ONE_CHECK},
    };
    (void)state;
    refuse_all(cases, ARRAY_SIZE(cases));
}

/* Makes a job with N targets. */
static char *many_targets(size_t n)
{
    char *text = calloc(1, 256 + n * 4), *end = text;
    assert_non_null(text);
    end = stpcpy(end, "{'type':'submit','id':'a','job':{'kind':'code_exec','code':'','targets':[");
    for (size_t i = 0; i < n; i++)
        end = stpcpy(end, i > 0 ? ",'t'" : "'t'");
    (void)stpcpy(end, "]}}");
    return text;
}

static void test_number_of_targets(void **state)
{
    (void)state;
    _cleanup_request_ struct request request = REQUEST_NULL;
    _cleanup_free_ char *most = many_targets(4096), *more = many_targets(4097);
    const struct code_exec_spec *spec = accept(most, &request);
    assert_int_equal(spec->target_count, 4096);
    assert_bytes(&spec->targets[4095], "t", 1);
    refuse(more, "job.targets: expected 1 to 4096 assertions, got 4097");
}

static void test_test(void **state)
{
    _cleanup_request_ struct request request = REQUEST_NULL;
    const struct code_exec_spec *spec = accept(
        CODE("'test':'def check(c):\\n a\\u0000','entry_point':'f','targets':null"), &request);
    (void)state;
    assert_bytes(&spec->test, "def check(c):\n a\0", 17);
    assert_string_equal(spec->entry_point, "f");
    assert_null(spec->targets);
    assert_int_equal(spec->target_count, 0);
}

static void test_bad_test(void **state)
{
    static const struct refusal cases[] = {
        {CODE("'test':'','entry_point':'f'"), "job.test" BLANK},
        {CODE("'test':' \\n','entry_point':'f'"), "job.test" BLANK},
        {CODE("'test':['x'],'entry_point':'f'"), "job.test: expected a string, got an array"},
        {CODE("'test':'x'"), "job.entry_point: missing; check() of test is called with it"},
        {TEST("'entry_point':null"), "job.entry_point: missing; check() of test is called with it"},
    };
    (void)state;
    refuse_all(cases, ARRAY_SIZE(cases));
}

static void test_entry_point(void **state)
{
    static const char *const names[] = {"f",  "_",   "A",       "z",        "Z",
                                        "_0", "a9",  "add_two", "\xC3\xA9", "a\xF0\x9F\x98\x80",
                                        "If", "ifs", "none",    "match",    "print",
                                        "de", "a_",  "Zz_09",   "\xC3\xA9z"};
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        _cleanup_request_ struct request with_targets = REQUEST_NULL, with_test = REQUEST_NULL;
        char text[300];
        (void)snprintf(text, sizeof(text), TARGETS("'entry_point':'%s'"), names[i]);
        assert_string_equal(accept(text, &with_targets)->entry_point, names[i]);
        (void)snprintf(text, sizeof(text), TEST("'entry_point':'%s'"), names[i]);
        assert_string_equal(accept(text, &with_test)->entry_point, names[i]);
    }
}

static void test_bad_entry_point(void **state)
{
    /* The neighbours of allowed characters in ASCII, and names that would be code. */
    static const char *const names[] = {
        "",   "0",  "9a",  "a b",  " a",    "a ",    "a.b", "a-b", "a@",  "a[", "a`", "a{",
        "a/", "a:", "f()", "a\\n", "a\\\\", "a\\t",  "f;g", "f#",  "@",   "[",  "^",  "`",
        "{",  "/",  ":",   "a^",   "~",     "a\x7F", "-",   "a,b", "a=b", "$a"};
    static const char *const shown[] = {
        [15] = "a\n", [16] = "a\\", [17] = "a\t"}; /* where it differs from the JSON */
    static const struct refusal types[] = {
        {TARGETS("'entry_point':1"), "job.entry_point: expected a string, got a number"},
        {TARGETS("'entry_point':['f']"), "job.entry_point: expected a string, got an array"},
        {TARGETS("'entry_point':'f\\u0000'"), "job.entry_point: contains a NUL character"},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        char text[300], expected[300];
        (void)snprintf(text, sizeof(text), TARGETS("'entry_point':'%s'"), names[i]);
        (void)snprintf(expected, sizeof(expected),
                       "job.entry_point: \"%s\" is not a name in Python of at most 255 bytes",
                       i < ARRAY_SIZE(shown) && shown[i] ? shown[i] : names[i]);
        refuse(text, expected);
    }
    refuse_all(types, ARRAY_SIZE(types));
}

static void test_length_of_entry_point(void **state)
{
    char name[257], text[600], expected[300];
    _cleanup_request_ struct request request = REQUEST_NULL;
    (void)state;
    memset(name, 'n', sizeof(name));
    name[255] = '\0';
    (void)snprintf(text, sizeof(text), TARGETS("'entry_point':'%s'"), name);
    assert_string_equal(accept(text, &request)->entry_point, name);
    name[255] = 'n';
    name[256] = '\0';
    (void)snprintf(text, sizeof(text), TARGETS("'entry_point':'%s'"), name);
    (void)snprintf(expected, sizeof(expected),
                   "job.entry_point: \"%.80s\" is not a name in Python of at most 255 bytes", name);
    refuse(text, expected);
}

/* The keywords are those of keyword.kwlist since Python 3.7. */
static void test_keywords(void **state)
{
    static const char *const words[] = {
        "False", "None",     "True",  "and",    "as",   "assert", "async",  "await",    "break",
        "class", "continue", "def",   "del",    "elif", "else",   "except", "finally",  "for",
        "from",  "global",   "if",    "import", "in",   "is",     "lambda", "nonlocal", "not",
        "or",    "pass",     "raise", "return", "try",  "while",  "with",   "yield",
    };
    (void)state;
    assert_int_equal(ARRAY_SIZE(words), 35);
    for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
        char text[300], expected[300];
        (void)snprintf(text, sizeof(text), TARGETS("'entry_point':'%s'"), words[i]);
        (void)snprintf(expected, sizeof(expected), "job.entry_point: \"%s\" is a keyword of Python",
                       words[i]);
        refuse(text, expected);
    }
}

static void test_names(void **state)
{
    _cleanup_request_ struct request request = REQUEST_NULL, empty = REQUEST_NULL,
                                     none = REQUEST_NULL, with_test = REQUEST_NULL;
    (void)state;
    const struct code_exec_spec *spec =
        accept(TARGETS("'names':['f','If','\xC3\xA9'],'entry_point':'f'"), &request);
    assert_int_equal(spec->name_count, 3);
    assert_string_equal(spec->names[0], "f");
    assert_string_equal(spec->names[1], "If");
    assert_string_equal(spec->names[2], "\xC3\xA9");
    assert_string_equal(spec->entry_point, "f");
    assert_int_equal(accept(TEST("'names':['g'],'entry_point':'f'"), &with_test)->name_count, 1);
    assert_int_equal(accept(TARGETS("'names':[]"), &empty)->name_count, 0);
    assert_null(accept(TARGETS("'names':null"), &none)->names);
}

static void test_bad_names(void **state)
{
    static const struct refusal cases[] = {
        {TARGETS("'names':'f'"), "job.names: expected an array, got a string"},
        {TARGETS("'names':{}"), "job.names: expected an array, got an object"},
        {TARGETS("'names':['f',1]"), "job.names[1]: expected a string, got a number"},
        {TARGETS("'names':[null]"), "job.names[0]: expected a string, got null"},
        {TARGETS("'names':['f\\u0000']"), "job.names[0]: contains a NUL character"},
        {TARGETS("'names':['f','a b']"),
         "job.names[1]: \"a b\" is not a name in Python of at most 255 bytes"},
        {TARGETS("'names':['']"),
         "job.names[0]: \"\" is not a name in Python of at most 255 bytes"},
        {TARGETS("'names':['if']"), "job.names[0]: \"if\" is a keyword of Python"},
        {TARGETS("'names':['f','g','f']"), "job.names[2]: \"f\" is there twice"},
        {TEST("'names':['f']"), "job.entry_point: missing; check() of test is called with it"},
    };
    (void)state;
    refuse_all(cases, ARRAY_SIZE(cases));
}

/* Names n0, n1, ...: as many as there may be, and one more. */
static void test_number_of_names(void **state)
{
    char text[4096];
    (void)state;
    for (int n = CODE_EXEC_NAMES_MAX; n <= CODE_EXEC_NAMES_MAX + 1; n++) {
        int at = snprintf(text, sizeof(text),
                          "{'type':'submit','id':'a','job':{'kind':'code_exec','code':'x',"
                          "'targets':['x'],'names':[");
        for (int i = 0; i < n; i++)
            at += snprintf(text + at, sizeof(text) - (size_t)at, "%s'n%d'", i > 0 ? "," : "", i);
        (void)snprintf(text + at, sizeof(text) - (size_t)at, "]}}");
        if (n > CODE_EXEC_NAMES_MAX) {
            refuse(text, "job.names: expected at most 256 names, got 257");
            return;
        }
        _cleanup_request_ struct request request = REQUEST_NULL;
        assert_int_equal(accept(text, &request)->name_count, CODE_EXEC_NAMES_MAX);
    }
}

/* --- limits and interpreter ----------------------------------------------------------------- */

static void test_prelude_and_setup(void **state)
{
    _cleanup_request_ struct request request = REQUEST_NULL, empty = REQUEST_NULL,
                                     none = REQUEST_NULL;
    const struct code_exec_spec *spec =
        accept(TARGETS("'prelude':'p\\u0000','test_setup':'import s'"), &request);
    (void)state;
    assert_bytes(&spec->prelude, "p\0", 2);
    assert_bytes(&spec->test_setup, "import s", 8);
    spec = accept(TARGETS("'prelude':'','test_setup':''"), &empty);
    assert_bytes(&spec->prelude, "", 0);
    assert_bytes(&spec->test_setup, "", 0);
    spec = accept(TARGETS("'prelude':null,'test_setup':null"), &none);
    assert_null(spec->prelude.data);
    assert_null(spec->test_setup.data);
}

static void test_verdict(void **state)
{
    static const struct {
        const char *text;
        bool shared;
    } cases[] = {
        {TARGETS("'verdict':'shared'"), true},
        {TARGETS("'verdict':'isolated'"), false},
        {TARGETS("'verdict':null"), false},
        {TEST("'verdict':'shared','entry_point':'f'"), true},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        _cleanup_request_ struct request request = REQUEST_NULL;
        assert_int_equal(accept(cases[i].text, &request)->shared, cases[i].shared);
    }
}

static void test_transcript(void **state)
{
    _cleanup_request_ struct request asked = REQUEST_NULL, none = REQUEST_NULL,
                                     replay = REQUEST_NULL, nothing = REQUEST_NULL;
    const struct code_exec_spec *spec = accept(TARGETS("'transcript':true"), &asked);
    (void)state;
    assert_true(spec->transcript);
    assert_false(spec->is_replay);
    spec = accept(TARGETS("'transcript':false,'replay':null"), &none);
    assert_false(spec->transcript);
    assert_false(spec->is_replay);
    assert_null(spec->replay.data);
    size_t size = job_spec_size(none.job);
    spec = accept(TARGETS("'replay':'eAB5','transcript':false,'verdict':'isolated'"), &replay);
    assert_true(spec->is_replay);
    assert_bytes(&spec->replay, "x\0y", 3);
    assert_int_equal(job_spec_size(replay.job), size + 3 + ALLOCATION_OVERHEAD);
    assert_false(accept(TARGETS("'transcript':null"), &nothing)->transcript);
}

static void test_bad_rest(void **state)
{
    static const struct refusal cases[] = {
        {TARGETS("'verdict':'Shared'"), "job.verdict: expected isolated or shared"},
        {TARGETS("'verdict':''"), "job.verdict: expected isolated or shared"},
        {TARGETS("'verdict':'isolated '"), "job.verdict: expected isolated or shared"},
        {TARGETS("'verdict':'shared\\u0000'"), "job.verdict: contains a NUL character"},
        {TARGETS("'verdict':true"), "job.verdict: expected a string, got a boolean"},
        {TARGETS("'prelude':1"), "job.prelude: expected a string, got a number"},
        {TARGETS("'prelude':['x']"), "job.prelude: expected a string, got an array"},
        {TARGETS("'test_setup':{}"), "job.test_setup: expected a string, got an object"},
        {TARGETS("'metadata':[]"), "job.metadata: expected an object, got an array"},
        {TARGETS("'metadata':3"), "job.metadata: expected an object, got a number"},
        {TARGETS("'transcript':1"), "job.transcript: expected a boolean, got a number"},
        {TARGETS("'replay':true"), "job.replay: expected a string, got a boolean"},
        {TARGETS("'replay':'eA='"), "job.replay: not base64 (RFC 4648, with padding), or empty"},
        {TARGETS("'replay':''"), "job.replay: not base64 (RFC 4648, with padding), or empty"},
        {TARGETS("'replay':'eAB5','transcript':true"),
         "job.transcript: a job with replay has none of its own"},
        {TARGETS("'replay':'eAB5','verdict':'shared'"),
         "job.verdict: a job with replay is judged as isolated"},
        {TARGETS("'priority':11"), "job.priority: expected an integer from -10 to 10"},
    };
    (void)state;
    refuse_all(cases, ARRAY_SIZE(cases));
}

static void test_timeout(void **state)
{
    static const struct {
        const char *text;
        uint64_t ms;
    } cases[] = {
        {TARGETS("'metadata':null"), 3000},
        {TARGETS("'metadata':{}"), 3000},
        {TARGETS("'metadata':{'timeout_s':null}"), 3000},
        {TARGETS("'metadata':{'timeout_s':30}"), 30000},
        {TARGETS("'metadata':{'timeout_s':30.0}"), 30000},
        {TARGETS("'metadata':{'timeout_s':0.0001}"), 1},
        {TARGETS("'metadata':{'timeout_s':2.0071}"), 2008}, /* rounded up */
        {TARGETS("'metadata':{'timeout_s':2.007}"), 2007},
        {TARGETS("'metadata':{'task_id':'x','timeout':99,'zzz':[{}],'timeout_s':1}"), 1000},
        {TARGETS("'limits':{'wall_clock':4.5}"), 4500},
        {TARGETS("'limits':{'wall_clock':4.5},'metadata':{'timeout_s':null}"), 4500},
        {TARGETS("'limits':{'cpu':4},'metadata':{'timeout_s':5}"), 5000},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        _cleanup_request_ struct request request = REQUEST_NULL;
        (void)accept(cases[i].text, &request);
        if (request.job->limits.of[LIMIT_WALL_CLOCK] != cases[i].ms)
            fail_msg("%s: %d", cases[i].text, (int)request.job->limits.of[LIMIT_WALL_CLOCK]);
    }
}

#define TIMEOUT_RULE "job.metadata.timeout_s: expected a number of seconds above 0"
#define TIMEOUT_CEILING "job.metadata.timeout_s: above the ceiling of 30 s"
#define TIMEOUT_TWICE \
    "job.metadata.timeout_s: job.limits.wall_clock says the same; only one of them may"

static void test_bad_timeout(void **state)
{
    static const struct refusal cases[] = {
        {TARGETS("'metadata':{'timeout_s':0}"), TIMEOUT_RULE},
        {TARGETS("'metadata':{'timeout_s':-1}"), TIMEOUT_RULE},
        {TARGETS("'metadata':{'timeout_s':'3'}"), TIMEOUT_RULE},
        {TARGETS("'metadata':{'timeout_s':true}"), TIMEOUT_RULE},
        {TARGETS("'metadata':{'timeout_s':[3]}"), TIMEOUT_RULE},
        {TARGETS("'metadata':{'timeout_s':30.001}"), TIMEOUT_CEILING},
        {TARGETS("'metadata':{'timeout_s':31}"), TIMEOUT_CEILING},
        {TARGETS("'metadata':{'timeout_s':1e300}"), TIMEOUT_CEILING},
        {TARGETS("'metadata':{'timeout_s':9223372036854775807}"), TIMEOUT_CEILING},
        {TARGETS("'metadata':{'timeout_s':3},'limits':{'wall_clock':3}"), TIMEOUT_TWICE},
        {TARGETS("'metadata':{'timeout_s':99},'limits':{'wall_clock':3}"), TIMEOUT_TWICE},
        {TARGETS("'limits':{'wall_clock':31}"), "job.limits.wall_clock: above the ceiling of 30 s"},
    };
    (void)state;
    refuse_all(cases, ARRAY_SIZE(cases));
}

static void test_limits(void **state)
{
    static const struct refusal cases[] = {
        {TARGETS("'limits':{'allow_network':false}"), "job.limits.allow_network: unknown field"},
        {TARGETS("'limits':{'timeout_s':3}"), "job.limits.timeout_s: unknown field"},
        {TARGETS("'limits':{'output_bytes':4194305}"),
         "job.limits.output_bytes: above the ceiling of 4 MiB"},
    };
    _cleanup_request_ struct request request = REQUEST_NULL;
    (void)state;
    (void)accept(TARGETS("'priority':-10,'limits':{'wall_clock':2.5,'cpu':1,'memory_bytes':100,"
                         "'max_open_files':20,'max_processes':1,'output_bytes':5,'disk_bytes':7}"),
                 &request);
    assert_limits_except(&request.job->limits,
                         &job_kind_get(JOB_CODE_EXEC)->defaults, [LIMIT_WALL_CLOCK] = 2500,
                         [LIMIT_CPU] = 1000, [LIMIT_MEMORY] = 100, [LIMIT_OPEN_FILES] = 20,
                         [LIMIT_PROCESSES] = 1, [LIMIT_OUTPUT] = 5, [LIMIT_DISK] = 7);
    assert_int_equal(request.job->priority, -10);
    refuse_all(cases, ARRAY_SIZE(cases));
}

/* --- memory --------------------------------------------------------------------------------- */

#define REST                                                                                       \
    "'entry_point':'name','names':['n2','n456'],'prelude':'12345','test_setup':'123456','verdict'" \
    ":'shared'"
#define EVERYTHING CODE("'targets':['1','22','333']," REST)
#define NAMES (2 * (sizeof(char *) + ALLOCATION_OVERHEAD) + 2 + 4)
#define EVERYTHING_ELSE JOB("'generation':'1234567','test':'12345678'," REST)

/* The size that the queue counts covers at least every byte that the job keeps. */
static void test_size(void **state)
{
    _cleanup_request_ struct request request = REQUEST_NULL, other = REQUEST_NULL;
    (void)state;
    (void)accept(EVERYTHING, &request);
    assert_int_equal(job_spec_size(request.job), 3 + 1 + 2 + 3 + 3 * sizeof(struct bytes) + 4 + 5 +
                                                     6 + NAMES + 7 * ALLOCATION_OVERHEAD);
    (void)accept(EVERYTHING_ELSE, &other);
    assert_int_equal(job_spec_size(other.job), 7 + 8 + 4 + 5 + 6 + NAMES + 5 * ALLOCATION_OVERHEAD);
}

/* Only jansson's allocations can be made to fail. */
static void test_without_memory(void **state)
{
    static const char *const texts[] = {EVERYTHING, EVERYTHING_ELSE};
    struct request_policy defaults = policy();
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
        json_t *message = parse(texts[i]);
        allocations_left = -1;
        for (int before = 0; allocations_left < 0; before++) {
            _cleanup_request_ struct request request = REQUEST_NULL;
            allocations_left = before;
            json_set_alloc_funcs(scarce_malloc, free);
            int r = request_decode(message, &defaults, &request, NULL);
            json_set_alloc_funcs(malloc, free);
            assert_int_equal(r, allocations_left < 0 ? -ENOMEM : 0);
        }
        json_decref(message);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_least),
        cmocka_unit_test(test_text),
        cmocka_unit_test(test_bad_text),
        cmocka_unit_test(test_targets),
        cmocka_unit_test(test_bad_targets),
        cmocka_unit_test(test_number_of_targets),
        cmocka_unit_test(test_test),
        cmocka_unit_test(test_bad_test),
        cmocka_unit_test(test_entry_point),
        cmocka_unit_test(test_bad_entry_point),
        cmocka_unit_test(test_length_of_entry_point),
        cmocka_unit_test(test_keywords),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_bad_names),
        cmocka_unit_test(test_number_of_names),
        cmocka_unit_test(test_prelude_and_setup),
        cmocka_unit_test(test_verdict),
        cmocka_unit_test(test_transcript),
        cmocka_unit_test(test_bad_rest),
        cmocka_unit_test(test_timeout),
        cmocka_unit_test(test_bad_timeout),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_size),
        cmocka_unit_test(test_without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
