/* SPDX-License-Identifier: MIT */
/* Tests jobs of kind `program` and the request `put`: valid values of every field, and exact
 * messages for others. */
#include "proto/program_tests.h"
#include "requests.h"

#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static struct request_policy policy(void)
{
    return (struct request_policy){
        .defaults = {[JOB_PROGRAM] = job_kind_get(JOB_PROGRAM)->defaults},
        .ceilings = {[JOB_PROGRAM] = limits_ceiling_default},
    };
}

static const struct program_spec *accept(const char *text, struct request *ret)
{
    struct fault fault = FAULT_NULL;
    struct request_policy defaults = policy();
    json_t *message = parse(text);
    if (request_decode(message, &defaults, ret, &fault) != 0)
        fail_msg("%.300s:\n  %s", text, fault.text);
    json_decref(message); /* the request does not borrow from it */
    assert_int_equal(ret->job->kind, JOB_PROGRAM);
    return &ret->job->program;
}

#define JOB(fields) "{'type':'submit','id':'a','job':{'kind':'program'," fields "}}"
#define TEST "{'input':'i','output':'o'}"
#define TESTS "'tests':[" TEST "]"
#define C(fields) JOB("'language':'c','code':'main;'," TESTS "," fields)
#define WITH(tests) JOB("'language':'c','code':'main;','tests':" tests)
#define CALL(tests) JOB("'language':'python','code':'x','call':'f','tests':" tests)
#define DIGEST "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static void assert_text(const struct bytes *bytes, const char *text)
{
    assert_non_null(bytes->data);
    assert_string_equal(bytes->data, text);
    assert_int_equal(bytes->length, strlen(text));
}

/* --- jobs --------------------------------------------------------------------------------- */

static void test_least(void **state)
{
    _cleanup_request_ struct request request = REQUEST_NULL;
    const struct program_spec *spec = accept(JOB("'language':'c','code':'main;'," TESTS), &request);
    (void)state;
    assert_string_equal(spec->language, "c");
    assert_text(&spec->text, "main;");
    assert_false(spec->is_generation);
    assert_null(spec->prelude.data);
    assert_null(spec->compare);
    assert_null(spec->call);
    assert_null(spec->checker);
    assert_false(spec->all);
    assert_int_equal(spec->limits_given, 0);
    assert_int_equal(spec->tests->count, 1);
    assert_int_equal(spec->tests->references, 1);
    const struct program_test *test = spec->tests->test;
    assert_text(&test->input, "i");
    assert_text(&test->output, "o");
    assert_null(test->name);
    assert_null(test->argv);
    assert_int_equal(test->wall_clock, 0);
    for (enum limit limit = 0; limit < LIMIT_COUNT; limit++)
        assert_int_equal(spec->compile_limits.of[limit], 0);
}

static void test_all(void **state)
{
    _cleanup_request_ struct request request = REQUEST_NULL;
    const struct program_spec *spec = accept(
        JOB("'language':'c++','generation':'g','prelude':'p','files':{'b':'2','a':'1'},'stop':'all'"
            ","
            "'limits':{'cpu':2},'compile_limits':{'wall_clock':1.5,'memory_bytes':50000000},"
            "'checker':{'language':'python','code':'k','files':{'t.h':'h'}},'tests':["
            "{'input':{'base64':'AP8='},'output':'','name':'n','wall_clock':0.25,'argv':['x','']}"
            "]"),
        &request);
    (void)state;
    assert_true(spec->is_generation);
    assert_text(&spec->prelude, "p");
    assert_int_equal(spec->file_count, 2);
    assert_string_equal(spec->files[0].name, "a");
    assert_true(spec->all);
    assert_int_equal(spec->limits_given, 1u << LIMIT_CPU);
    assert_int_equal(request.job->limits.of[LIMIT_CPU], 2000);
    assert_int_equal(spec->compile_limits.of[LIMIT_WALL_CLOCK], 1500);
    assert_int_equal(spec->compile_limits.of[LIMIT_MEMORY], 50000000);
    assert_string_equal(spec->checker->language, "python");
    assert_text(&spec->checker->code, "k");
    assert_string_equal(spec->checker->files[0].name, "t.h");
    const struct program_test *test = spec->tests->test;
    assert_int_equal(test->input.length, 2);
    assert_memory_equal(test->input.data, "\0\xFF", 2);
    assert_text(&test->output, "");
    assert_string_equal(test->name, "n");
    assert_int_equal(test->wall_clock, 250);
    assert_string_equal(test->argv[0], "x");
    assert_string_equal(test->argv[1], "");
    assert_null(test->argv[2]);
}

static void test_call(void **state)
{
    _cleanup_request_ struct request request = REQUEST_NULL;
    const struct program_spec *spec = accept(CALL("[{'args':[1,'a'],'expected':null}]"), &request);
    (void)state;
    assert_string_equal(spec->call, "f");
    assert_true(spec->tests->is_call);
    assert_text(&spec->tests->test[0].input, "[1,\"a\"]");
    assert_text(&spec->tests->test[0].output, "null");
}

/* A test without an output is one of the exit status alone. */
static void test_no_output(void **state)
{
    _cleanup_request_ struct request request = REQUEST_NULL;
    const struct program_spec *spec = accept(
        WITH("[{'input':''},{'input':'','output':null},{'input':'','output':''}]"), &request);
    (void)state;
    assert_null(spec->tests->test[0].output.data);
    assert_null(spec->tests->test[1].output.data);
    assert_text(&spec->tests->test[2].output, "");
}

static void test_put_tests(void **state)
{
    _cleanup_request_ struct request request = REQUEST_NULL;
    const struct program_spec *spec = accept(WITH("{'put':'" DIGEST "'}"), &request);
    (void)state;
    assert_null(spec->tests);
    assert_string_equal(spec->digest, DIGEST);
}

static void test_refused(void **state)
{
    static const struct refusal cases[] = {
        {JOB("'code':''," TESTS), "job.language: missing"},
        {JOB("'language':'','code':''," TESTS), "job.language: expected 1 to 64 bytes, got 0"},
        {JOB("'language':'c'," TESTS), "job: expected exactly one of generation and code"},
        {JOB("'language':'c','code':'','generation':''," TESTS),
         "job: expected exactly one of generation and code"},
        {JOB("'language':'c','code':''"), "job.tests: missing"},
        {WITH("null"), "job.tests: expected an array of tests or {\"put\": digest}, got null"},
        {WITH("'x'"), "job.tests: expected an array of tests or {\"put\": digest}, got a string"},
        {WITH("[]"), "job.tests: expected 1 to 10000 tests, got 0"},
        {WITH("[1]"), "job.tests[0]: expected an object, got a number"},
        {WITH("[" TEST ",{'output':''}]"), "job.tests[1].input: missing"},
        {WITH("[{'input':'','output':7}]"),
         "job.tests[0].output: expected a string or {\"base64\": ...}, got a number"},
        {WITH("[{'input':{'base64':'?'},'output':''}]"),
         "job.tests[0].input.base64: not base64 (RFC 4648, with padding)"},
        {WITH("[{'input':'','output':'','args':[]}]"), "job.tests[0].input: unknown field"},
        {WITH("[{'input':'','output':'','x':1}]"), "job.tests[0].x: unknown field"},
        {WITH("[{'input':'','output':'','name':''}]"),
         "job.tests[0].name: expected 1 to 255 bytes, got 0"},
        {WITH("[{'input':'','output':'','wall_clock':0}]"),
         "job.tests[0].wall_clock: expected a number of seconds above 0"},
        {WITH("[{'input':'','output':'','wall_clock':301}]"),
         "job.tests[0].wall_clock: above the ceiling of 300 s"},
        {WITH("[{'input':'','output':'','argv':[1]}]"),
         "job.tests[0].argv[0]: expected a string, got a number"},
        {WITH("[{'args':[],'expected':1}]"),
         "job.call: missing; args and expected in tests go with it"},
        {CALL("[" TEST "]"), "job.tests: a job with call has args and expected in each test, not "
                             "input and output"},
        {CALL("[{'args':[]}]"), "job.tests[0].expected: missing"},
        {CALL("[{'args':{},'expected':1}]"), "job.tests[0].args: expected an array, got an object"},
        {WITH("{}"), "job.tests.put: missing"},
        {WITH("{'put':'sha256:0'}"), "job.tests.put: \"sha256:0\" is not a digest: sha256: and 64 "
                                     "hexadecimal digits"},
        {C("'stop':'never'"), "job.stop: expected first_failure or all"},
        {C("'compare':''"), "job.compare: expected 1 to 128 bytes, got 0"},
        {C("'call':''"), "job.call: expected 1 to 255 bytes, got 0"},
        {C("'call':'f','compare':'exact'"),
         "job.compare: a job with call compares values, not text"},
        {C("'call':'f','checker':{'language':'c','code':''}"),
         "job.checker: a job with call compares values, and has none"},
        {C("'compare':'exact','checker':{'language':'c','code':''}"),
         "job.compare: the checker compares; only one of them may"},
        {C("'checker':{'code':''}"), "job.checker.language: missing"},
        {C("'checker':{'language':'c','code':'','files':{'../x':''}}"),
         "job.checker.files.../x: expected a relative name without empty, . and .. parts, at most "
         "1023 bytes, 255 in a part"},
        {C("'interactor':{'code':''}"), "job.interactor.language: missing"},
        {C("'interactor':{'language':'c','code':'','files':{'../x':''}}"),
         "job.interactor.files.../x: expected a relative name without empty, . and .. parts, at "
         "most 1023 bytes, 255 in a part"},
        {C("'call':'f','interactor':{'language':'c','code':''}"),
         "job.interactor: a job with call compares values, and has none"},
        {C("'compare':'exact','interactor':{'language':'c','code':''}"),
         "job.compare: the interactor judges; only one of them may"},
        {C("'checker':{'language':'c','code':''},'interactor':{'language':'c','code':''}"),
         "job.checker: the interactor judges; only one of them may"},
        {C("'compile_limits':{'x':1}"), "job.compile_limits.x: unknown field"},
        {C("'compile_limits':{'cpu':301}"), "job.compile_limits.cpu: above the ceiling of 300 s"},
        {C("'files':{'a':'','a/b':''}"), "job.files.a/b: \"a\" is a file, too"},
        {C("'limits':{'disk_bytes':4096},'files':{'a':'x'}"),
         "job.files: 8192 bytes of disk, in whole pages; the limit disk_bytes is 4096"},
        {C("'steps':['x']"), "job.steps: unknown field"},
        {C("'collect':['x',1]"), "job.collect[1]: expected a string, got a number"},
        {C("'collect':['/x']"), "job.collect[0]: expected a relative name or pattern without "
                                "empty, . and .. parts, at most 1023 bytes, 255 in a part"},
        {C("'collect':['x'],'interactor':{'language':'c','code':''}"),
         "job.collect: a job with an interactor has no files that come back"},
    };
    (void)state;
    refuse_all(cases, ARRAY_SIZE(cases));
}

/* Makes a job of COUNT tests that are each TEST, with the members FIELDS, each of which ends in a
 * comma; the caller frees it. */
static char *many_of(const char *fields, size_t count, const char *test)
{
    char *text;
    size_t n;
    FILE *stream = open_memstream(&text, &n);
    assert_non_null(stream);
    (void)fprintf(stream,
                  "{'type':'submit','id':'a','job':{'kind':'program','language':'c',"
                  "'code':'',%s'tests':[",
                  fields);
    for (size_t i = 0; i < count; i++)
        (void)fprintf(stream, "%s%s", i > 0 ? "," : "", test);
    (void)fprintf(stream, "]}}");
    assert_int_equal(fclose(stream), 0);
    return text;
}

static char *many(size_t count, const char *test)
{
    return many_of("", count, test);
}

static void test_bounds(void **state)
{
    _cleanup_request_ struct request request = REQUEST_NULL;
    _cleanup_free_ char *most = many(PROGRAM_TESTS_MAX, TEST);
    _cleanup_free_ char *too_many = many(PROGRAM_TESTS_MAX + 1, TEST);
    char argv[2 * PROGRAM_ARGV_MAX + 2 * 40] = "'x'", text[1024], message[160];
    (void)state;
    assert_int_equal(accept(most, &request)->tests->count, PROGRAM_TESTS_MAX);
    /* All of it counts in the queue. */
    assert_true(job_spec_size(request.job) > PROGRAM_TESTS_MAX * sizeof(struct program_test));
    refuse(too_many, "job.tests: expected 1 to 10000 tests, got 10001");
    for (int i = 0; i < PROGRAM_ARGV_MAX; i++)
        (void)strcat(argv, ",''");
    (void)snprintf(text, sizeof(text), WITH("[{'input':'','output':'','argv':[%s]}]"), argv);
    (void)snprintf(message, sizeof(message), "job.tests[0].argv: %d strings, more than %d",
                   PROGRAM_ARGV_MAX + 1, PROGRAM_ARGV_MAX);
    refuse(text, message);
}

/* Checks that what the queue counts for the job in TEXT is at least what malloc gave for it. */
static void check_counted(const char *text)
{
    _cleanup_request_ struct request request = REQUEST_NULL;
    struct request_policy defaults = policy();
    struct fault fault = FAULT_NULL;
    json_t *message = parse(text);
    struct mallinfo2 before = mallinfo2();
    assert_int_equal(request_decode(message, &defaults, &request, &fault), 0);
    struct mallinfo2 after = mallinfo2();
    size_t taken = after.uordblks - before.uordblks + after.hblkhd - before.hblkhd;
    size_t counted = sizeof(*request.job) + job_spec_size(request.job);
    if (taken > counted + 4096) /* freed memory, which malloc keeps for the next call, counts too */
        fail_msg("%.100s...: %zu bytes, and counted %zu", text, taken, counted);
    json_decref(message);
}

/* Tests of next to nothing take more memory than their text. */
static void test_memory(void **state)
{
#define EMPTY_4 "'','','',''"
#define EMPTY_16 EMPTY_4 "," EMPTY_4 "," EMPTY_4 "," EMPTY_4
    static const char *const tests[] = {
        "{'input':''}",
        "{'input':'','argv':[]}",
        "{'input':'','output':'','name':'x','argv':['']}",
        "{'input':'','argv':[" EMPTY_16 "," EMPTY_16 "]}",
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(tests); i++) {
        _cleanup_free_ char *text = many(1000, tests[i]);
        check_counted(text);
    }
    _cleanup_free_ char *calls =
        many_of("'call':'f',", 1000, "{'args':[],'expected':0,'alternative':1}");
    check_counted(calls);
}

static void test_long_arguments(void **state)
{
    char text[PROGRAM_STRINGS_MAX + 256], long_word[PROGRAM_STRINGS_MAX + 1];
    (void)state;
    memset(long_word, 'x', PROGRAM_STRINGS_MAX);
    long_word[PROGRAM_STRINGS_MAX] = '\0';
    (void)snprintf(text, sizeof(text), WITH("[{'input':'','output':'','argv':['%s']}]"), long_word);
    refuse(text, "job.tests[0].argv: 8193 bytes, more than 8192");
}

/* --- put ---------------------------------------------------------------------------------- */

/* Reads a frame. The tests of the first are written with white space, which does not count. */
static int read_put(const char *text, struct request *ret, struct fault *fault)
{
    _cleanup_free_ char *frame = to_json(text);
    struct request_policy defaults = policy();
    json_t *id = NULL;
    int r = request_read(frame, strlen(frame), &defaults, ret, &id, fault);
    json_decref(id);
    return r;
}

static void test_put(void **state)
{
    static const char text[] = "[{\"input\":\"1.50\",\"output\":\"x\"}]";
    char digest[PROGRAM_DIGEST_SIZE], frame[512];
    _cleanup_request_ struct request request = REQUEST_NULL;
    struct fault fault = FAULT_NULL;
    (void)state;
    program_digest(text, strlen(text), digest);
    (void)snprintf(frame, sizeof(frame),
                   "{'type':'put','id':'p','digest':'%s','tests':[ {'input':'1.50',\n"
                   "'output' : 'x'} ]}",
                   digest);
    assert_int_equal(read_put(frame, &request, &fault), 0);
    assert_int_equal(request.type, REQUEST_PUT);
    assert_text(&request.id, "p");
    assert_string_equal(request.digest, digest);
    assert_int_equal(request.tests->count, 1);
    assert_true(request.tests->size > sizeof(struct program_test));
}

static void test_digest(void **state)
{
    char digest[PROGRAM_DIGEST_SIZE];
    (void)state;
    program_digest("abc", 3, digest); /* of FIPS 180 */
    assert_string_equal(digest,
                        "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f2001"
                        "5ad");
}

static void test_refused_put(void **state)
{
    static const struct refusal cases[] = {
        {"{'type':'put','tests':[" TEST "]}", "digest: missing"},
        {"{'type':'put','digest':'" DIGEST "'}", "tests: missing"},
        {"{'type':'put','digest':'x','tests':[" TEST "]}",
         "digest: \"x\" is not a digest: sha256: and 64 hexadecimal digits"},
        {"{'type':'put','digest':'" DIGEST "','tests':[" TEST "],'x':1}", "x: unknown field"},
        {"{'type':'put','id':'','digest':'" DIGEST "','tests':[" TEST "]}",
         "id: expected 1 to 128 bytes, got 0"},
    };
    (void)state;
    refuse_all(cases, ARRAY_SIZE(cases));
}

static void test_wrong_digest(void **state)
{
    _cleanup_request_ struct request request = REQUEST_NULL;
    struct fault fault = FAULT_NULL;
    char message[FAULT_MAX], digest[PROGRAM_DIGEST_SIZE];
    static const char text[] = "[{\"input\":\"i\",\"output\":\"o\"}]";
    (void)state;
    program_digest(text, strlen(text), digest);
    (void)snprintf(message, sizeof(message),
                   "digest: that of the tests, as JSON without white space, is %s", digest);
    int r = read_put("{'type':'put','digest':'" DIGEST "','tests':[" TEST "]}", &request, &fault);
    assert_int_equal(r, -EINVAL);
    assert_string_equal(fault.text, message);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_least),       cmocka_unit_test(test_all),
        cmocka_unit_test(test_call),        cmocka_unit_test(test_put_tests),
        cmocka_unit_test(test_refused),     cmocka_unit_test(test_bounds),
        cmocka_unit_test(test_memory),      cmocka_unit_test(test_long_arguments),
        cmocka_unit_test(test_put),         cmocka_unit_test(test_digest),
        cmocka_unit_test(test_refused_put), cmocka_unit_test(test_wrong_digest),
        cmocka_unit_test(test_no_output),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
