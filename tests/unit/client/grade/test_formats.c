/* SPDX-License-Identifier: MIT */
/* A small row of each format, made up here, and the jobs that come of it. */
#include "client/grade/dataset.h"
#include "client/grade/gradejob.h"

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
static struct dataset parse_as(const char *text, const char *format, const char *language,
                               const char *complaint)
{
    struct dataset dataset = DATASET_NULL;
    char said[FAULT_MAX] = "";
    struct fault fault = FAULT_NULL;
    const struct dataset_options options = {
        .format = format ? formats_find(format, &fault) : NULL,
        .language = language,
    };
    assert_true(!format || options.format);
    assert_int_equal(dataset_parse("d", text, strlen(text), &options, collect, said, &dataset), 0);
    assert_string_equal(said, complaint);
    return dataset;
}

static void refuse(const char *text, const char *complaint)
{
    _cleanup_dataset_ struct dataset dataset = parse_as(text, NULL, NULL, complaint);
    assert_int_equal(dataset.n, 0);
}

static json_t *job_of(const struct task *task, enum sample_form form, const char *text)
{
    const struct gradejob_policy policy = {.timeout_s = 0};
    _cleanup_json_ json_t *string = json_string(text);
    const struct gradejob_code code = {.form = form, .text = string};
    json_t *job = gradejob_make(task, &code, &policy);
    assert_non_null(job);
    return job;
}

/* Takes the code out of the job, which then is EXPECTED; and returns it. */
static json_t *assert_job(json_t *job, const char *expected)
{
    json_t *code = json_incref(json_object_get(job, "code"));
    (void)json_object_del(job, "code");
    char *text = json_dumps(job, JSON_COMPACT | JSON_SORT_KEYS);
    assert_string_equal(text, expected);
    free(text);
    return code;
}

/* The job of a sample of the only task, without its code; and the end of the code. */
static void assert_sample(const struct dataset *dataset, enum sample_form form, const char *text,
                          const char *expected, const char *end)
{
    _cleanup_json_ json_t *job = job_of(&dataset->tasks[0], form, text);
    _cleanup_json_ json_t *code = assert_job(job, expected);
    const char *got = json_string_value(code);
    size_t n = strlen(end), length = json_string_length(code);
    assert_true(length >= n);
    assert_string_equal(got + length - n, end);
}

/* --- programs with their tests ------------------------------------------------------------ */

#define EXIT_JOB(language)                           \
    "{\"kind\":\"program\",\"language\":\"" language \
    "\",\"limits\":{\"wall_clock\":10.0},\"tests\":[{\"input\":\"\"}]}"

#define PACK_CPP                                                                              \
    "{\"task_id\":\"CPP/0\",\"prompt\":\"// Doubles.\\nint twice(int a){\\n\","               \
    "\"declaration\":\"int twice(int a){\\n\",\"canonical_solution\":\"return 2*a;\\n}\\n\"," \
    "\"test\":\"int main(){}\\n\",\"entry_point\":\"twice\",\"bug_type\":\"none\","           \
    "\"example_test\":\"x\"}"

static void test_humanevalpack(void **state)
{
    _cleanup_dataset_ struct dataset set = parse_as(PACK_CPP, NULL, NULL, "");
    (void)state;
    assert_ptr_equal(set.tasks[0].format, &data_format_humanevalpack);
    assert_true(set.tasks[0].is_forgeable);
    assert_sample(&set, SAMPLE_COMPLETION, "return a+a;}\nint main(){ return 1; }", EXIT_JOB("cpp"),
                  "#endif\nint main(){}\n");
    _cleanup_json_ json_t *begun = job_of(&set.tasks[0], SAMPLE_COMPLETION, "return a+a;}");
    _cleanup_json_ json_t *whole = job_of(&set.tasks[0], SAMPLE_GENERATION,
                                          "Sure:\n```cpp\nint twice(int b) { return b; }\n```\n");
    _cleanup_json_ json_t *open = job_of(&set.tasks[0], SAMPLE_GENERATION, "return 2*a;\n}\n");
    assert_non_null(strstr(json_string_value(json_object_get(begun, "code")),
                           "using namespace std;\n// Doubles.\nint twice(int a){\nreturn a+a;}\n"));
    assert_non_null(strstr(json_string_value(json_object_get(whole, "code")),
                           "using namespace std;\nint twice(int b) { return b; }\n"));
    assert_non_null(strstr(json_string_value(json_object_get(open, "code")),
                           "// Doubles.\nint twice(int a){\nreturn 2*a;\n}\n"));
}

/* In JavaScript a failed console.assert() ends nothing, and writes. */
static void test_javascript(void **state)
{
    _cleanup_dataset_ struct dataset set =
        parse_as("{\"task_id\":\"JavaScript/0\",\"prompt\":\"const twice = (a) => {\\n\","
                 "\"declaration\":\"const help = () => {\\n  for (x) {\\n  }\\n}\\nconst twice = "
                 "(a) => {\\n\",\"test\":\"console.assert(1)\\n\"}",
                 NULL, "js", "");
    (void)state;
    assert_ptr_equal(set.tasks[0].format, &data_format_humaneval_x);
    assert_string_equal(json_string_value(set.tasks[0].entry_point), "twice");
    assert_sample(&set, SAMPLE_COMPLETION, "return 2*a }",
                  "{\"compare\":\"exact\",\"kind\":\"program\",\"language\":\"javascript\","
                  "\"limits\":{\"wall_clock\":10.0},\"tests\":[{\"input\":\"\",\"output\":\"\"}]}",
                  ".digest('hex'); } }; } const twice = (a) => {\nreturn 2*a }\n"
                  "console.assert(1)\n");
    refuse("{\"task_id\":\"Cobol/0\",\"prompt\":\"\",\"declaration\":\"x\",\"test\":\"x\"}",
           "d:1: a record of no known format (rubricctl grade --list-formats); HumanEval has test "
           "and entry_point, MBPP test_list, CodeContests public_tests");
    refuse("{\"task_id\":\"Go/0\",\"prompt\":\"\",\"declaration\":\"{\\n\",\"test\":\"x\"}",
           "d:1: declaration: there is no head of a function in it");
}

/* Go and Rust get a main() that calls their tests. */
static void test_mains(void **state)
{
    _cleanup_dataset_ struct dataset go =
        parse_as("{\"task_id\":\"Go/0\",\"prompt\":\"func Twice(a int) int {\\n\","
                 "\"declaration\":\"\\nfunc Twice(a int) int {\\n\",\"import\":\"\","
                 "\"test_setup\":\"package main\\n\\nimport (\\n    \\\"testing\\\"\\n"
                 "    \\\"github.com/stretchr/testify/assert\\\"\\n)\\n\","
                 "\"test\":\"func TestTwice(t *testing.T) {\\n}\\n\"}",
                 NULL, NULL, "");
    _cleanup_dataset_ struct dataset rust = parse_as(
        "{\"task_id\":\"Rust/0\",\"prompt\":\"// x\\n\",\"declaration\":\"use md5;\\nuse std::a;\\n"
        "fn twice<T>(a: T) -> T {\\n\",\"test\":\"#[cfg(test)]\\nmod tests {\\n#[test]\\n"
        "fn test_twice() {}\\n}\\n\"}",
        NULL, NULL, "");
    (void)state;
    _cleanup_json_ json_t *first =
        job_of(&go.tasks[0], SAMPLE_COMPLETION, "return int(math.Abs(2)) // strings.X\n}\n");
    const char *text = json_string_value(json_object_get(first, "code"));
    assert_non_null(strstr(text, "    \"testing\"\n    \"math\"\n)\n"));
    assert_null(strstr(text, "stretchr"));
    assert_non_null(strstr(text, "        {\"TestTwice\", TestTwice},\n"));
    _cleanup_json_ json_t *second =
        job_of(&rust.tasks[0], SAMPLE_COMPLETION, "a }\nfn main() { }\n");
    assert_string_equal(
        json_string_value(json_object_get(second, "code")),
        "\nuse std::a;\nfn twice<T>(a: T) -> T {\n// x\na }\n\n\n\nmod tests {\npub \n"
        "fn test_twice() {}\n}\n\nfn main() {\n    tests::test_twice();\n}\n");
}

#define MULTIPL_E(language, prompt, tests, stop)                                               \
    "{\"name\":\"HumanEval_0_twice\",\"language\":\"" language "\",\"prompt\":\"" prompt "\"," \
    "\"doctests\":\"transform\",\"tests\":\"" tests "\",\"stop_tokens\":[\"" stop "\"]}"

#define MULTIPL_E_JOB(language)                      \
    "{\"kind\":\"program\",\"language\":\"" language \
    "\",\"limits\":{\"wall_clock\":15.0},\"tests\":[{\"input\":\"\"}]}"

static void test_multipl_e(void **state)
{
    _cleanup_dataset_ struct dataset cpp =
        parse_as(MULTIPL_E("cpp", "long twice(long a) {\\n", "}\\nint main() {}\\n", "\\n}"), NULL,
                 NULL, "");
    _cleanup_dataset_ struct dataset js =
        parse_as(MULTIPL_E("js", "function twice(a){\\n", "test();\\n", "\\n//"), NULL, NULL, "");
    _cleanup_dataset_ struct dataset d = parse_as(
        MULTIPL_E("d", "long twice(long a) {\\n", "}\\nunittest\\n{ x }\\nvoid main(){}", "\\n}"),
        NULL, NULL, "");
    (void)state;
    assert_string_equal(cpp.tasks[0].id, "HumanEval_0_twice");
    assert_true(cpp.tasks[0].is_forgeable);
    assert_sample(&cpp, SAMPLE_COMPLETION, "  return 2*a;\n}\nint more;", MULTIPL_E_JOB("cpp"),
                  "long twice(long a) {\n  return 2*a;\n}\nint main() {}\n");
    /* The end of a function before the one that is asked for ends nothing. */
    assert_sample(
        &cpp, SAMPLE_SOLUTION,
        "int help() {\n  return 2;\n}\nlong twice(long a) {\n  return 0;\n}\nint main() {",
        MULTIPL_E_JOB("cpp"),
        "int help() {\n  return 2;\n}\nlong twice(long a) {\n  return 0;\n}\n"
        "int main() {}\n");
    assert_sample(&js, SAMPLE_GENERATION, "```js\nfunction twice(b) {}\n// x\n```",
                  MULTIPL_E_JOB("javascript"), "function twice(b) {}\n// x\n\ntest();\n");
    assert_sample(&js, SAMPLE_COMPLETION, "return 2 }\n// x", MULTIPL_E_JOB("javascript"),
                  "function twice(a){\nreturn 2 }\ntest();\n");
    assert_sample(&d, SAMPLE_COMPLETION, "return 2;", MULTIPL_E_JOB("d"),
                  "return 2;\n}\nvoid main()\n{ x }\n");
    _cleanup_dataset_ struct dataset other = parse_as(MULTIPL_E("cpp", "p", "t", "s"), NULL, "js",
                                                      "d:1: --language js: the task is in C++");
    assert_int_equal(other.n, 0);
}

/* --- standard input ----------------------------------------------------------------------- */

#define OPTIONS(compare, language, seconds)                                      \
    "{\"compare\":\"" compare "\",\"kind\":\"program\",\"language\":\"" language \
    "\",\"limits\":{\"wall_clock\":" seconds "},"

static void test_livecodebench(void **state)
{
    _cleanup_dataset_ struct dataset set = parse_as(
        "{\"question_id\":\"q1\",\"contest_id\":\"c\",\"public_test_cases\":"
        "\"[{\\\"input\\\":\\\"1\\\\n\\\",\\\"output\\\":\\\"2\\\",\\\"testtype\\\":\\\"stdin\\\"}]"
        "\","
        /* base64 of zlib of a pickle of [{"input": "3", "output": "6", "testtype": "stdin"}] */
        "\"private_test_cases\":"
        "\"eJxrYJlqwQABPSbR1UqZeQWlJUpWCkrGSjoKSvmlJVCuGYhbklpcUlJZkAoSKC5JycxTqo2d"
        "ogcAOskSsA==\",\"metadata\":\"{}\"}",
        NULL, NULL, "");
    (void)state;
    assert_ptr_equal(set.tasks[0].format, &data_format_livecodebench);
    assert_string_equal(set.tasks[0].id, "q1");
    assert_sample(&set, SAMPLE_SOLUTION, "print(2)\n",
                  OPTIONS("livecodebench", "python",
                          "6.0") "\"tests\":[{\"input\":\"1\\n\",\"output\":\"2\"},"
                                 "{\"input\":\"3\",\"output\":\"6\"}]}",
                  "sys.setrecursionlimit(50000)\nprint(2)\n");
}

static void test_livecodebench_calls(void **state)
{
    _cleanup_dataset_ struct dataset set = parse_as(
        "{\"question_id\":\"q2\",\"public_test_cases\":"
        "\"[{\\\"input\\\":\\\"[1, 2]\\\\n\\\\\\\"x\\\\\\\"\\\",\\\"output\\\":\\\"true\\\","
        "\\\"testtype\\\":\\\"functional\\\"}]\",\"metadata\":\"{\\\"func_name\\\": "
        "\\\"solve\\\"}\"}",
        NULL, NULL, "");
    (void)state;
    assert_sample(&set, SAMPLE_GENERATION, "```python\nclass Solution: pass\n```",
                  "{\"call\":\"solve\",\"kind\":\"program\",\"language\":\"python\","
                  "\"limits\":{\"wall_clock\":6.0},"
                  "\"tests\":[{\"args\":[[1,2],\"x\"],\"expected\":true}]}",
                  "class Solution: pass\n");
    refuse("{\"question_id\":\"q\",\"public_test_cases\":\"[]\",\"metadata\":\"{}\"}",
           "d:1: there is no test");
    refuse("{\"question_id\":\"q\",\"private_test_cases\":\"%%\"}",
           "d:1: private_test_cases: neither JSON nor base64");
    refuse("{\"question_id\":\"q\",\"public_test_cases\":\"[{\\\"input\\\":\\\"1\\\","
           "\\\"output\\\":\\\"1\\\",\\\"testtype\\\":\\\"functional\\\"}]\"}",
           "d:1: public_test_cases[0]: of type functional, but metadata has no func_name");
    refuse(
        "{\"question_id\":\"q\",\"public_test_cases\":\"[1}\"}",
        "d:1: public_test_cases: not JSON that can be read: JSON: line 1 column 12: ']' expected "
        "near '}'");
}

static void test_apps(void **state)
{
    _cleanup_dataset_ struct dataset set =
        parse_as("{\"input_output\":\"{\\\"inputs\\\":[\\\"1\\\",[\\\"2\\\",\\\"3\\\"]],"
                 "\\\"outputs\\\":[\\\"a\\\",\\\"b\\\"]}\",\"solutions\":\"[\\\"print(1)\\\"]\"}",
                 NULL, "c++", "");
    _cleanup_dataset_ struct dataset calls =
        parse_as("{\"problem_id\":7,\"input_output\":{\"fn_name\":\"f\",\"inputs\":[[1,2],[3]],"
                 "\"outputs\":[[5],[[6]]]}}",
                 NULL, NULL, "");
    (void)state;
    assert_string_equal(set.tasks[0].id, "0"); /* TACO's records have only their numbers */
    assert_string_equal(json_string_value(set.tasks[0].solution), "print(1)");
    _cleanup_json_ json_t *string = json_string("int main() {}");
    const struct gradejob_code code = {.form = SAMPLE_SOLUTION, .text = string};
    const struct gradejob_policy policy = {.language = "c++"};
    _cleanup_json_ json_t *job = gradejob_make(&set.tasks[0], &code, &policy);
    _cleanup_json_ json_t *text = assert_job(
        job, OPTIONS("apps", "cpp",
                     "4.0") "\"stop\":\"all\",\"tests\":[{\"input\":\"1\",\"output\":\"a\"},"
                            "{\"input\":\"2\\n3\",\"output\":\"b\"}]}");
    assert_string_equal(json_string_value(text), "int main() {}");
    assert_string_equal(calls.tasks[0].id, "7");
    assert_sample(
        &calls, SAMPLE_SOLUTION, "def f(): pass\n",
        "{\"call\":\"f\",\"kind\":\"program\",\"language\":\"python\",\"limits\":"
        "{\"wall_clock\":4.0},\"stop\":\"all\",\"tests\":[{\"alternative\":[5],\"args\":[1,2],"
        "\"expected\":5},"
        "{\"alternative\":[[6]],\"args\":[3],\"expected\":[6]}]}",
        "def f(): pass\n");
    refuse("{\"id\":1,\"input_output\":\"{\\\"inputs\\\":[1],\\\"outputs\\\":[\\\"\\\"]}\"}",
           "d:1: input_output.inputs[0]: expected a string or an array of lines, got a number");
    refuse("{\"id\":1,\"input_output\":{\"inputs\":[\"\"],\"outputs\":[]}}",
           "d:1: input_output: 1 inputs, but 0 outputs");
    refuse(
        "{\"id\":1,\"input_output\":\"{} {}\"}",
        "d:1: input_output: not JSON that can be read: JSON: line 1 column 13: '}' expected near "
        "'{'");
    refuse("{\"id\":1,\"input_output\":\"1, \\\"more\\\": 2\"}", "d:1: input_output: not JSON");
    refuse("{\"id\":1,\"input_output\":{\"inputs\":[[]],\"outputs\":[1],\"fn_name\":\"f(\"}}",
           "d:1: input_output: fn_name: it is no name of a function");
}

/* That of the options comes before the data set's own. */
static void assert_memory_of_options(const struct task *task)
{
    _cleanup_json_ json_t *text = json_string("print(2)");
    const struct gradejob_code code = {.form = SAMPLE_SOLUTION, .text = text};
    const struct gradejob_policy policy = {.memory = 512000000};
    _cleanup_json_ json_t *job = gradejob_make(task, &code, &policy);
    const json_t *limits = json_object_get(job, "limits");
    assert_int_equal(json_integer_value(json_object_get(limits, "memory_bytes")), 512000000);
}

static void test_codecontests(void **state)
{
    _cleanup_dataset_ struct dataset set = parse_as(
        "{\"name\":\"1_A\",\"public_tests\":{\"input\":[\"1\"],\"output\":[\"2\"]},"
        "\"private_tests\":{\"input\":[],\"output\":[]},"
        "\"generated_tests\":{\"input\":[\"3\"],\"output\":[\"4\"]},"
        "\"time_limit\":{\"seconds\":1,\"nanos\":500000000},\"memory_limit_bytes\":256000000,"
        "\"input_file\":\"\",\"solutions\":{\"language\":[1,4,2],\"solution\":[\"p\",\"j\",\"c\"]}"
        "}",
        NULL, NULL, "");
    _cleanup_dataset_ struct dataset other =
        parse_as("{\"id\":3,\"labels\":\"{}\",\"content\":\"c\",\"test\":"
                 "\"[{\\\"input\\\":{\\\"stdin\\\":\\\"1\\\"},\\\"output\\\":{\\\"stdout\\\":"
                 "\\\"2\\\"}}]\"}",
                 NULL, NULL, "");
    (void)state;
    assert_string_equal(json_string_value(set.tasks[0].solution), "c");
    assert_string_equal(set.tasks[0].solution_language, "cpp");
    assert_sample(
        &set, SAMPLE_SOLUTION, "print(2)",
        "{\"compare\":\"codecontests\",\"kind\":\"program\",\"language\":\"python\","
        "\"limits\":{\"memory_bytes\":256000000,\"wall_clock\":1.5},"
        "\"tests\":[{\"input\":\"1\",\"output\":\"2\"},{\"input\":\"3\",\"output\":\"4\"}]}",
        "print(2)");
    assert_memory_of_options(&set.tasks[0]);
    assert_ptr_equal(other.tasks[0].format, &data_format_codecontests);
    assert_sample(
        &other, SAMPLE_SOLUTION, "print(2)",
        OPTIONS("codecontests", "python", "20.0") "\"tests\":[{\"input\":\"1\",\"output\":\"2\"}]}",
        "print(2)");
    refuse("{\"name\":\"x\",\"public_tests\":{\"input\":[\"1\"],\"output\":[\"2\"]},"
           "\"input_file\":\"in.txt\"}",
           "d:1: input_file: programs of this task read or write a file; only standard input and "
           "output are supported");
    refuse("{\"name\":\"x\",\"public_tests\":{\"input\":[\"1\"],\"output\":[]}}",
           "d:1: public_tests: 1 inputs, but 0 outputs");
}

#define LIMITED(limits) \
    "{\"name\":\"x\",\"public_tests\":{\"input\":[\"1\"],\"output\":[\"2\"]}," limits "}"

/* A limit that is not understood must not become another one. */
static void test_limits(void **state)
{
    static const char *const wrong[][2] = {
        {LIMITED("\"time_limit\":2"), "d:1: time_limit: expected {\"seconds\": N}, got a number"},
        {LIMITED("\"time_limit\":{\"second\":1}"),
         "d:1: time_limit.second: expected only seconds and nanos"},
        {LIMITED("\"time_limit\":{\"seconds\":\"1\"}"),
         "d:1: time_limit.seconds: expected a number, got a string"},
        {LIMITED("\"time_limit\":{\"seconds\":-1}"), "d:1: time_limit.seconds: it is negative"},
        {LIMITED("\"timelimit\":{\"seconds\":1}"),
         "d:1: timelimit: it is not read; write \"time_limit\": {\"seconds\": N}"},
        {LIMITED("\"memory_limit\":64"),
         "d:1: memory_limit: it is not read; write \"memory_limit_bytes\": N"},
        {LIMITED("\"memory_limit_bytes\":\"64\""),
         "d:1: memory_limit_bytes: expected a whole number of bytes, got a string"},
        {LIMITED("\"memory_limit_bytes\":-1"), "d:1: memory_limit_bytes: it is negative"},
        {LIMITED("\"memory_limit_bytes\":256"), "d:1: memory_limit_bytes: expected at least "
                                                "1048576 (1 MiB), as hardly a program starts in "
                                                "less; got 256: was a unit meant?"},
        {LIMITED("\"memory_limit_bytes\":1048575"),
         "d:1: memory_limit_bytes: expected at least 1048576 (1 MiB), as hardly a program starts "
         "in "
         "less; got 1048575: was a unit meant?"},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(wrong); i++)
        refuse(wrong[i][0], wrong[i][1]);
    _cleanup_dataset_ struct dataset none =
        parse_as(LIMITED("\"time_limit\":null,\"memory_limit_bytes\":0"), NULL, NULL, "");
    assert_true(none.tasks[0].timeout_s == 20 && none.tasks[0].memory == 0);
    _cleanup_dataset_ struct dataset zero =
        parse_as(LIMITED("\"time_limit\":{\"seconds\":0,\"nanos\":null}"), NULL, NULL, "");
    assert_true(zero.tasks[0].timeout_s == 20);
    _cleanup_dataset_ struct dataset least =
        parse_as(LIMITED("\"time_limit\":{},\"memory_limit_bytes\":1048576"), NULL, NULL, "");
    assert_true(least.tasks[0].timeout_s == 20 && least.tasks[0].memory == 1048576);
}

/* --- the isolated judge ------------------------------------------------------------------- */

static void assert_contains(const json_t *job, const char *member, const char *text)
{
    const char *got = json_string_value(json_object_get(job, member));
    assert_non_null(got);
    assert_non_null(strstr(got, text));
}

static void test_unittests(void **state)
{
    _cleanup_dataset_ struct dataset big = parse_as(
        "{\"task_id\":\"BigCodeBench/0\",\"complete_prompt\":\"def task_func():\\n\","
        "\"instruct_prompt\":\"x\",\"entry_point\":\"task_func\",\"canonical_solution\":\" pass\","
        "\"test\":\"import unittest\\nclass TestCases(unittest.TestCase): pass\\n\"}",
        NULL, NULL, "");
    _cleanup_dataset_ struct dataset again = parse_as(
        "{\"id\":\"BigCodeBench/1\",\"content\":\"def task_func():\\n\","
        "\"labels\":\"{\\\"entry_point\\\":\\\"task_func\\\"}\",\"test\":\"import unittest\\n\"}",
        NULL, NULL, "");
    _cleanup_dataset_ struct dataset classes = parse_as(
        "{\"task_id\":\"ClassEval_0\",\"class_name\":\"A\",\"test_classes\":[\"AOne\",\"ATwo\"],"
        "\"test\":\"import unittest\\n\",\"solution_code\":\"class A: pass\","
        "\"import_statement\":[\"import os\"],\"methods_info\":[{\"test_code\":\"x\"}]}",
        NULL, NULL, "");
    (void)state;
    assert_ptr_equal(big.tasks[0].format, &data_format_bigcodebench);
    assert_ptr_equal(again.tasks[0].format, &data_format_bigcodebench);
    _cleanup_json_ json_t *first = job_of(&big.tasks[0], SAMPLE_SOLUTION, "x");
    _cleanup_json_ json_t *second = job_of(&again.tasks[0], SAMPLE_GENERATION, "x");
    _cleanup_json_ json_t *third = job_of(&classes.tasks[0], SAMPLE_SOLUTION, "x");
    assert_contains(first, "kind", "code_exec");
    assert_contains(first, "test", "def check(candidate):\n    _run_unittests([each for each in");
    assert_contains(first, "prelude", "def task_func():\n");
    assert_contains(second, "entry_point", "task_func");
    assert_contains(second, "generation", "x");
    assert_contains(third, "test", "_run_unittests([AOne, ATwo])\n");
    assert_contains(third, "prelude", "import os\n");
    assert_true(json_number_value(
                    json_object_get(json_object_get(third, "metadata"), "timeout_s")) == 10.0);
    refuse("{\"task_id\":\"x\",\"class_name\":\"A\",\"test_classes\":[\"a b\"],\"test\":\"x\"}",
           "d:1: test_classes[0]: it is no name of a class");
}

#define CRUX \
    "{\"id\":\"sample_0\",\"code\":\"def f(a):\\n    return a\",\"input\":\"1\",\"output\":\"1\"}"

static void test_cruxeval(void **state)
{
    _cleanup_dataset_ struct dataset out = parse_as(CRUX, NULL, NULL, "");
    _cleanup_dataset_ struct dataset in = parse_as(CRUX, "cruxeval-i", NULL, "");
    static const char job[] = "{\"entry_point\":\"answer\",\"kind\":\"code_exec\","
                              "\"targets\":[\"assert answer() == (1\\n)\"]}";
    (void)state;
    assert_ptr_equal(out.tasks[0].format, &data_format_cruxeval_o);
    assert_sample(&out, SAMPLE_SOLUTION, "2", job, "def answer():\n    return (2\n    )\n");
    assert_sample(&out, SAMPLE_GENERATION, "I think\n[ANSWER]\nassert f(1) == 3\n[/ANSWER]\nbye",
                  job, "def answer():\n    return (3\n    )\n");
    assert_string_equal(json_string_value(in.tasks[0].solution), "f(1)");
    _cleanup_json_ json_t *call =
        job_of(&in.tasks[0], SAMPLE_GENERATION, "[ANSWER]\nassert f(4) == 4\n[/ANSWER]");
    assert_contains(call, "code", "    return (f(4)\n    )\n");
    assert_contains(call, "test",
                    "args, kwargs = candidate()\n    assert f(*args, **kwargs) == (1\n");
    _cleanup_json_ json_t *none = job_of(&in.tasks[0], SAMPLE_SOLUTION, "4");
    assert_contains(none, "code", "raise ValueError(\"the answer is no call of f\")\n");
}

/* Python in HumanEval-X: the test's own call of check() is the judge's to make. */
static void test_python(void **state)
{
    _cleanup_dataset_ struct dataset set = parse_as(
        "{\"task_id\":\"Python/0\",\"prompt\":\"def f():\\n\",\"declaration\":\"def f():\\n\","
        "\"test\":\"def check(g):\\n    assert g()\\n\\ncheck(f)\\n\"}",
        NULL, NULL, "");
    (void)state;
    assert_sample(&set, SAMPLE_COMPLETION, "    return 1",
                  "{\"entry_point\":\"f\",\"kind\":\"code_exec\",\"metadata\":{\"timeout_s\":10.0},"
                  "\"prelude\":\"def f():\\n\",\"test\":\"def check(g):\\n    assert g()\\n\\n\"}",
                  "    return 1");
    refuse("{\"task_id\":\"Python/0\",\"prompt\":\"\",\"declaration\":\"x\",\"test\":\"pass\\n\"}",
           "d:1: test: its last line is no call of check()");
}

/* --- all of them -------------------------------------------------------------------------- */

static void test_names(void **state)
{
    struct fault fault = FAULT_NULL;
    (void)state;
    for (size_t i = 0; i < DATA_FORMATS_N; i++) {
        const struct data_format *format = data_formats[i];
        assert_ptr_equal(formats_find(format->name, &fault), format);
        assert_true(format->title && format->what && format->source && format->differs &&
                    format->samples && format->take);
    }
    assert_null(formats_find("mbbp", &fault));
    assert_non_null(strstr(fault.text, "--format: there is no \"mbbp\"; there are evalplus, "));
    assert_non_null(strstr(fault.text, ", humaneval, mbpp"));
}

/* A sample in a language that is not the task's is no sample of it. */
static void test_languages(void **state)
{
    _cleanup_dataset_ struct dataset set = parse_as(PACK_CPP, NULL, NULL, "");
    const struct gradejob_policy policy = {.timeout_s = 0};
    struct gradejob_code code = {.language = "C++"};
    struct fault fault = FAULT_NULL;
    (void)state;
    assert_string_equal(gradejob_language(&set.tasks[0], &code, &policy, &fault), "cpp");
    code.language = "rust";
    assert_null(gradejob_language(&set.tasks[0], &code, &policy, &fault));
    assert_string_equal(fault.text, "language: the sample is in rust, but its task in C++");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_humanevalpack), cmocka_unit_test(test_javascript),
        cmocka_unit_test(test_mains),         cmocka_unit_test(test_multipl_e),
        cmocka_unit_test(test_livecodebench), cmocka_unit_test(test_livecodebench_calls),
        cmocka_unit_test(test_apps),          cmocka_unit_test(test_codecontests),
        cmocka_unit_test(test_limits),        cmocka_unit_test(test_unittests),
        cmocka_unit_test(test_cruxeval),      cmocka_unit_test(test_python),
        cmocka_unit_test(test_names),         cmocka_unit_test(test_languages),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
