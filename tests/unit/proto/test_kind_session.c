/* SPDX-License-Identifier: MIT */
/* Tests the commands of sessions, and the requests that open and close one: valid values of every
 * field, and exact messages for others. */
#include "requests.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static struct request_policy policy(void)
{
    return (struct request_policy){
        .defaults = {[JOB_SESSION] = job_kind_get(JOB_SESSION)->defaults},
        .ceilings = {[JOB_SESSION] = limits_ceiling_default},
        .lease_ms = 60000,
        .lease_ceiling_ms = 120000,
        .idle_ms = 5000,
        .idle_ceiling_ms = 10000,
    };
}

static void decode(const char *text, struct request *ret)
{
    struct fault fault = FAULT_NULL;
    struct request_policy defaults = policy();
    json_t *message = parse(text);
    if (request_decode(message, &defaults, ret, &fault) != 0)
        fail_msg("%.300s:\n  %s", text, fault.text);
    json_decref(message); /* the request does not borrow from it */
}

#define JOB(fields) "{'type':'submit','id':'a','job':{'kind':'session'," fields "}}"
#define IN(fields) JOB("'session':7," fields)
#define OPEN(fields) "{'type':'session_open','id':'a'" fields "}"

static const struct session_spec *accept(const char *text, struct request *ret)
{
    decode(text, ret);
    assert_int_equal(ret->type, REQUEST_SUBMIT);
    assert_int_equal(ret->job->kind, JOB_SESSION);
    assert_int_equal(ret->job->session.number, 7);
    assert_null(ret->job->session.common_env);
    return &ret->job->session;
}

/* --- commands ----------------------------------------------------------------------------- */

static void test_exec(void **state)
{
    _cleanup_request_ struct request least = REQUEST_NULL, most = REQUEST_NULL;
    const struct session_spec *spec = accept(IN("'argv':['ls']"), &least);
    (void)state;
    assert_int_equal(spec->act, SESSION_EXEC);
    assert_string_equal(spec->argv[0], "ls");
    assert_null(spec->argv[1]);
    assert_null(spec->env);
    assert_null(spec->cwd);
    assert_int_equal(spec->input.length, 0);
    assert_int_equal(spec->limits_given, 0);

    spec = accept(IN("'argv':['./a','','b'],'stdin':{'base64':'AAE='},'env':{'A':'=','B':''},"
                     "'cwd':'/tmp','priority':-3,'limits':{'wall_clock':1.5,'output_bytes':9}"),
                  &most);
    assert_string_equal(spec->argv[2], "b");
    assert_memory_equal(spec->input.data, "\0\1", 2);
    assert_string_equal(spec->env[0], "A==");
    assert_string_equal(spec->env[1], "B=");
    assert_null(spec->env[2]);
    assert_string_equal(spec->cwd, "/tmp");
    assert_int_equal(most.job->priority, -3);
    assert_int_equal(most.job->limits.of[LIMIT_WALL_CLOCK], 1500);
    assert_int_equal(most.job->limits.of[LIMIT_OUTPUT], 9);
    assert_int_equal(spec->limits_given, 1u << LIMIT_WALL_CLOCK | 1u << LIMIT_OUTPUT);
    assert_true(job_spec_size(most.job) > job_spec_size(least.job));
}

static void test_files(void **state)
{
    _cleanup_request_ struct request least = REQUEST_NULL, most = REQUEST_NULL, read = REQUEST_NULL;
    const struct session_spec *spec = accept(IN("'write':'f','content':''"), &least);
    (void)state;
    assert_int_equal(spec->act, SESSION_WRITE);
    assert_string_equal(spec->path, "f");
    assert_int_equal(spec->input.length, 0);
    assert_int_equal(spec->mode, 0644);
    assert_false(spec->append);
    spec = accept(IN("'write':'/a/../f','content':'text','mode':0,'append':true"), &most);
    assert_string_equal(spec->path, "/a/../f");
    assert_string_equal(spec->input.data, "text");
    assert_int_equal(spec->mode, 0);
    assert_true(spec->append);
    spec = accept(IN("'read':'f','argv':null,'write':null"), &read);
    assert_int_equal(spec->act, SESSION_READ);
    assert_string_equal(spec->path, "f");
}

static void test_commands_that_are_refused(void **state)
{
    static const struct refusal cases[] = {
        {JOB("'argv':['a']"), "job.session: missing"},
        {JOB("'session':0,'argv':['a']"), "job.session: expected an integer above 0"},
        {JOB("'session':1.0,'argv':['a']"), "job.session: expected an integer, got a number"},
        {IN("'priority':0"), "job: expected exactly one of argv, write and read"},
        {IN("'argv':['a'],'read':'b'"), "job: expected exactly one of argv, write and read"},
        {IN("'argv':[]"), "job.argv: expected 1 to 60 strings, got 0"},
        {IN("'argv':['']"), "job.argv[0]: empty"},
        {IN("'argv':['a',1]"), "job.argv[1]: expected a string, got a number"},
        {IN("'argv':['a'],'cwd':''"), "job.cwd: expected 1 to 4095 bytes, got 0"},
        {IN("'argv':['a'],'content':''"), "job.content: goes with write"},
        {IN("'argv':['a'],'append':false"), "job.append: goes with write"},
        {IN("'argv':['a'],'env':{'':'b'}"),
         "job.env.\"\": the name of a variable is not empty and has no = in it"},
        {IN("'argv':['a'],'env':{'A':1}"), "job.env.A: expected a string, got a number"},
        {IN("'write':'f'"), "job.content: missing"},
        {IN("'write':'f','content':'','mode':512"), "job.mode: expected an integer from 0 to 511"},
        {IN("'write':'f','content':'','mode':-1"), "job.mode: expected an integer from 0 to 511"},
        {IN("'write':'f','content':'','cwd':'a'"), "job.cwd: goes with argv"},
        {IN("'write':'','content':''"), "job.write: expected 1 to 4095 bytes, got 0"},
        {IN("'read':'f','content':''"), "job.content: goes with write"},
        {IN("'read':'f','env':{}"), "job.env: goes with argv"},
        {IN("'read':'f','limits':{'disk_bytes':1}"),
         "job.limits.disk_bytes: holds for the whole session: session_open sets it"},
        {IN("'read':'f','limits':{'allow_network':true}"),
         "job.limits.allow_network: unknown field"},
        {IN("'read':'f','limits':{'cpu':301}"), "job.limits.cpu: above the ceiling of 300 s"},
    };
    (void)state;
    refuse_all(cases, ARRAY_SIZE(cases));
}

/* What does not fit into a packet to the jail is refused at once. */
static void test_strings_are_bounded(void **state)
{
    static char text[SANDBOX_STRINGS_MAX + 200], word[SANDBOX_STRINGS_MAX / 2 + 2];
    char expected[120];
    (void)state;
    memset(word, 'x', sizeof(word));
    word[sizeof(word) - 1] = '\0';
    (void)snprintf(text, sizeof(text), IN("'argv':['%s']"), word);
    (void)snprintf(expected, sizeof(expected), "job.argv: %zu bytes, more than %u",
                   strlen(word) + 1, SANDBOX_STRINGS_MAX / 2);
    refuse(text, expected);
    (void)snprintf(text, sizeof(text), IN("'argv':['a'],'env':{'A':'%s'}"), word);
    (void)snprintf(expected, sizeof(expected), "job.env: %zu bytes, more than %u",
                   strlen(word) + strlen("A=") + 1, SANDBOX_STRINGS_MAX / 2);
    refuse(text, expected);
    char *at = text + snprintf(text, sizeof(text), "%s", OPEN(",'env':{'a':''"));
    at[-1] = '\0'; /* the object goes on */
    for (int i = 0; i < SESSION_ENV_MAX; i++)
        (void)snprintf(text + strlen(text), sizeof(text) - strlen(text), ",'v%d':''", i);
    (void)strcat(text, "}}");
    refuse(text, "env: 41 variables, more than 40");
}

/* --- opening and closing ------------------------------------------------------------------ */

static void test_open(void **state)
{
    _cleanup_request_ struct request least = REQUEST_NULL, most = REQUEST_NULL;
    const struct request_policy defaults = policy();
    (void)state;
    decode(OPEN(""), &least);
    assert_int_equal(least.type, REQUEST_SESSION_OPEN);
    assert_string_equal(least.id.data, "a");
    assert_int_equal(least.wish.lease_ms, 60000);
    assert_int_equal(least.wish.idle_ms, 5000);
    assert_null(least.wish.env);
    assert_memory_equal(&least.wish.limits, &defaults.defaults[JOB_SESSION],
                        sizeof(least.wish.limits));
    decode(OPEN(",'lease':120,'idle':0.0001,'env':{'A':'b'},'limits':{'cpu':1,'disk_bytes':9}"),
           &most);
    assert_int_equal(most.wish.lease_ms, 120000);
    assert_int_equal(most.wish.idle_ms, 1);
    assert_string_equal(most.wish.env[0], "A=b");
    assert_int_equal(most.wish.limits.of[LIMIT_CPU], 1000);
    assert_int_equal(most.wish.limits.of[LIMIT_DISK], 9);
    assert_int_equal(most.wish.limits.of[LIMIT_MEMORY], LIMIT_GIB);
}

static void test_close(void **state)
{
    _cleanup_request_ struct request request = REQUEST_NULL;
    (void)state;
    decode("{'type':'session_close','id':'a','session':9223372036854775807}", &request);
    assert_int_equal(request.type, REQUEST_SESSION_CLOSE);
    assert_int_equal(request.session, INT64_MAX);
}

static void test_what_is_refused(void **state)
{
    static const struct refusal cases[] = {
        {"{'type':'session_open'}", "id: missing"},
        {OPEN(",'lease':0"), "lease: expected a number of seconds above 0"},
        {OPEN(",'lease':'1'"), "lease: expected a number, got a string"},
        {OPEN(",'lease':120.001"), "lease: above the ceiling of 120 s"},
        {OPEN(",'idle':1e300"), "idle: above the ceiling of 10 s"},
        {OPEN(",'idle':-1"), "idle: expected a number of seconds above 0"},
        {OPEN(",'limits':{'output_bytes':4194305}"),
         "limits.output_bytes: above the ceiling of 4 MiB"},
        {OPEN(",'limits':{'x':1}"), "limits.x: unknown field"},
        {OPEN(",'env':{'A=':''}"),
         "env.A=: the name of a variable is not empty and has no = in it"},
        {OPEN(",'network':true"), "network: unknown field"},
        {"{'type':'session_close','id':'a'}", "session: missing"},
        {"{'type':'session_close','id':'a','session':-1}", "session: expected an integer above 0"},
        {"{'type':'session_close','session':1}", "id: missing"},
    };
    (void)state;
    refuse_all(cases, ARRAY_SIZE(cases));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_exec),
        cmocka_unit_test(test_files),
        cmocka_unit_test(test_commands_that_are_refused),
        cmocka_unit_test(test_strings_are_bounded),
        cmocka_unit_test(test_open),
        cmocka_unit_test(test_close),
        cmocka_unit_test(test_what_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
