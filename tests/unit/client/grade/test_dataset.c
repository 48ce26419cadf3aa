/* SPDX-License-Identifier: MIT */
#include "client/grade/dataset.h"
#include "client/grade/records.h"
#include "client/grade/sample.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

/* --- records ------------------------------------------------------------------------------ */

/* TEXT as "LINE<record>LINE<record>!fault". */
static void assert_records(const char *text, const char *expected)
{
    struct records records;
    char out[512] = "";
    records_init(&records, text, strlen(text));
    for (int calls = 0; calls < 20; calls++) {
        struct record record;
        struct fault fault = FAULT_NULL;
        size_t used = strlen(out);
        int r = records_next(&records, &record, &fault);
        if (r == 0)
            break;
        if (r < 0)
            (void)snprintf(out + used, sizeof(out) - used, "!%s", fault.text);
        else
            (void)snprintf(out + used, sizeof(out) - used, "%d<%.*s>", (int)record.line,
                           (int)record.n, record.text);
    }
    assert_string_equal(out, expected);
}

static void test_lines(void **state)
{
    (void)state;
    assert_records("", "");
    assert_records(" \n\r\n", "");
    assert_records("{a}\n{b}", "1<{a}>2<{b}>");
    assert_records("\n\n{a}\n \n  {b} \n", "3<{a}>5<{b} >");
    assert_records("{a}, [1,\n2]", "1<{a}, [1,>2<2]>");
}

static void test_arrays(void **state)
{
    (void)state;
    assert_records("[]", "");
    assert_records(" \n[ ]\n ", "");
    assert_records("[{a},{b}]", "1<{a}>1<{b}>");
    assert_records("\n[\n {a\n} ,\n {b}\n]\n", "3<{a\n} >5<{b}\n>");
    /* Brackets and commas inside elements and strings, escaped quotes. */
    assert_records("[{\"a\":[1,2]},\"],\\\",\",\"\\\\\",3]",
                   "1<{\"a\":[1,2]}>1<\"],\\\",\">1<\"\\\\\">1<3>");
}

static void test_broken_arrays(void **state)
{
    (void)state;
    assert_records("[", "!1: the array does not end");
    assert_records("[\n{a}", "!2: the array does not end");
    assert_records("[{a},", "1<{a}>!1: the array does not end");
    assert_records("[{a},\n]", "1<{a}>!2: an element of the array is missing");
    assert_records("[,{a}]", "!1: an element of the array is missing");
    assert_records("[{a}]\n]", "1<{a}>!2: text follows the array");
    assert_records("[\"a]", "!1: the array does not end");
    assert_records("[\"a\\", "!1: the array does not end");
    assert_records("[{a]]}]", "1<{a]>!1: text follows the array");
}

/* --- data sets ---------------------------------------------------------------------------- */

#define HUMAN_EVAL "\"prompt\":\"p\",\"test\":\"check\",\"entry_point\":\"e\""

static void collect(void *arg, const char *what)
{
    char *said = arg;
    (void)snprintf(said + strlen(said), FAULT_MAX - strlen(said), "%s|", what);
}

static struct dataset parse(const char *text, const char *complaints)
{
    const struct dataset_options options = {.format = NULL};
    struct dataset dataset = DATASET_NULL;
    char said[FAULT_MAX] = "";
    assert_int_equal(dataset_parse("d", text, strlen(text), &options, collect, said, &dataset), 0);
    assert_string_equal(said, complaints);
    return dataset;
}

static void test_human_eval(void **state)
{
    _cleanup_dataset_ struct dataset dataset =
        parse("\n{\"task_id\":\"H/0\"," HUMAN_EVAL ",\"canonical_solution\":\"s\",\"more\":1}\n"
              "{\"task_id\":\"H/1\"," HUMAN_EVAL ",\"test_list\":[]}\n",
              "");
    (void)state;
    assert_int_equal(dataset.n, 2);
    const struct task *task = &dataset.tasks[0];
    assert_string_equal(task->id, "H/0");
    assert_int_equal(task->line, 2);
    assert_string_equal(json_string_value(task->prompt), "p");
    assert_string_equal(json_string_value(task->test), "check");
    assert_string_equal(json_string_value(task->entry_point), "e");
    assert_string_equal(json_string_value(task->solution), "s");
    assert_null(task->targets);
    assert_null(task->test_setup);
    assert_null(dataset.tasks[1].solution);
    assert_null(dataset.tasks[1].targets);
    assert_int_equal(dataset_find(&dataset, "H/1"), 1);
    assert_int_equal(dataset_find(&dataset, "H/2"), -1);
}

static void test_mbpp(void **state)
{
    _cleanup_dataset_ struct dataset dataset = parse(
        "[{\"task_id\":2,\"prompt\":\"words\",\"code\":\"c\",\"test_list\":[\"a\",\"b\"],\n"
        "  \"test_imports\":[]},\n"
        " {\"task_id\":-3,\"test_list\":[\"a\"],\"test_imports\":[\"import x\",\"import y\"],\n"
        "  \"test_setup_code\":\"z = 1\"},\n"
        " {\"task_id\":4,\"test_list\":[\"a\"],\"test_setup_code\":\"\",\"test_imports\":null,\n"
        "  \"code\":null}]",
        "");
    (void)state;
    assert_int_equal(dataset.n, 3);
    const struct task *task = &dataset.tasks[0];
    assert_string_equal(task->id, "2");
    assert_null(task->prompt);
    assert_null(task->test);
    assert_int_equal(json_array_size(task->targets), 2);
    assert_null(task->test_setup);
    assert_string_equal(json_string_value(task->solution), "c");
    task = &dataset.tasks[1];
    assert_int_equal(dataset_find(&dataset, "-3"), 1);
    assert_int_equal(task->line, 3);
    assert_string_equal(json_string_value(task->test_setup), "import x\nimport y\nz = 1\n");
    assert_null(task->solution);
    assert_null(dataset.tasks[2].test_setup);
    assert_null(dataset.tasks[2].solution);
}

/* Faulty records are named; the others are there. */
static void test_bad_records(void **state)
{
    _cleanup_dataset_ struct dataset dataset =
        parse("{\"task_id\":1," HUMAN_EVAL "}\n"
              "{\n"
              "{\"task_id\":\"1\"," HUMAN_EVAL "}\n"
              "{\"task_id\":1.5," HUMAN_EVAL "}\n"
              "{\"task_id\":2,\"test\":\"check\",\"entry_point\":\"e\"}\n"
              "{\"task_id\":3," HUMAN_EVAL "}\n",
              "d:2: not JSON: column 1: string or '}' expected near end of file|"
              "d:3: task_id \"1\" is already that of line 1|"
              "d:4: task_id: expected a string or a number, got a number|"
              "d:5: prompt: expected a string, got nothing|");
    (void)state;
    assert_int_equal(dataset.n, 2);
    assert_int_equal(dataset_find(&dataset, "3"), 1);
}

static void test_many_tasks(void **state)
{
    _cleanup_free_ char *text = NULL;
    size_t n;
    FILE *out = open_memstream(&text, &n);
    (void)state;
    for (int i = 0; i < 3000; i++)
        (void)fprintf(out, "{\"task_id\":%d," HUMAN_EVAL "}\n", i);
    (void)fclose(out);
    _cleanup_dataset_ struct dataset dataset = parse(text, "");
    assert_int_equal(dataset.n, 3000);
    assert_string_equal(dataset.tasks[2999].id, "2999");
    assert_int_equal(dataset_find(&dataset, "2998"), 2998);
}

/* --- samples ------------------------------------------------------------------------------ */

/* EXPECTED is "ID FORM TEXT", or what is wrong. */
static void assert_sample(const char *text, const char *expected)
{
    _cleanup_json_ json_t *object = NULL;
    struct sample sample;
    struct fault fault = FAULT_NULL;
    char got[FAULT_MAX];
    assert_int_equal(json_read_object(text, strlen(text), &object, NULL), 0);
    if (sample_decode(object, &sample, &fault) < 0)
        (void)snprintf(got, sizeof(got), "%s", fault.text);
    else
        (void)snprintf(got, sizeof(got), "%s %d %s", sample.task_id, (int)sample.form,
                       json_string_value(sample.text));
    assert_string_equal(got, expected);
}

static void test_samples(void **state)
{
    (void)state;
    assert_sample("{\"task_id\":\"a\",\"completion\":\"x\"}", "a 0 x");
    assert_sample("{\"task_id\":7,\"solution\":\"x\",\"completion\":null}", "7 1 x");
    assert_sample("{\"task_id\":\"a\",\"generation\":\"\"}", "a 2 ");
    assert_sample("{\"task_id\":\"a\"}",
                  "neither completion nor solution nor generation (nor completions nor code_list), "
                  "but task_id");
    assert_sample("{\"task_id\":\"a\",\"solution\":\"x\",\"generation\":\"y\"}",
                  "both solution and generation: expected only one");
    assert_sample("{\"task_id\":\"a\",\"completion\":[]}",
                  "completion: expected a string, got an array");
    assert_sample("{\"completion\":\"x\"}", "task_id: expected a string or a number, got nothing");
    assert_sample("{\"task_id\":\"a\\u0000\",\"completion\":\"x\"}",
                  "task_id: a NUL is not allowed");
}

/* Lists of samples, and other names of the task, as the projects have them. */
static void test_lists(void **state)
{
    static const char text[] = "{\"question_id\":\"q\",\"code_list\":[\"x\",\"y\"],"
                               "\"language\":\"cpp\"}";
    _cleanup_json_ json_t *object = NULL;
    struct sample sample;
    (void)state;
    assert_int_equal(json_read_object(text, strlen(text), &object, NULL), 0);
    assert_int_equal(sample_decode(object, &sample, NULL), 0);
    assert_int_equal(sample_count(&sample), 2);
    assert_string_equal(json_string_value(sample_text(&sample, 1)), "y");
    assert_string_equal(sample.language, "cpp");
    assert_string_equal(sample_form_name(sample.form), "solution");
    assert_sample("{\"question_id\":\"q\",\"code_list\":[\"x\"]}", "q 1 x");
    assert_sample("{\"name\":\"n\",\"id\":3,\"completions\":[\"x\"]}", "n 0 x");
    assert_sample("{\"id\":3,\"task_id\":null,\"generation\":\"x\"}", "3 2 x");
    assert_sample("{\"name\":\"n\",\"completions\":[]}", "completions: there is no sample in it");
    assert_sample("{\"name\":\"n\",\"completions\":\"x\"}",
                  "completions: expected an array, got a string");
    assert_sample("{\"name\":\"n\",\"completions\":[\"x\",1]}",
                  "completions[1]: expected a string, got a number");
    assert_sample("{\"name\":\"n\",\"completions\":[\"x\"],\"completion\":\"x\"}",
                  "both completion and completions: expected only one");
    assert_sample("{\"name\":\"n\",\"completion\":\"x\",\"language\":1}",
                  "language: expected a string, got a number");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lines),         cmocka_unit_test(test_arrays),
        cmocka_unit_test(test_broken_arrays), cmocka_unit_test(test_human_eval),
        cmocka_unit_test(test_mbpp),          cmocka_unit_test(test_bad_records),
        cmocka_unit_test(test_many_tasks),    cmocka_unit_test(test_samples),
        cmocka_unit_test(test_lists),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
