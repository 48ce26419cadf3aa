/* SPDX-License-Identifier: MIT */
#include "requests.h"
#include "tests/unit/limit_table.h"
#include "tests/unit/scarce.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static struct request_policy policy(void)
{
    return (struct request_policy){
        .defaults = {[JOB_RUBRIC] = job_kind_get(JOB_RUBRIC)->defaults},
        .ceilings = {[JOB_RUBRIC] = limits_ceiling_default},
    };
}

static void accept_with(const char *text, const struct request_policy *policy, struct request *ret)
{
    struct fault fault = FAULT_NULL;
    json_t *message = parse(text);
    if (request_decode(message, policy, ret, &fault) != 0)
        fail_msg("%s:\n  %s", text, fault.text);
    assert_string_equal(fault.text, "");
    json_decref(message); /* the request does not borrow from it */
}

static void accept(const char *text, struct request *ret)
{
    struct request_policy defaults = policy();
    accept_with(text, &defaults, ret);
}

#define SUBMIT(job) "{'type':'submit','id':'a','job':{" job "}}"
#define SIXTEEN "0123456789abcdef"
#define RUBRIC "'kind':'rubric','task_class':'t','case':{},'harness_output':{}"
#define WITH(fields) SUBMIT(RUBRIC "," fields)
#define CASE(fields) \
    SUBMIT("'kind':'rubric','task_class':'t','case':{" fields "},'harness_output':{}")
#define TASK_CLASS(value) \
    SUBMIT("'kind':'rubric','task_class':" value ",'case':{},'harness_output':{}")

/* --- terminals ------------------------------------------------------------------------------ */

static void test_terminals(void **state)
{
    _cleanup_request_ struct request input = REQUEST_NULL, resize = REQUEST_NULL;
    (void)state;
    accept("{'type':'input','job_no':7,'base64':'AP8K'}", &input);
    assert_int_equal(input.type, REQUEST_INPUT);
    assert_int_equal(input.job_no, 7);
    assert_int_equal(input.input.length, 3);
    assert_memory_equal(input.input.data, "\0\xFF\n", 3);
    accept("{'type':'resize','job_no':7,'rows':50,'columns':0}", &resize);
    assert_int_equal(resize.type, REQUEST_RESIZE);
    assert_int_equal(resize.size.rows, 50);
    assert_int_equal(resize.size.columns, 0);
}

static void test_bad_terminals(void **state)
{
    static const struct refusal cases[] = {
        {"{'type':'input','job_no':7}", "base64: missing"},
        {"{'type':'input','base64':'AP8K'}", "job_no: missing"},
        {"{'type':'input','job_no':0,'base64':'AP8K'}", "job_no: expected an integer above 0"},
        {"{'type':'input','job_no':7,'base64':''}", "base64: expected 1 to 65536 bytes, got 0"},
        {"{'type':'input','job_no':7,'base64':'AP8'}",
         "base64: not base64 with padding and nothing else"},
        {"{'type':'input','id':'a','job_no':7,'base64':'AP8K'}", "id: unknown field"},
        {"{'type':'resize','job_no':7,'rows':1}", "columns: missing"},
        {"{'type':'resize','job_no':7,'rows':-1,'columns':1}",
         "rows: expected an integer from 0 to 65535"},
    };
    (void)state;
    refuse_all(cases, ARRAY_SIZE(cases));
}

/* --- the type of a message ---------------------------------------------------------------- */

static void test_types(void **state)
{
    static const struct {
        const char *text;
        enum request_type type;
    } cases[] = {
        {"{'type':'ping'}", REQUEST_PING},
        {"{'type':'status'}", REQUEST_STATUS},
        {"{'type':'drain'}", REQUEST_DRAIN},
        {"{'type':'reload'}", REQUEST_RELOAD},
        {"{'type':'cancel','id':'a'}", REQUEST_CANCEL},
        {WITH("'priority':0"), REQUEST_SUBMIT},
        {"{'type':'metrics'}", REQUEST_METRICS},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        _cleanup_request_ struct request request = REQUEST_NULL;
        accept(cases[i].text, &request);
        assert_int_equal(request.type, cases[i].type);
        assert_int_equal(request.job != NULL, cases[i].type == REQUEST_SUBMIT);
        assert_int_equal(request.id.data != NULL,
                         cases[i].type == REQUEST_SUBMIT || cases[i].type == REQUEST_CANCEL);
        assert_true(request.job_no == 0);
    }
}

static void test_bad_types(void **state)
{
    static const struct refusal cases[] = {
        {"{}", "type: missing"},
        {"{'id':'a','job':{}}", "type: missing"},
        {"{'Type':'ping'}", "type: missing"},
        {"{'type':null}", "type: expected a string, got null"},
        {"{'type':1}", "type: expected a string, got a number"},
        {"{'type':['ping']}", "type: expected a string, got an array"},
        {"{'type':{}}", "type: expected a string, got an object"},
        {"{'type':true}", "type: expected a string, got a boolean"},
        {"{'type':''}", "type: unknown message type \"\""},
        {"{'type':'Ping'}", "type: unknown message type \"Ping\""},
        {"{'type':'ping '}", "type: unknown message type \"ping \""},
        {"{'type':'pingping'}", "type: unknown message type \"pingping\""},
        {"{'type':'pin'}", "type: unknown message type \"pin\""},
        {"{'type':'hello'}", "type: unknown message type \"hello\""},
        {"{'type':'result'}", "type: unknown message type \"result\""},
        {"{'type':'ping\\u0000'}", "type: contains a NUL character"},
        {"{'type':'\\u0000'}", "type: contains a NUL character"},
        /* the type is checked first, because all other fields depend on it */
        {"{'zzz':1,'type':'zzz'}", "type: unknown message type \"zzz\""},
    };
    (void)state;
    refuse_all(cases, ARRAY_SIZE(cases));
}

static void test_bare_messages_have_no_fields(void **state)
{
    static const struct refusal cases[] = {
        {"{'type':'ping','id':'a'}", "id: unknown field"},
        {"{'type':'ping','zzz':null}", "zzz: unknown field"},
        {"{'type':'status','verbose':true}", "verbose: unknown field"},
        {"{'type':'metrics','format':'json'}", "format: unknown field"},
        {"{'grace':1,'type':'drain'}", "grace: unknown field"},
    };
    (void)state;
    refuse_all(cases, ARRAY_SIZE(cases));
}

/* --- submit: id and job -------------------------------------------------------------------- */

static void test_submit_fields(void **state)
{
    static const struct refusal cases[] = {
        {"{'type':'submit'}", "id: missing"},
        {"{'type':'submit','job':{" RUBRIC "}}", "id: missing"},
        {"{'type':'submit','id':null,'job':{" RUBRIC "}}", "id: expected a string, got null"},
        {"{'type':'submit','id':1,'job':{" RUBRIC "}}", "id: expected a string, got a number"},
        {"{'type':'submit','id':true,'job':{" RUBRIC "}}", "id: expected a string, got a boolean"},
        {"{'type':'submit','id':['a'],'job':{" RUBRIC "}}", "id: expected a string, got an array"},
        {"{'type':'submit','id':{},'job':{" RUBRIC "}}", "id: expected a string, got an object"},
        {"{'type':'submit','id':'','job':{" RUBRIC "}}", "id: expected 1 to 128 bytes, got 0"},
        {"{'type':'submit','id':'a','share':'','job':{" RUBRIC "}}",
         "share: expected 1 to 64 bytes, got 0"},
        {"{'type':'submit','id':'a','share':'" SIXTEEN SIXTEEN SIXTEEN SIXTEEN "x','job':{" RUBRIC
         "}}",
         "share: expected 1 to 64 bytes, got 65"},
        {"{'type':'submit','id':'a','share':'a\\u0000','job':{" RUBRIC "}}",
         "share: contains a NUL character"},
        {"{'type':'submit','id':'a','share':null,'job':{" RUBRIC "}}",
         "share: expected a string, got null"},
        {"{'type':'submit','id':'a'}", "job: missing"},
        {"{'type':'submit','id':'a','job':null}", "job: expected an object, got null"},
        {"{'type':'submit','id':'a','job':[]}", "job: expected an object, got an array"},
        {"{'type':'submit','id':'a','job':'x'}", "job: expected an object, got a string"},
        {"{'type':'submit','id':'a','job':{" RUBRIC "},'zzz':1}", "zzz: unknown field"},
        {"{'type':'submit','id':'a','job':{" RUBRIC "},'priority':1}", "priority: unknown field"},
        {"{'type':'submit','id':'a','kind':'rubric','job':{}}", "kind: unknown field"},
    };
    (void)state;
    refuse_all(cases, ARRAY_SIZE(cases));
}

static void test_id_is_kept(void **state)
{
    static const struct {
        const char *json, *bytes;
        size_t length;
    } cases[] = {
        {"a", "a", 1},
        {" ", " ", 1},
        {"\\u0000", "\0", 1},
        {"a\\u0000b", "a\0b", 3},
        {"\\u00e9\\ud83d\\ude00", "\xC3\xA9\xF0\x9F\x98\x80", 6},
        {"../..\\n", "../..\n", 6},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        _cleanup_request_ struct request request = REQUEST_NULL;
        char text[300];
        (void)snprintf(text, sizeof(text), "{'type':'submit','id':'%s','job':{" RUBRIC "}}",
                       cases[i].json);
        accept(text, &request);
        assert_int_equal(request.id.length, cases[i].length);
        assert_memory_equal(request.id.data, cases[i].bytes, cases[i].length + 1);
    }
}

/* The limit is 128 bytes, not characters. An escape counts as the bytes that it encodes. */
static void test_id_length(void **state)
{
    static const struct {
        const char *unit;
        size_t count, bytes;
    } cases[] = {
        {"x", 1, 1},
        {"x", 127, 127},
        {"x", 128, 128},
        {"x", 129, 129},
        {"x", 5000, 5000},
        {"\xC3\xA9", 64, 128},
        {"\xC3\xA9", 65, 130},
        {"\\u00e9", 64, 128},
        {"\\u0000", 128, 128},
        {"\\u0000", 129, 129},
        {"\xF0\x9F\x98\x80", 32, 128},
        {"\xF0\x9F\x98\x80", 33, 132},
    };
    (void)state;
    for (size_t i = 0; i < 2 * ARRAY_SIZE(cases); i++) {
        size_t which = i / 2;
        char id[8000] = "", text[9000], message[80];
        for (size_t j = 0; j < cases[which].count; j++)
            (void)strcpy(id + j * strlen(cases[which].unit), cases[which].unit);
        (void)snprintf(text, sizeof(text), "{'type':'%s','id':'%s'%s}", i % 2 ? "submit" : "cancel",
                       id, i % 2 ? ",'job':{" RUBRIC "}" : "");
        (void)snprintf(message, sizeof(message), "id: expected 1 to 128 bytes, got %zu",
                       cases[which].bytes);
        if (cases[which].bytes > REQUEST_ID_MAX) {
            refuse(text, message);
        } else {
            _cleanup_request_ struct request request = REQUEST_NULL;
            accept(text, &request);
            assert_int_equal(request.id.length, cases[which].bytes);
        }
    }
}

static void test_kind(void **state)
{
    static const struct refusal cases[] = {
        {SUBMIT(""), "job.kind: missing"},
        {SUBMIT("'task_class':'t','case':{},'harness_output':{}"), "job.kind: missing"},
        {SUBMIT("'kind':null"), "job.kind: expected a string, got null"},
        {SUBMIT("'kind':0"), "job.kind: expected a string, got a number"},
        {SUBMIT("'kind':{}"), "job.kind: expected a string, got an object"},
        {SUBMIT("'kind':''"), "job.kind: unknown kind \"\""},
        {SUBMIT("'kind':'Rubric'"), "job.kind: unknown kind \"Rubric\""},
        {SUBMIT("'kind':'rubric2'"), "job.kind: unknown kind \"rubric2\""},
        {SUBMIT("'kind':'rubri'"), "job.kind: unknown kind \"rubri\""},
        {SUBMIT("'kind':'rubric\\u0000'"), "job.kind: contains a NUL character"},
        /* the kind is checked before the fields, which depend on it */
        {SUBMIT("'zzz':1,'kind':'zzz'"), "job.kind: unknown kind \"zzz\""},
    };
    (void)state;
    refuse_all(cases, ARRAY_SIZE(cases));
    assert_string_equal(job_kind_name(JOB_RUBRIC), "rubric");
}

/* --- the fields of a rubric job ------------------------------------------------------------ */

static void test_missing(void **state)
{
    static const struct refusal cases[] = {
        {SUBMIT("'kind':'rubric'"), "job.task_class: missing"},
        {SUBMIT("'kind':'rubric','case':{},'harness_output':{}"), "job.task_class: missing"},
        {SUBMIT("'kind':'rubric','task_class':'t','harness_output':{}"), "job.case: missing"},
        {SUBMIT("'kind':'rubric','task_class':'t','case':{}"), "job.harness_output: missing"},
    };
    (void)state;
    refuse_all(cases, ARRAY_SIZE(cases));
}

static void test_mistyped(void **state)
{
    static const struct refusal cases[] = {
        {TASK_CLASS("null"), "job.task_class: expected a string, got null"},
        {TASK_CLASS("1"), "job.task_class: expected a string, got a number"},
        {TASK_CLASS("['t']"), "job.task_class: expected a string, got an array"},
        {SUBMIT("'kind':'rubric','task_class':'t','case':null,'harness_output':{}"),
         "job.case: expected an object, got null"},
        {SUBMIT("'kind':'rubric','task_class':'t','case':[],'harness_output':{}"),
         "job.case: expected an object, got an array"},
        {SUBMIT("'kind':'rubric','task_class':'t','case':'{}','harness_output':{}"),
         "job.case: expected an object, got a string"},
        {SUBMIT("'kind':'rubric','task_class':'t','case':{},'harness_output':null"),
         "job.harness_output: expected an object, got null"},
        {SUBMIT("'kind':'rubric','task_class':'t','case':{},'harness_output':'text'"),
         "job.harness_output: expected an object, got a string"},
        {SUBMIT("'kind':'rubric','task_class':'t','case':{},'harness_output':7"),
         "job.harness_output: expected an object, got a number"},
        {WITH("'bench_root':1"), "job.bench_root: expected a string, got a number"},
        {WITH("'bench_root':[]"), "job.bench_root: expected a string, got an array"},
        {WITH("'rubric_digest':7"), "job.rubric_digest: expected a string, got a number"},
        {WITH("'sut':'ok'"), "job.sut: expected an object, got a string"},
        {WITH("'sut':true"), "job.sut: expected an object, got a boolean"},
        {WITH("'limits':[]"), "job.limits: expected an object, got an array"},
        {WITH("'limits':60"), "job.limits: expected an object, got a number"},
        {WITH("'priority':'1'"), "job.priority: expected an integer, got a string"},
        {WITH("'priority':1.0"), "job.priority: expected an integer, got a number"},
        {WITH("'priority':true"), "job.priority: expected an integer, got a boolean"},
        {WITH("'priority':{}"), "job.priority: expected an integer, got an object"},
    };
    (void)state;
    refuse_all(cases, ARRAY_SIZE(cases));
}

static void test_unknown(void **state)
{
    static const struct refusal cases[] = {
        {WITH("'zzz':1"), "job.zzz: unknown field"},
        {WITH("'zzz':null"), "job.zzz: unknown field"},
        {WITH("'Case':{}"), "job.Case: unknown field"},
        {WITH("'id':'a'"), "job.id: unknown field"},
        {WITH("'wall_clock':5"), "job.wall_clock: unknown field"},
        {WITH("'argv':['true']"), "job.argv: unknown field"},
        {WITH("'env':{}"), "job.env: unknown field"},
        {WITH("'rubric_wall_clock_seconds':5"), "job.rubric_wall_clock_seconds: unknown field"},
        {SUBMIT("'kind':'rubric','zzz':1"), "job.zzz: unknown field"},
        {WITH("'sut':{'zzz':1}"), "job.sut.zzz: unknown field"},
        {WITH("'sut':{'status':'ok','message':'x'}"), "job.sut.message: unknown field"},
    };
    (void)state;
    refuse_all(cases, ARRAY_SIZE(cases));
}

static void test_share_is_kept(void **state)
{
    _cleanup_request_ struct request named = REQUEST_NULL, none = REQUEST_NULL;
    (void)state;
    accept("{'type':'submit','id':'a','share':'" SIXTEEN SIXTEEN SIXTEEN SIXTEEN "','job':{" RUBRIC
           "}}",
           &named);
    assert_string_equal(named.share, SIXTEEN SIXTEEN SIXTEEN SIXTEEN);
    accept(WITH("'priority':0"), &none);
    assert_null(none.share);
}

/* For optional fields null means absent. */
static void test_null_is_absent(void **state)
{
    _cleanup_request_ struct request request = REQUEST_NULL;
    (void)state;
    accept(WITH("'bench_root':null,'rubric_digest':null,'sut':null,'limits':null,'priority':null"),
           &request);
    assert_int_equal(request.job->kind, JOB_RUBRIC);
    assert_int_equal(request.job->priority, 0);
    assert_null(request.job->rubric.bench_root);
    assert_null(request.job->rubric.digest);
    assert_int_equal(request.job->rubric.sut, SUT_OK);
    assert_null(request.job->rubric.sut_detail.data);
    assert_limits(&request.job->limits, &job_kind_get(JOB_RUBRIC)->defaults);
}

static void test_complete(void **state)
{
    _cleanup_request_ struct request request = REQUEST_NULL;
    (void)state;
    accept("{'job':{'sut':{'status':'timeout','detail':'d\\u0000'},'harness_output':{'b':[1]},"
           "'case':{'rubric_wall_clock_seconds':1.5,'a':'\\u0000'},'task_class':'sql-answer',"
           "'bench_root':'/srv/bench','limits':{'cpu':2},'priority':-3,'kind':'rubric'},"
           "'id':'one','type':'submit'}",
           &request);
    const struct job_spec *job = request.job;
    assert_string_equal(request.id.data, "one");
    assert_int_equal(job->priority, -3);
    assert_string_equal(job->rubric.task_class, "sql-answer");
    assert_string_equal(job->rubric.bench_root, "/srv/bench");
    assert_int_equal(job->rubric.sut, SUT_TIMEOUT);
    assert_int_equal(job->rubric.sut_detail.length, 2);
    assert_memory_equal(job->rubric.sut_detail.data, "d\0", 3);
    assert_true(job->limits.of[LIMIT_WALL_CLOCK] == 1500);
    assert_true(job->limits.of[LIMIT_CPU] == 2000);
    assert_true(job->limits.of[LIMIT_MEMORY] ==
                job_kind_get(JOB_RUBRIC)->defaults.of[LIMIT_MEMORY]);
    assert_string_equal(job->rubric.input.data,
                        "{\"case\":{\"rubric_wall_clock_seconds\":1.5,\"a\":\"\\u0000\"},"
                        "\"harness_output\":{\"b\":[1]}}");
    assert_int_equal(job->rubric.input.length, strlen(job->rubric.input.data));
}

/* The rubric's input has the client's values unchanged, and its keys in the same order. */
static void test_input(void **state)
{
    static const char test_case[] =
        "{'z':1,'a':[true,null,'\\u0000\\n\\\\ \xC3\xA9',{'':9223372036854775807}],"
        "'r':0.5,'big':1e22,'list':[[],{}]}";
    _cleanup_request_ struct request request = REQUEST_NULL;
    char text[400];
    (void)state;
    (void)snprintf(text, sizeof(text),
                   SUBMIT("'kind':'rubric','task_class':'t','harness_output':{'x':0.1},"
                          "'case':%s"),
                   test_case);
    accept(text, &request);
    const struct bytes *input = &request.job->rubric.input;
    json_t *expected = json_object(),
           *got = json_loadb(input->data, input->length, JSON_ALLOW_NUL, NULL);
    assert_non_null(got);
    assert_int_equal(json_object_set_new(expected, "case", parse(test_case)), 0);
    assert_int_equal(json_object_set_new(expected, "harness_output", parse("{'x':0.1}")), 0);
    assert_true(json_equal(got, expected));
    assert_int_equal(strncmp(input->data, "{\"case\":{\"z\":1,\"a\":[true,null,\"\\u0000\\n", 36),
                     0);
    json_decref(got);
    json_decref(expected);
}

/* case and harness_output may use the whole depth of a message. */
static void test_deep_input(void **state)
{
    char open[JSON_DEPTH_MAX] = "", close[JSON_DEPTH_MAX] = "", text[1000];
    _cleanup_request_ struct request request = REQUEST_NULL;
    (void)state;
    memset(open, '[', JSON_DEPTH_MAX - 3);
    memset(close, ']', JSON_DEPTH_MAX - 3);
    (void)snprintf(text, sizeof(text),
                   SUBMIT("'kind':'rubric','task_class':'t','harness_output':{},"
                          "'case':{'a':%s%s}"),
                   open, close);
    accept(text, &request);
    assert_int_equal(request.job->rubric.input.length,
                     strlen("{\"case\":{\"a\":},\"harness_output\":{}}") +
                         2 * (JSON_DEPTH_MAX - 3));
}

/* --- priority ------------------------------------------------------------------------------ */

static void test_priority(void **state)
{
    (void)state;
    for (int priority = -12; priority <= 12; priority++) {
        char text[200];
        (void)snprintf(text, sizeof(text), WITH("'priority':%d"), priority);
        if (priority < -10 || priority > 10) {
            refuse(text, "job.priority: expected an integer from -10 to 10");
        } else {
            _cleanup_request_ struct request request = REQUEST_NULL;
            accept(text, &request);
            assert_int_equal(request.job->priority, priority);
        }
    }
    refuse(WITH("'priority':4294967296"), "job.priority: expected an integer from -10 to 10");
    refuse(WITH("'priority':9223372036854775807"),
           "job.priority: expected an integer from -10 to 10");
    refuse(WITH("'priority':-9223372036854775808"),
           "job.priority: expected an integer from -10 to 10");
}

/* --- the wall clock of a case -------------------------------------------------------------- */

#define SECONDS(value) CASE("'rubric_wall_clock_seconds':" value)

static void test_wall_clock(void **state)
{
    static const struct {
        const char *text;
        uint64_t ms;
    } cases[] = {
        {CASE(""), 60000},          {SECONDS("null"), 60000},      {SECONDS("0"), 60000},
        {SECONDS("-0"), 60000},     {SECONDS("0.0"), 60000},       {SECONDS("-0.0"), 60000},
        {SECONDS("1e-400"), 60000}, /* underflows to 0 */
        {SECONDS("1"), 1000},       {SECONDS("1.0"), 1000},        {SECONDS("0.5"), 500},
        {SECONDS("0.001"), 1},      {SECONDS("0.0001"), 1}, /* rounded up */
        {SECONDS("5e-324"), 1},     {SECONDS("1.0001"), 1001},     {SECONDS("60.5"), 60500},
        {SECONDS("299.9"), 299900}, {SECONDS("299.9999"), 300000}, {SECONDS("300"), 300000},
        {SECONDS("300.0"), 300000}, {SECONDS("3e2"), 300000},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        _cleanup_request_ struct request request = REQUEST_NULL;
        accept(cases[i].text, &request);
        if (request.job->limits.of[LIMIT_WALL_CLOCK] != cases[i].ms)
            fail_msg("%s: %llu ms", cases[i].text,
                     (unsigned long long)request.job->limits.of[LIMIT_WALL_CLOCK]);
        assert_true(request.job->limits.of[LIMIT_CPU] ==
                    job_kind_get(JOB_RUBRIC)->defaults.of[LIMIT_CPU]);
    }
}

#define AT "job.case.rubric_wall_clock_seconds: "

static void test_bad_wall_clock(void **state)
{
    static const struct refusal cases[] = {
        {SECONDS("300.001"), AT "above the ceiling of 300 s"},
        {SECONDS("300.0001"), AT "above the ceiling of 300 s"},
        {SECONDS("301"), AT "above the ceiling of 300 s"},
        {SECONDS("1e10"), AT "above the ceiling of 300 s"},
        {SECONDS("1e308"), AT "above the ceiling of 300 s"},
        {SECONDS("18446744073709552.5"), AT "above the ceiling of 300 s"},
        {SECONDS("9223372036854775807"), AT "above the ceiling of 300 s"},
        {SECONDS("-1"), AT "negative"},
        {SECONDS("-0.001"), AT "negative"},
        {SECONDS("-1e308"), AT "negative"},
        {SECONDS("-9223372036854775808"), AT "negative"},
        {SECONDS("true"), AT "expected a number of seconds, got a boolean"},
        {SECONDS("false"), AT "expected a number of seconds, got a boolean"},
        {SECONDS("'5'"), AT "expected a number of seconds, got a string"},
        {SECONDS("''"), AT "expected a number of seconds, got a string"},
        {SECONDS("[5]"), AT "expected a number of seconds, got an array"},
        {SECONDS("{}"), AT "expected a number of seconds, got an object"},
    };
    (void)state;
    refuse_all(cases, ARRAY_SIZE(cases));
}

/* Only the key at the top of the case counts; the daemon ignores the rest of the case. */
static void test_wall_clock_elsewhere(void **state)
{
    static const char *const texts[] = {
        CASE("'wall_clock_seconds':9999,'timeout':-1"),
        CASE("'nested':{'rubric_wall_clock_seconds':9999}"),
        SUBMIT("'kind':'rubric','task_class':'t','case':{},"
               "'harness_output':{'rubric_wall_clock_seconds':9999}"),
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
        _cleanup_request_ struct request request = REQUEST_NULL;
        accept(texts[i], &request);
        assert_true(request.job->limits.of[LIMIT_WALL_CLOCK] == 60000);
    }
}

static void test_wall_clock_of_the_configuration(void **state)
{
    struct request_policy other = policy();
    struct fault fault = FAULT_NULL;
    (void)state;
    other.defaults[JOB_RUBRIC].of[LIMIT_WALL_CLOCK] = 2500;
    other.ceilings[JOB_RUBRIC].of[LIMIT_WALL_CLOCK] = 10500;
    _cleanup_request_ struct request request = REQUEST_NULL, at_ceiling = REQUEST_NULL;
    accept_with(SECONDS("0"), &other, &request);
    assert_true(request.job->limits.of[LIMIT_WALL_CLOCK] == 2500);
    accept_with(SECONDS("10.5"), &other, &at_ceiling);
    assert_true(at_ceiling.job->limits.of[LIMIT_WALL_CLOCK] == 10500);

    json_t *message = parse(SECONDS("10.501"));
    assert_int_equal(request_decode(message, &other, &request, &fault), -EINVAL);
    assert_string_equal(fault.text, AT "above the ceiling of 10.5 s");
    json_decref(message);
}

/* --- limits -------------------------------------------------------------------------------- */

static void test_limits(void **state)
{
    static const struct {
        const char *text;
        enum limit limit;
        uint64_t value;
    } cases[] = {
        {WITH("'limits':{}"), LIMIT_CPU, 300000},
        {WITH("'limits':{'cpu':1}"), LIMIT_CPU, 1000},
        {WITH("'limits':{'cpu':0.25}"), LIMIT_CPU, 250},
        {WITH("'limits':{'cpu':1e-9}"), LIMIT_CPU, 1},
        {WITH("'limits':{'cpu':300}"), LIMIT_CPU, 300000},
        {WITH("'limits':{'memory_bytes':1}"), LIMIT_MEMORY, 1},
        {WITH("'limits':{'memory_bytes':1073741825}"), LIMIT_MEMORY, 1073741825},
        {WITH("'limits':{'memory_bytes':4294967296}"), LIMIT_MEMORY, UINT64_C(4294967296)},
        {WITH("'limits':{'max_open_files':16}"), LIMIT_OPEN_FILES, 16},
        {WITH("'limits':{'max_open_files':1024}"), LIMIT_OPEN_FILES, 1024},
        {WITH("'limits':{'max_processes':1}"), LIMIT_PROCESSES, 1},
        {WITH("'limits':{'max_processes':256}"), LIMIT_PROCESSES, 256},
        {WITH("'limits':{'output_bytes':10}"), LIMIT_OUTPUT, 10},
        {WITH("'limits':{'output_bytes':4194304}"), LIMIT_OUTPUT, 4194304},
        {WITH("'limits':{'disk_bytes':4096}"), LIMIT_DISK, 4096},
        {WITH("'limits':{'disk_bytes':1073741824}"), LIMIT_DISK, 1073741824},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        _cleanup_request_ struct request request = REQUEST_NULL;
        accept(cases[i].text, &request);
        for (enum limit limit = 0; limit < LIMIT_COUNT; limit++)
            assert_true(request.job->limits.of[limit] ==
                        (limit == cases[i].limit ? cases[i].value
                                                 : job_kind_get(JOB_RUBRIC)->defaults.of[limit]));
    }
}

static void test_bad_limits(void **state)
{
    static const struct refusal cases[] = {
        {WITH("'limits':{'cpu':300.001}"), "job.limits.cpu: above the ceiling of 300 s"},
        {WITH("'limits':{'cpu':1e308}"), "job.limits.cpu: above the ceiling of 300 s"},
        {WITH("'limits':{'cpu':0}"), "job.limits.cpu: expected a number of seconds above 0"},
        {WITH("'limits':{'cpu':0.0}"), "job.limits.cpu: expected a number of seconds above 0"},
        {WITH("'limits':{'cpu':-1}"), "job.limits.cpu: expected a number of seconds above 0"},
        {WITH("'limits':{'cpu':null}"), "job.limits.cpu: expected a number of seconds above 0"},
        {WITH("'limits':{'cpu':'1'}"), "job.limits.cpu: expected a number of seconds above 0"},
        {WITH("'limits':{'cpu':true}"), "job.limits.cpu: expected a number of seconds above 0"},
        {WITH("'limits':{'memory_bytes':4294967297}"),
         "job.limits.memory_bytes: above the ceiling of 4 GiB"},
        {WITH("'limits':{'memory_bytes':9223372036854775807}"),
         "job.limits.memory_bytes: above the ceiling of 4 GiB"},
        {WITH("'limits':{'memory_bytes':0}"),
         "job.limits.memory_bytes: expected an integer above 0"},
        {WITH("'limits':{'memory_bytes':-1}"),
         "job.limits.memory_bytes: expected an integer above 0"},
        {WITH("'limits':{'memory_bytes':1.0}"),
         "job.limits.memory_bytes: expected an integer above 0"},
        {WITH("'limits':{'memory_bytes':1e9}"),
         "job.limits.memory_bytes: expected an integer above 0"},
        {WITH("'limits':{'memory_bytes':'1G'}"),
         "job.limits.memory_bytes: expected an integer above 0"},
        {WITH("'limits':{'memory_bytes':null}"),
         "job.limits.memory_bytes: expected an integer above 0"},
        {WITH("'limits':{'max_open_files':1025}"),
         "job.limits.max_open_files: above the ceiling of 1024"},
        {WITH("'limits':{'max_processes':257}"),
         "job.limits.max_processes: above the ceiling of 256"},
        {WITH("'limits':{'output_bytes':4194305}"),
         "job.limits.output_bytes: above the ceiling of 4 MiB"},
        {WITH("'limits':{'disk_bytes':1073741825}"),
         "job.limits.disk_bytes: above the ceiling of 1 GiB"},
        {WITH("'limits':{'wall_clock':5}"),
         "job.limits.wall_clock: a rubric's is set by job.case.rubric_wall_clock_seconds"},
        {WITH("'limits':{'wall_clock':null}"),
         "job.limits.wall_clock: a rubric's is set by job.case.rubric_wall_clock_seconds"},
        {WITH("'limits':{'zzz':1}"), "job.limits.zzz: unknown field"},
        {WITH("'limits':{'memory':1}"), "job.limits.memory: unknown field"},
        {WITH("'limits':{'open_files':1}"), "job.limits.open_files: unknown field"},
        {WITH("'limits':{'allow_network':true}"), "job.limits.allow_network: unknown field"},
        {WITH("'limits':{'CPU':1}"), "job.limits.CPU: unknown field"},
        {WITH("'limits':{'cpu':1,'output_bytes':0}"),
         "job.limits.output_bytes: expected an integer above 0"},
    };
    (void)state;
    refuse_all(cases, ARRAY_SIZE(cases));
}

/* Writes a job that sets LIMIT alone, to VALUE, and a thousandth more if it is a time. */
static void write_limit(char text[256], enum limit limit, uint64_t value, bool more)
{
    const struct limit_row *row = &limit_table()->rows[limit];
    (void)snprintf(text, 256, WITH("'limits':{'%s':%" PRIu64 "%s}"), row->key,
                   row->is_time ? value / 1000 : value, row->is_time && more ? ".001" : "");
}

/* Writes a ceiling of the table as a message has it. */
static void write_ceiling(char text[64], enum limit limit, uint64_t ceiling)
{
    const char *unit = "";
    if (limit_table()->rows[limit].is_time) {
        ceiling /= 1000;
        unit = " s";
    } else if (limit_is_in_bytes(limit)) {
        bool is_large = ceiling >= UINT64_C(1) << 30;
        ceiling >>= is_large ? 30 : 20;
        unit = is_large ? " GiB" : " MiB";
    }
    (void)snprintf(text, 64, "%" PRIu64 "%s", ceiling, unit);
}

/* A request may set each limit up to its ceiling, and this changes no other limit. */
static void test_every_limit_and_its_ceiling(void **state)
{
    const struct limit_table *table = limit_table();
    char text[256], expected[128], shown[64];
    (void)state;
    for (enum limit limit = LIMIT_WALL_CLOCK + 1; limit < LIMIT_COUNT; limit++) {
        bool is_time = table->rows[limit].is_time;
        uint64_t ceiling = table->ceilings.of[limit];
        _cleanup_request_ struct request request = REQUEST_NULL;
        struct limits rest = table->defaults[JOB_RUBRIC];
        write_limit(text, limit, ceiling, false);
        accept(text, &request);
        rest.of[limit] = ceiling;
        assert_limits(&request.job->limits, &rest);
        write_limit(text, limit, is_time ? ceiling : ceiling + 1, true);
        write_ceiling(shown, limit, ceiling);
        (void)snprintf(expected, sizeof(expected), "job.limits.%s: above the ceiling of %s",
                       table->rows[limit].key, shown);
        refuse(text, expected);
    }
}

/* Requests that set no limit get the default even if it is above the ceiling. */
static void test_limits_of_the_configuration(void **state)
{
    struct request_policy other = policy();
    (void)state;
    other.defaults[JOB_RUBRIC].of[LIMIT_OUTPUT] = 1000;
    other.ceilings[JOB_RUBRIC].of[LIMIT_OUTPUT] = 500;
    _cleanup_request_ struct request request = REQUEST_NULL;
    accept_with(SUBMIT(RUBRIC), &other, &request);
    assert_true(request.job->limits.of[LIMIT_OUTPUT] == 1000);
}

/* --- task_class ---------------------------------------------------------------------------- */

static void test_task_class(void **state)
{
    static const char *const names[] = {
        "t", "T", "0", "exact-match", "a.b", "a..b", "a_", "a-", "a.", "9lives", "A-Z_a-z.0-9",
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        _cleanup_request_ struct request request = REQUEST_NULL;
        char text[200];
        (void)snprintf(text, sizeof(text), TASK_CLASS("'%s'"), names[i]);
        accept(text, &request);
        assert_string_equal(request.job->rubric.task_class, names[i]);
    }
}

static void test_bad_task_class(void **state)
{
    static const char *const names[] = {
        "",     ".",      "..",           ".x",           "-x",       "_x",        "../x",
        "/etc", "/",      "a/b",          "a/",           "a/..",     "a b",       " a",
        "a ",   "a\\\\b", "a:b",          "a*",           "a\\n",     "\\n",       "a\\tb",
        "~",    "$HOME",  "%41",          "a,b",          "\xC3\xA9", "a\xC3\xA9", "a+b",
        "a@b",  "a#",     "rubric.py/..", "\xEF\xBD\x81", "..\\\\x",
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        char text[200], expected[300];
        (void)snprintf(text, sizeof(text), TASK_CLASS("'%s'"), names[i]);
        json_t *message = parse(text);
        (void)snprintf(
            expected, sizeof(expected),
            "job.task_class: \"%s\" is not a task class name "
            "([A-Za-z0-9][A-Za-z0-9._-]*, at most 255 bytes)",
            json_string_value(json_object_get(json_object_get(message, "job"), "task_class")));
        json_decref(message);
        refuse(text, expected);
    }
    refuse(TASK_CLASS("'a\\u0000b'"), "job.task_class: contains a NUL character");
    refuse(TASK_CLASS("'a\\u0000'"), "job.task_class: contains a NUL character");
    refuse(TASK_CLASS("'\\u0000'"), "job.task_class: contains a NUL character");
    refuse(TASK_CLASS("'../x\\u0000'"), "job.task_class: contains a NUL character");
}

static void test_task_class_length(void **state)
{
    char name[257], text[500], expected[300];
    _cleanup_request_ struct request request = REQUEST_NULL;
    (void)state;
    memset(name, 'n', sizeof(name));
    name[255] = '\0';
    (void)snprintf(text, sizeof(text), TASK_CLASS("'%s'"), name);
    accept(text, &request);
    assert_int_equal(strlen(request.job->rubric.task_class), 255);

    name[255] = 'n';
    name[256] = '\0';
    (void)snprintf(text, sizeof(text), TASK_CLASS("'%s'"), name);
    (void)snprintf(expected, sizeof(expected),
                   "job.task_class: \"%.80s\" is not a task class name "
                   "([A-Za-z0-9][A-Za-z0-9._-]*, at most 255 bytes)",
                   name);
    refuse(text, expected);
}

/* --- bench_root ---------------------------------------------------------------------------- */

static void test_bench_root(void **state)
{
    static const char *const roots[] = {
        "/",   "/srv/bench",    "/srv/bench/",
        "//x", "/a b/\xC3\xA9", "/../etc"}; /* the allowed roots are checked later */
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(roots); i++) {
        _cleanup_request_ struct request request = REQUEST_NULL;
        char text[300];
        (void)snprintf(text, sizeof(text), WITH("'bench_root':'%s'"), roots[i]);
        accept(text, &request);
        assert_string_equal(request.job->rubric.bench_root, roots[i]);
    }
}

static void test_bad_bench_root(void **state)
{
    static const struct refusal cases[] = {
        {WITH("'bench_root':''"), "job.bench_root: \"\" is not an absolute path"},
        {WITH("'bench_root':'.'"), "job.bench_root: \".\" is not an absolute path"},
        {WITH("'bench_root':'bench'"), "job.bench_root: \"bench\" is not an absolute path"},
        {WITH("'bench_root':'../x'"), "job.bench_root: \"../x\" is not an absolute path"},
        {WITH("'bench_root':' /x'"), "job.bench_root: \" /x\" is not an absolute path"},
        {WITH("'bench_root':'~/x'"), "job.bench_root: \"~/x\" is not an absolute path"},
        {WITH("'bench_root':'/x\\u0000'"), "job.bench_root: contains a NUL character"},
        {WITH("'bench_root':'/x\\u0000/y'"), "job.bench_root: contains a NUL character"},
        {WITH("'bench_root':'\\u0000/x'"), "job.bench_root: contains a NUL character"},
    };
    (void)state;
    refuse_all(cases, ARRAY_SIZE(cases));
}

/* SHA-256, as results have it. */
#define DIGEST "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define NO_DIGEST "is not a digest (64 hexadecimal digits in lower case)"

static void test_rubric_digest(void **state)
{
    _cleanup_request_ struct request request = REQUEST_NULL;
    static const struct refusal cases[] = {
        {WITH("'rubric_digest':''"), "job.rubric_digest: \"\" " NO_DIGEST},
        {WITH("'rubric_digest':'" DIGEST "0'"), "job.rubric_digest: \"" DIGEST "0\" " NO_DIGEST},
        {WITH("'rubric_digest':'sha256:'"), "job.rubric_digest: \"sha256:\" " NO_DIGEST},
        {WITH("'rubric_digest':'" DIGEST "\\u0000'"),
         "job.rubric_digest: contains a NUL character"},
    };
    (void)state;
    refuse_all(cases, ARRAY_SIZE(cases));
    accept(WITH("'rubric_digest':'" DIGEST "'"), &request);
    assert_string_equal(request.job->rubric.digest, DIGEST);
}

static void test_bench_root_length(void **state)
{
    char root[4097], text[4500];
    _cleanup_request_ struct request request = REQUEST_NULL;
    (void)state;
    memset(root, 'r', sizeof(root));
    root[0] = '/';
    root[4095] = '\0';
    (void)snprintf(text, sizeof(text), WITH("'bench_root':'%s'"), root);
    accept(text, &request);
    assert_int_equal(strlen(request.job->rubric.bench_root), 4095);

    root[4095] = 'r';
    root[4096] = '\0';
    (void)snprintf(text, sizeof(text), WITH("'bench_root':'%s'"), root);
    refuse(text, "job.bench_root: longer than 4095 bytes");
}

/* --- sut ----------------------------------------------------------------------------------- */

static void test_sut(void **state)
{
    static const struct {
        const char *text;
        enum sut_status status;
        const char *detail;
    } cases[] = {
        {WITH("'sut':{}"), SUT_OK, NULL},
        {WITH("'sut':{'status':null,'detail':null}"), SUT_OK, NULL},
        {WITH("'sut':{'status':'ok'}"), SUT_OK, NULL},
        {WITH("'sut':{'detail':'x'}"), SUT_OK, "x"},
        {WITH("'sut':{'status':'exception'}"), SUT_EXCEPTION, NULL},
        {WITH("'sut':{'status':'exception','detail':''}"), SUT_EXCEPTION, ""},
        {WITH("'sut':{'status':'exception','detail':'ValueError: \\u00e9'}"), SUT_EXCEPTION,
         "ValueError: \xC3\xA9"},
        {WITH("'sut':{'status':'timeout'}"), SUT_TIMEOUT, NULL},
        {WITH("'sut':{'detail':'after 30 s','status':'timeout'}"), SUT_TIMEOUT, "after 30 s"},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        _cleanup_request_ struct request request = REQUEST_NULL;
        accept(cases[i].text, &request);
        const struct rubric_spec *rubric = &request.job->rubric;
        assert_int_equal(rubric->sut, cases[i].status);
        assert_int_equal(rubric->sut_detail.data != NULL, cases[i].detail != NULL);
        if (cases[i].detail)
            assert_string_equal(rubric->sut_detail.data, cases[i].detail);
    }
}

static void test_bad_sut(void **state)
{
    static const struct refusal cases[] = {
        {WITH("'sut':{'status':''}"), "job.sut.status: expected ok, exception or timeout"},
        {WITH("'sut':{'status':'OK'}"), "job.sut.status: expected ok, exception or timeout"},
        {WITH("'sut':{'status':'error'}"), "job.sut.status: expected ok, exception or timeout"},
        {WITH("'sut':{'status':'timeout '}"), "job.sut.status: expected ok, exception or timeout"},
        {WITH("'sut':{'status':'sut.timeout'}"),
         "job.sut.status: expected ok, exception or timeout"},
        {WITH("'sut':{'status':'ok\\u0000'}"), "job.sut.status: contains a NUL character"},
        {WITH("'sut':{'status':1}"), "job.sut.status: expected a string, got a number"},
        {WITH("'sut':{'status':true}"), "job.sut.status: expected a string, got a boolean"},
        {WITH("'sut':{'status':'ok','detail':1}"),
         "job.sut.detail: expected a string, got a number"},
        {WITH("'sut':{'status':'ok','detail':{}}"),
         "job.sut.detail: expected a string, got an object"},
    };
    (void)state;
    refuse_all(cases, ARRAY_SIZE(cases));
}

/* --- cancel -------------------------------------------------------------------------------- */

static void test_cancel(void **state)
{
    _cleanup_request_ struct request by_id = REQUEST_NULL, by_number = REQUEST_NULL;
    (void)state;
    accept("{'type':'cancel','id':'a\\u0000b'}", &by_id);
    assert_int_equal(by_id.id.length, 3);
    assert_memory_equal(by_id.id.data, "a\0b", 4);
    assert_true(by_id.job_no == 0);

    accept("{'type':'cancel','job_no':9223372036854775807}", &by_number);
    assert_null(by_number.id.data);
    assert_true(by_number.job_no == INT64_MAX);
    request_deinit(&by_number);
    accept("{'job_no':1,'type':'cancel'}", &by_number);
    assert_true(by_number.job_no == 1);
}

static void test_bad_cancel(void **state)
{
    static const struct refusal cases[] = {
        {"{'type':'cancel'}", "cancel: expected either id or job_no"},
        {"{'type':'cancel','id':'a','job_no':1}", "cancel: expected either id or job_no"},
        {"{'type':'cancel','id':''}", "id: expected 1 to 128 bytes, got 0"},
        {"{'type':'cancel','id':null}", "id: expected a string, got null"},
        {"{'type':'cancel','id':1}", "id: expected a string, got a number"},
        {"{'type':'cancel','job_no':null}", "job_no: expected an integer, got null"},
        {"{'type':'cancel','job_no':'1'}", "job_no: expected an integer, got a string"},
        {"{'type':'cancel','job_no':1.0}", "job_no: expected an integer, got a number"},
        {"{'type':'cancel','job_no':true}", "job_no: expected an integer, got a boolean"},
        {"{'type':'cancel','job_no':0}", "job_no: expected an integer above 0"},
        {"{'type':'cancel','job_no':-1}", "job_no: expected an integer above 0"},
        {"{'type':'cancel','job_no':-9223372036854775808}", "job_no: expected an integer above 0"},
        {"{'type':'cancel','id':'a','zzz':1}", "zzz: unknown field"},
        {"{'type':'cancel','id':'a','job':{}}", "job: unknown field"},
        {"{'type':'cancel','jobno':1}", "jobno: unknown field"},
    };
    (void)state;
    refuse_all(cases, ARRAY_SIZE(cases));
}

/* --- the id for an error ------------------------------------------------------------------- */

/* Reads TEXT, which is refused; the caller owns the id. */
static json_t *refused_id(const char *text)
{
    struct request_policy defaults = policy();
    struct request request;
    struct fault fault = FAULT_NULL;
    json_t *id = NULL;
    assert_true(request_read(text, strlen(text), &defaults, &request, &id, &fault) < 0);
    assert_string_not_equal(fault.text, "");
    return id;
}

static void test_id_of_a_refused_message(void **state)
{
    static const struct {
        const char *text, *id;
    } cases[] = {
        {"{'id':'a'}", "a"},
        {"{'type':'zzz','id':'b'}", "b"},
        {"{'id':'a','job':7}", "a"},
        {"{}", NULL},
        {"{'id':''}", NULL},
        {"{'id':null}", NULL},
        {"{'id':1}", NULL},
        {"{'id':['a']}", NULL},
        {"{'job':{'id':'a'}}", NULL},
        {"['id']", NULL},
        {"{'id':'a','job':NaN}", "a"},
        {"{'job':NaN,'id':'a'}", "a"},
        {"{'job':NaN}", NULL},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        _cleanup_free_ char *text = to_json(cases[i].text);
        json_t *id = refused_id(text);
        if (cases[i].id)
            assert_string_equal(json_string_value(id), cases[i].id);
        else
            assert_null(id);
        json_decref(id);
    }
}

static void test_length_of_a_refused_id(void **state)
{
    (void)state;
    for (int length = 127; length <= 130; length++) {
        char id[200], text[300];
        memset(id, 'i', sizeof(id));
        for (int fault = 0; fault < 2; fault++) {
            (void)snprintf(text, sizeof(text), "{\"id\":\"%.*s\",\"job\":%s}", length, id,
                           fault ? "NaN" : "1");
            json_t *found = refused_id(text);
            assert_int_equal(found != NULL, length <= REQUEST_ID_MAX);
            json_decref(found);
        }
    }
}

static void test_where_a_message_is_no_json(void **state)
{
    static const char text[] = "{\"type\":\"submit\",\"job\":{\"case\":{\"x\":[1,NaN]}}}";
    struct request_policy defaults = policy();
    struct request request;
    struct fault fault = FAULT_NULL;
    json_t *id = NULL;
    (void)state;
    assert_int_equal(request_read(text, strlen(text), &defaults, &request, &id, &fault), -EBADMSG);
    assert_null(id);
    assert_string_equal(fault.text, "JSON: line 1 column 42: invalid token near 'NaN' "
                                    "(byte 42, in job.case.x[1])");
}

/* --- messages are text ---------------------------------------------------------------------- */

/* Messages quote at most 80 bytes of a client's text, in whole characters. */
static void test_long_values_in_messages(void **state)
{
    static const struct {
        const char *form, *expected;
    } cases[] = {
        {"{'type':'%s'}", "type: unknown message type \"%s\""},
        {SUBMIT("'kind':'%s'"), "job.kind: unknown kind \"%s\""},
        {WITH("'bench_root':'%s'"), "job.bench_root: \"%s\" is not an absolute path"},
        {TASK_CLASS("'%s'"), "job.task_class: \"%s\" is not a task class name "
                             "([A-Za-z0-9][A-Za-z0-9._-]*, at most 255 bytes)"},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        for (size_t letters = 76; letters <= 80; letters++) {
            char value[100], text[400];
            struct request_policy defaults = policy();
            struct fault fault = FAULT_NULL;
            struct request request;
            memset(value, 'x', letters);
            (void)strcpy(value + letters, "\xF0\x9F\x98\x80\xF0\x9F\x98\x80");
            size_t n = (size_t)(strstr(cases[i].form, "%s") - cases[i].form);
            (void)snprintf(text, sizeof(text), "%.*s%s%s", (int)n, cases[i].form, value,
                           cases[i].form + n + 2);
            json_t *message = parse(text);
            assert_int_equal(request_decode(message, &defaults, &request, &fault), -EINVAL);
            json_decref(message);
            json_t *as_text = json_string(fault.text); /* NULL unless it is UTF-8 */
            if (!as_text)
                fail_msg("%s: the message cuts a character", text);
            json_decref(as_text);
        }
    }
}

/* --- lifetime ------------------------------------------------------------------------------- */

static void test_deinit(void **state)
{
    struct request request = REQUEST_NULL;
    (void)state;
    request_deinit(&request);
    request_deinit(&request);
    assert_null(job_spec_free(NULL));
    accept(WITH("'sut':{'status':'exception','detail':'x'},'bench_root':'/x'"), &request);
    request_deinit(&request);
    assert_null(request.id.data);
    assert_null(request.job);
    request_deinit(&request);
}

static void test_without_memory(void **state)
{
    struct request_policy defaults = policy();
    json_t *message = parse(WITH("'sut':{'status':'ok','detail':'x'},'limits':{'cpu':0.5}"));
    (void)state;
    allocations_left = -1;
    for (int before = 0; allocations_left < 0; before++) {
        _cleanup_request_ struct request request = REQUEST_NULL;
        allocations_left = before;
        json_set_alloc_funcs(scarce_malloc, free);
        int r = request_decode(message, &defaults, &request, NULL);
        json_set_alloc_funcs(malloc, free);
        assert_int_equal(r, allocations_left < 0 ? -ENOMEM : 0);
        assert_int_equal(request.job != NULL, r == 0);
    }
    json_decref(message);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_types),
        cmocka_unit_test(test_terminals),
        cmocka_unit_test(test_bad_terminals),
        cmocka_unit_test(test_bad_types),
        cmocka_unit_test(test_bare_messages_have_no_fields),
        cmocka_unit_test(test_submit_fields),
        cmocka_unit_test(test_id_is_kept),
        cmocka_unit_test(test_id_length),
        cmocka_unit_test(test_kind),
        cmocka_unit_test(test_missing),
        cmocka_unit_test(test_mistyped),
        cmocka_unit_test(test_unknown),
        cmocka_unit_test(test_share_is_kept),
        cmocka_unit_test(test_null_is_absent),
        cmocka_unit_test(test_complete),
        cmocka_unit_test(test_input),
        cmocka_unit_test(test_deep_input),
        cmocka_unit_test(test_priority),
        cmocka_unit_test(test_wall_clock),
        cmocka_unit_test(test_bad_wall_clock),
        cmocka_unit_test(test_wall_clock_elsewhere),
        cmocka_unit_test(test_wall_clock_of_the_configuration),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_bad_limits),
        cmocka_unit_test(test_every_limit_and_its_ceiling),
        cmocka_unit_test(test_limits_of_the_configuration),
        cmocka_unit_test(test_task_class),
        cmocka_unit_test(test_bad_task_class),
        cmocka_unit_test(test_task_class_length),
        cmocka_unit_test(test_bench_root),
        cmocka_unit_test(test_bad_bench_root),
        cmocka_unit_test(test_rubric_digest),
        cmocka_unit_test(test_bench_root_length),
        cmocka_unit_test(test_sut),
        cmocka_unit_test(test_bad_sut),
        cmocka_unit_test(test_cancel),
        cmocka_unit_test(test_bad_cancel),
        cmocka_unit_test(test_id_of_a_refused_message),
        cmocka_unit_test(test_length_of_a_refused_id),
        cmocka_unit_test(test_where_a_message_is_no_json),
        cmocka_unit_test(test_long_values_in_messages),
        cmocka_unit_test(test_deinit),
        cmocka_unit_test(test_without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
