/* SPDX-License-Identifier: MIT */
/* The job that rubricctl run-program makes of its options. */
#include "client/program/programjob.h"
#include "tests/unit/files.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static char folder[] = "/tmp/rubricctl-job-XXXXXX";

static void write_file(const char *name, const char *data, size_t n)
{
    FILE *file = fopen(name, "we");
    assert_non_null(file);
    assert_int_equal(fwrite(data, 1, n, file), n);
    assert_int_equal(fclose(file), 0);
}

static int make_folder(void **state)
{
    (void)state;
    if (!mkdtemp(folder) || chdir(folder) < 0 || mkdir("t", 0700) < 0)
        return -1;
    write_file("main.cpp", "int main", 8);
    write_file("t/1.in", "1\n", 2);
    write_file("t/1.ans", "\xFF\0", 2);
    write_file("t/2.in", "", 0);
    write_file("t/2.ans", "2", 1);
    return 0;
}

static int remove_folder(void **state)
{
    (void)state;
    remove_tree(folder);
    return 0;
}

/* EXPECTED is JSON with ' for ". */
static void expect(const char *source, const struct program_options *options, const char *expected)
{
    _cleanup_json_ json_t *job = NULL, *names = NULL;
    struct fault fault = FAULT_NULL;
    _cleanup_free_ char *quoted = strdup(expected);
    assert_non_null(quoted);
    for (char *c = quoted; (c = strchr(c, '\''));)
        *c = '"';
    _cleanup_few_names_ struct few_names left = FEW_NAMES_NULL;
    if (program_job(source, options, &job, &names, &left, &fault) != 0)
        fail_msg("%s", fault.text);
    _cleanup_json_ json_t *wanted = json_loads(quoted, 0, NULL);
    assert_non_null(wanted);
    if (!json_equal(job, wanted)) {
        _cleanup_free_ char *text = json_dumps(job, JSON_COMPACT);
        fail_msg("%s\nexpected %s", text, quoted);
    }
    assert_int_equal(json_array_size(names), 2);
    assert_string_equal(json_string_value(json_array_get(names, 1)), "2");
}

#define TESTS                                                                 \
    "'tests': [{'name': '1', 'input': '1\\n', 'output': {'base64': '/wA='}}," \
    "          {'name': '2', 'input': '', 'output': '2'}]"

static void test_job(void **state)
{
    (void)state;
    expect(
        "main.cpp", &(struct program_options){.tests = "t"},
        "{'kind': 'program', 'language': 'cpp', 'code': 'int main', 'stop': 'first_failure', " TESTS
        "}");
}

static void test_options(void **state)
{
    (void)state;
    const char *limits[] = {"cpu=3s", "max_processes=4"};
    expect("main.cpp",
           &(struct program_options){.tests = "t",
                                     .language = "c",
                                     .compare = "float:0,1e-3",
                                     .time = "1500ms",
                                     .memory = "64M",
                                     .limits = {.items = limits, .n = 2},
                                     .all = true},
           "{'kind': 'program', 'language': 'c', 'code': 'int main', 'stop': 'all', "
           "'compare': 'float:0,1e-3', 'limits': {'cpu': 3, 'max_processes': 4, 'wall_clock': 1.5, "
           "'memory_bytes': 67108864}, " TESTS "}");
}

static void refuse(const struct program_options *options, const char *says)
{
    json_t *job = NULL, *names = NULL;
    struct fault fault = FAULT_NULL;
    struct few_names left = FEW_NAMES_NULL;
    assert_true(program_job("main.cpp", options, &job, &names, &left, &fault) < 0);
    assert_null(job);
    assert_null(names);
    if (strncmp(fault.text, says, strlen(says)) != 0)
        fail_msg("%s", fault.text);
}

static void test_refused(void **state)
{
    (void)state;
    const char *limits[] = {"walls=3"};
    refuse(&(struct program_options){.tests = "t", .time = "x"},
           "--time: expected a duration such as 500ms, 1.5s, 30s or 5min (seconds without a unit), "
           "got \"x\"");
    refuse(
        &(struct program_options){.tests = "t", .memory = "-1"},
        "--memory: expected a size in bytes, or a number with K, M, G or T behind it, got \"-1\"");
    refuse(&(struct program_options){.tests = "t", .memory = "256"},
           "--memory: expected at least 1M, as hardly a program starts in less (a number alone is "
           "in bytes), got \"256\"");
    refuse(&(struct program_options){.tests = "t", .limits = {.items = limits, .n = 1}},
           "--limit: unknown limit \"walls\"");
    refuse(&(struct program_options){.tests = "t", .language = "\xFF"}, "--language: \"");
    refuse(&(struct program_options){.tests = "t", .compare = "\xFF"},
           "--compare: unknown rule \"");
    refuse(&(struct program_options){.tests = "main.cpp"}, "main.cpp: it is no folder, and no zip");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_job),
        cmocka_unit_test(test_options),
        cmocka_unit_test(test_refused),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
