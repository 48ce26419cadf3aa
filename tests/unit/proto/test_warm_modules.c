/* SPDX-License-Identifier: MIT */
/* Tests what a job of kind `code_exec` may have loaded ahead. */
#include "requests.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static struct request_policy policy(void)
{
    return (struct request_policy){
        .defaults = {[JOB_CODE_EXEC] = job_kind_get(JOB_CODE_EXEC)->defaults},
        .ceilings = {[JOB_CODE_EXEC] = limits_ceiling_default},
    };
}

static const struct code_exec_spec *accept(const char *text, struct request *ret)
{
    struct request_policy defaults = policy();
    struct fault fault = FAULT_NULL;
    json_t *message = parse(text);
    if (request_decode(message, &defaults, ret, &fault) != 0)
        fail_msg("%.300s:\n  %s", text, fault.text);
    json_decref(message); /* the request does not borrow from it */
    return &ret->job->code_exec;
}

#define TARGETS(fields) \
    "{'type':'submit','id':'a','job':{'kind':'code_exec','code':'x','targets':['x']," fields "}}"

static void test_warm_modules(void **state)
{
    _cleanup_request_ struct request request = REQUEST_NULL, empty = REQUEST_NULL,
                                     none = REQUEST_NULL;
    (void)state;
    const struct code_exec_spec *spec =
        accept(TARGETS("'warm_modules':['pandas','numpy','_a1.b_','numpy.linalg']"), &request);
    assert_int_equal(spec->warm_module_count, 4); /* in one order, whatever the client's is */
    assert_string_equal(spec->warm_modules[0], "_a1.b_");
    assert_string_equal(spec->warm_modules[1], "numpy");
    assert_string_equal(spec->warm_modules[2], "numpy.linalg");
    assert_string_equal(spec->warm_modules[3], "pandas");
    assert_null(accept(TARGETS("'warm_modules':[]"), &empty)->warm_modules);
    assert_null(accept(TARGETS("'warm_modules':null"), &none)->warm_modules);
}

#define NO_MODULE(name) \
    "job.warm_modules[0]: \"" name "\" is not the name of a module of at most 200 bytes"

static void test_bad_warm_modules(void **state)
{
    static const struct refusal cases[] = {
        {TARGETS("'warm_modules':'numpy'"), "job.warm_modules: expected an array, got a string"},
        {TARGETS("'warm_modules':['f',1]"), "job.warm_modules[1]: expected a string, got a number"},
        {TARGETS("'warm_modules':['']"), NO_MODULE("")},
        {TARGETS("'warm_modules':['.a']"), NO_MODULE(".a")},
        {TARGETS("'warm_modules':['a.']"), NO_MODULE("a.")},
        {TARGETS("'warm_modules':['a..b']"), NO_MODULE("a..b")},
        {TARGETS("'warm_modules':['1a']"), NO_MODULE("1a")},
        {TARGETS("'warm_modules':['a/b']"), NO_MODULE("a/b")},
        {TARGETS("'warm_modules':['\xC3\xA9']"), NO_MODULE("\xC3\xA9")},
        {TARGETS("'warm_modules':['b','a','b']"), "job.warm_modules: \"b\" is there twice"},
    };
    (void)state;
    refuse_all(cases, ARRAY_SIZE(cases));
}

/* Modules m0, m1, ...: as many as there may be, and one more. */
static void test_number_of_warm_modules(void **state)
{
    char text[4096];
    (void)state;
    for (int n = CODE_EXEC_WARM_MODULES_MAX; n <= CODE_EXEC_WARM_MODULES_MAX + 1; n++) {
        int at = snprintf(text, sizeof(text),
                          "{'type':'submit','id':'a','job':{'kind':'code_exec','code':'x',"
                          "'targets':['x'],'warm_modules':[");
        for (int i = 0; i < n; i++)
            at += snprintf(text + at, sizeof(text) - (size_t)at, "%s'm%d'", i > 0 ? "," : "", i);
        (void)snprintf(text + at, sizeof(text) - (size_t)at, "]}}");
        if (n > CODE_EXEC_WARM_MODULES_MAX) {
            refuse(text, "job.warm_modules: expected at most 60 names, got 61");
            return;
        }
        _cleanup_request_ struct request request = REQUEST_NULL;
        assert_int_equal(accept(text, &request)->warm_module_count, CODE_EXEC_WARM_MODULES_MAX);
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_warm_modules),
        cmocka_unit_test(test_bad_warm_modules),
        cmocka_unit_test(test_number_of_warm_modules),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
