/* SPDX-License-Identifier: MIT */
/* Records with tests, or with what judges outputs, that their formats do not use. */
#include "client/grade/dataset.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static void collect(void *arg, const char *what)
{
    (void)snprintf(arg, FAULT_MAX, "%s", what);
}

/* Reads TEXT, a record; COMPLAINT is what is wrong with it, or "". */
static struct dataset parse(const char *text, const char *complaint)
{
    struct dataset dataset = DATASET_NULL;
    char said[FAULT_MAX] = "";
    const struct dataset_options options = {.format = NULL};
    assert_int_equal(dataset_parse("d", text, strlen(text), &options, collect, said, &dataset), 0);
    assert_string_equal(said, complaint);
    assert_int_equal(dataset.n, complaint[0] ? 0 : 1);
    return dataset;
}

static void refuse(const char *text, const char *complaint)
{
    _cleanup_dataset_ _unused_ struct dataset dataset = parse(text, complaint);
}

static void accept(const char *text)
{
    _cleanup_dataset_ _unused_ struct dataset dataset = parse(text, "");
}

/* Tests that would not be run are a mistake, and never silently left out. */
static void test_by_a_word(void **state)
{
    static const char told[] = ": it has tests that would not be run: a task of HumanEval has none "
                               "there (--format chooses another format; --list-formats)";
    static const char *const names[] = {"test_list", "hiddenTests", "input_output",
                                        "plus",      "more-tests",  "unittests"};
    static const char *const others[] = {"contest_id", "doctests", "latest", "greatest_test_", "x"};
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        char text[256], complaint[FAULT_MAX];
        (void)snprintf(text, sizeof(text),
                       "{\"task_id\":1,\"prompt\":\"\",\"test\":\"check\",\"entry_point\":\"f\","
                       "\"%s\":[\"x\"]}",
                       names[i]);
        (void)snprintf(complaint, sizeof(complaint), "d:1: %s%s", names[i], told);
        if (strcmp(names[i], "input_output") == 0)
            (void)snprintf(complaint, sizeof(complaint),
                           "d:1: test: it has tests that would not be run: a task of APPS/TACO has "
                           "none there (--format chooses another format; --list-formats)");
        refuse(text, complaint);
    }
    for (size_t i = 0; i < ARRAY_SIZE(others) - 2; i++) {
        char text[256];
        (void)snprintf(text, sizeof(text),
                       "{\"task_id\":1,\"prompt\":\"\",\"test\":\"check\",\"entry_point\":\"f\","
                       "\"%s\":[\"x\"],\"tests\":null,\"more_tests\":[],\"test_count\":3}",
                       others[i]);
        accept(text);
    }
}

#define NONE_THERE \
    ": a task of HumanEval has none there (--format chooses another format; --list-formats)"
#define HUMANEVAL(more) \
    "{\"task_id\":1,\"prompt\":\"\",\"test\":\"check\",\"entry_point\":\"f\"," more "}"

/* A record with the member NAME is refused because that member does WHAT if it has one of VALUES,
 * and accepted if it has one of NOTHING. Both lists end with NULL. */
static void refuse_member(const char *name, const char *const *values, const char *const *nothing,
                          const char *what)
{
    char text[256], complaint[FAULT_MAX];
    (void)snprintf(complaint, sizeof(complaint), "d:1: %s: it %s" NONE_THERE, name, what);
    for (; *values; values++) {
        (void)snprintf(text, sizeof(text), HUMANEVAL("\"%s\":%s"), name, *values);
        refuse(text, complaint);
    }
    for (; *nothing; nothing++) {
        (void)snprintf(text, sizeof(text), HUMANEVAL("\"%s\":%s"), name, *nothing);
        accept(text);
    }
}

/* A name may be one of tests without a word of theirs. A number, or a flag, is no test. */
static void test_by_other_names(void **state)
{
    static const char *const names[] = {
        "cases",      "more_cases", "hidden",   "hidden_io",  "hiddenIO",     "Hidden-Input",
        "private",    "secret",     "examples", "io_samples", "ioSamples",    "evaluation",
        "validation", "inputs",     "outputs",  "assertion",  "extra_inputs", "check",
        "io",         "sample_io",  "samples",  "pretests",   "Evaluations",
    };
    static const char *const values[] = {"\"x\"", "[1]", "{\"a\":1}", NULL};
    static const char *const nothing[] = {"null", "false", "true", "\"\"", "[]",
                                          "{}",   "0",     "1",    NULL};
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(names); i++)
        refuse_member(names[i], values, nothing, "has tests that would not be run");
    accept(HUMANEVAL("\"case\":\"x\",\"input\":\"x\",\"privateer\":\"x\",\"recheck\":\"x\","
                     "\"is_checkered\":true,\"unhidden\":\"x\",\"example\":\"x\""));
}

/* Without its judge a task is another one. That it has one may be said by a flag. */
static void test_judges(void **state)
{
    static const char *const names[] = {"checker",       "generated_checker",
                                        "checkerCode",   "special_judge",
                                        "specialJudge",  "interactor",
                                        "test_checker",  "hidden_checker",
                                        "interactive",   "is_interactive",
                                        "isInteractive", "spj",
                                        "is_spj",        "interaction_format",
                                        "comparator",    "case_sensitive",
                                        "tolerance",     "epsilon",
                                        "eps",           "judge",
                                        "grader",        "output_validator",
                                        "scorer"};
    static const char *const values[] = {"\"x\"", "[1]", "{\"a\":1}", "true", "1", "0.5", NULL};
    static const char *const nothing[] = {"null", "false", "\"\"", "[]", "{}", "0", NULL};
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(names); i++)
        refuse_member(names[i], values, nothing,
                      "says how to judge outputs, which would not be done");
}

/* MBPP+ of EvalPlus has the assertions of MBPP beside the inputs, and does not run them either. */
static void test_assertion_of_evalplus(void **state)
{
    _cleanup_dataset_ struct dataset set = parse(
        "{\"task_id\":\"Mbpp/2\",\"prompt\":\"\",\"entry_point\":\"f\",\"canonical_solution\":"
        "\"def f(a):\\n    return a\\n\",\"base_input\":[[1]],\"plus_input\":[[2]],\"atol\":0,"
        "\"contract\":\"\",\"assertion\":\"assert f(1) == 1\"}",
        "");
    (void)state;
    assert_ptr_equal(set.tasks[0].format, &data_format_evalplus);
}

#define COLUMNS "\"input\":[\"1\"],\"output\":[\"2\"]"
#define PACKED "\"inputs\":[\"1\"],\"outputs\":[\"2\"]"
#define CASES(more)                                                                    \
    "{\"question_id\":\"q\",\"public_test_cases\":[{\"input\":\"1\",\"output\":\"2\"," \
    "\"testtype\":\"stdin\"" more "}]}"
#define WOULD_NOT ": it has tests that would not be run: expected only "

/* Nor are tests passed over that are among those of the format. */
static void test_among_tests(void **state)
{
    static const char *const wrong[][2] = {
        {"{\"name\":\"x\",\"public_tests\":{" COLUMNS ",\"hidden_input\":[\"3\"]}}",
         "d:1: public_tests.hidden_input" WOULD_NOT "input and output"},
        {"{\"name\":\"x\",\"public_tests\":{" COLUMNS "},\"private_tests\":{" COLUMNS
         ",\"hidden_output\":[\"3\"]}}",
         "d:1: private_tests.hidden_output" WOULD_NOT "input and output"},
        {"{\"name\":\"x\",\"generated_tests\":{" COLUMNS ",\"more\":{\"input\":[]}}}",
         "d:1: generated_tests.more" WOULD_NOT "input and output"},
        {"{\"id\":3,\"labels\":\"{}\",\"test\":[{\"input\":{\"stdin\":\"1\"},\"output\":{"
         "\"stdout\":"
         "\"2\"},\"hidden\":1}]}",
         "d:1: test[0].hidden" WOULD_NOT "input and output"},
        {"{\"id\":1,\"input_output\":{" PACKED ",\"hidden_inputs\":[\"3\"]}}",
         "d:1: input_output.hidden_inputs" WOULD_NOT "inputs, outputs and fn_name"},
        {"{\"id\":1,\"input_output\":\"{\\\"inputs\\\":[[1]],\\\"outputs\\\":[1],"
         "\\\"fn_name\\\":\\\"f\\\",\\\"tests\\\":\\\"x\\\"}\"}",
         "d:1: input_output.tests" WOULD_NOT "inputs, outputs and fn_name"},
        {CASES(",\"hidden_input\":\"3\""),
         "d:1: public_test_cases[0].hidden_input" WOULD_NOT "input, output and testtype"},
        {"{\"question_id\":\"q\",\"metadata\":{\"func_name\":\"f\"},\"private_test_cases\":[{"
         "\"input\":\"1\",\"output\":\"1\",\"testtype\":\"functional\",\"cases\":[1]}]}",
         "d:1: private_test_cases[0].cases" WOULD_NOT "input, output and testtype"},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(wrong); i++)
        refuse(wrong[i][0], wrong[i][1]);
    accept("{\"name\":\"x\",\"public_tests\":{" COLUMNS ",\"more\":null,\"most\":[]}}");
    accept("{\"id\":1,\"input_output\":{" PACKED ",\"fn_name\":null,\"tests\":\"\"}}");
    accept(CASES(",\"more\":{}"));
}

/* Nor are those within a member that nobody reads. A text there may be anything. */
static void test_inside(void **state)
{
    (void)state;
    refuse(HUMANEVAL("\"extra\":{\"a\":1,\"tests\":[\"x\"]}"),
           "d:1: extra.tests: it has tests that would not be run" NONE_THERE);
    refuse(
        HUMANEVAL("\"grading\":{\"checker\":true}"),
        "d:1: grading.checker: it says how to judge outputs, which would not be done" NONE_THERE);
    accept(HUMANEVAL("\"extra\":{\"tests\":[],\"test_type\":\"stdin\",\"test_count\":3,"
                     "\"checker\":\"x\",\"a\":{\"b\":1}}"));
}

#define BESIDE(of)                                             \
    ": it has tests that would not be run, since those of " of \
    " are: a task has only one of the two"
#define CASE(input, output) \
    "{\"input\":{\"stdin\":\"" input "\"},\"output\":{\"stdout\":\"" output "\"}}"

/* Formats that come in two shapes have their tests in one place of two. */
static void test_in_two_places(void **state)
{
    static const char *const wrong[][2] = {
        {"{\"name\":\"a\",\"test\":[" CASE("1", "2") "],\"public_tests\":{" COLUMNS "}}",
         "d:1: public_tests" BESIDE("test")},
        {"{\"name\":\"a\",\"test\":[" CASE("1", "2") "],\"generated_tests\":{" COLUMNS "}}",
         "d:1: generated_tests" BESIDE("test")},
        {"{\"name\":\"a\",\"test\":\"assert f(5)==999\",\"public_tests\":{" COLUMNS "}}",
         "d:1: test" BESIDE("public_tests, private_tests and generated_tests")},
        {"{\"id\":\"a\",\"public_test_cases\":[{\"input\":\"1\",\"output\":\"2\",\"testtype\":"
         "\"stdin\"}],\"test\":\"[]\"}",
         "d:1: test" BESIDE("public_test_cases and private_test_cases")},
        {"{\"id\":\"a\",\"private_test_cases\":[{\"input\":\"1\",\"output\":\"2\",\"testtype\":"
         "\"stdin\"}],\"labels\":\"{}\",\"test\":\"eJxx\"}",
         "d:1: private_test_cases" BESIDE("test")},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(wrong); i++)
        refuse(wrong[i][0], wrong[i][1]);
    accept("{\"name\":\"a\",\"test\":[" CASE("1",
                                             "2") "],\"public_tests\":{},\"private_tests\":null}");
    accept("{\"name\":\"a\",\"test\":\"\",\"public_tests\":{" COLUMNS "}}");
    accept("{\"id\":\"a\",\"public_test_cases\":[{\"input\":\"1\",\"output\":\"2\",\"testtype\":"
           "\"stdin\"}],\"test\":null}");
}

/* MBPP+ has a program of tests beside the assertions, and both are run. */
static void test_both_of_mbpp(void **state)
{
    _cleanup_dataset_ struct dataset set =
        parse("{\"task_id\":2,\"test_list\":[\"assert f(1)\"],\"test\":\"assert f(2)\"}", "");
    const json_t *targets = set.tasks[0].targets;
    (void)state;
    assert_int_equal(json_array_size(targets), 2);
    assert_string_equal(json_string_value(json_array_get(targets, 0)), "assert f(1)");
    assert_string_equal(json_string_value(json_array_get(targets, 1)), "assert f(2)");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_by_a_word),     cmocka_unit_test(test_by_other_names),
        cmocka_unit_test(test_judges),        cmocka_unit_test(test_assertion_of_evalplus),
        cmocka_unit_test(test_among_tests),   cmocka_unit_test(test_inside),
        cmocka_unit_test(test_in_two_places), cmocka_unit_test(test_both_of_mbpp),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
