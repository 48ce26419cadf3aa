/* SPDX-License-Identifier: MIT */
/* CodeContests: public, private and generated tests by standard input, in DeepMind's form, and in
 * that of re-exports, which have them as a text of JSON in `test`. */
#include "formats.h"
#include "iotests.h"
#include "langname.h"

#include <string.h>

/* Seconds for a test of a task that says none; a re-export's own runner gives that to scripts. */
#define TIMEOUT 20

/* The numbers of languages, in the order in which a solution is looked for. */
static const struct {
    int number;
    const char *word;
    const char *language;
} languages[] = {
    {3, "PYTHON3", "python"},
    {2, "CPP", "cpp"},
    {4, "JAVA", "java"},
};

static const char *const groups[] = {"public_tests", "private_tests", "generated_tests"};

static bool is_reexport(const json_t *record)
{
    const json_t *test = task_member(record, "test");
    const char *text = json_string_value(test);
    if (json_is_array(test))
        return json_object_get(json_array_get(test, 0), "input") != NULL;
    return text && task_member(record, "labels") && text[strspn(text, " \t\r\n")] == '[';
}

static bool recognise(const json_t *record)
{
    for (size_t i = 0; i < ARRAY_SIZE(groups); i++)
        if (json_is_object(task_member(record, groups[i])))
            return true;
    return is_reexport(record);
}

static int add_groups(const struct task *task, json_t *tests, struct fault *fault)
{
    for (size_t i = 0; i < ARRAY_SIZE(groups); i++) {
        const json_t *group = task_member(task->object, groups[i]);
        int r = group ? iotests_add_all(tests, json_object_get(group, "input"),
                                        json_object_get(group, "output"), groups[i], fault)
                      : 0;
        if (r < 0)
            return r;
    }
    return 0;
}

static int add_reexport(struct task *task, json_t *tests, struct fault *fault)
{
    const json_t *cases = NULL;
    int r = task_take_json(task, "test", &cases, fault);
    if (r == 0 && !json_is_array(cases))
        r = fault_set(fault, "test: expected an array, got %s", json_type_name(cases));
    for (size_t i = 0; r == 0 && i < json_array_size(cases); i++) {
        const json_t *input = json_object_get(json_array_get(cases, i), "input");
        const json_t *output = json_object_get(json_array_get(cases, i), "output");
        char where[64];
        (void)snprintf(where, sizeof(where), "test[%zu]", i);
        if (json_object_size(input) > 1 || json_object_size(output) > 1)
            return fault_set(fault, "%s: expected stdin and stdout, and nothing else", where);
        r = iotests_add(tests, json_object_get(input, "stdin"), json_object_get(output, "stdout"),
                        where, fault);
    }
    return r;
}

/* A program that reads a file is not one that a test can be given to. */
static int check_files(const json_t *record, struct fault *fault)
{
    static const char *const names[] = {"input_file", "output_file"};
    for (size_t i = 0; i < ARRAY_SIZE(names); i++)
        if (formats_has(record, names[i]))
            return fault_set(fault,
                             "%s: programs of this task read or write a file; only standard "
                             "input and output are supported",
                             names[i]);
    return 0;
}

static void take_limits(struct task *task)
{
    const json_t *limit = task_member(task->object, "time_limit");
    double seconds = json_number_value(json_object_get(limit, "seconds")) +
                     json_number_value(json_object_get(limit, "nanos")) / 1e9;
    json_int_t memory = json_integer_value(task_member(task->object, "memory_limit_bytes"));
    task->timeout_s = seconds > 0 ? seconds : TIMEOUT;
    task->memory = memory > 0 ? (uint64_t)memory : 0;
}

/* Whether LANGUAGE, a number or a word, is the one of row I. */
static bool is_language(const json_t *language, size_t i)
{
    const char *word = json_string_value(language);
    return word ? strcmp(word, languages[i].word) == 0
                : json_is_integer(language) && json_integer_value(language) == languages[i].number;
}

/* Finds the first solution in a language that is WANTED; NULL: any. */
static void take_solution(struct task *task, const char *wanted)
{
    const json_t *solutions = task_member(task->object, "solutions");
    const json_t *of = json_object_get(solutions, "language");
    const json_t *texts = json_object_get(solutions, "solution");
    for (size_t i = 0; i < ARRAY_SIZE(languages); i++) {
        if (wanted && strcmp(langname_of(wanted), languages[i].language) != 0)
            continue;
        for (size_t j = 0; j < json_array_size(of); j++) {
            const json_t *text = json_array_get(texts, j);
            if (!is_language(json_array_get(of, j), i) || !json_is_string(text))
                continue;
            task->solution = text;
            task->solution_language = languages[i].language;
            return;
        }
    }
}

static int take(struct task *task, const struct task_source *source, struct fault *fault)
{
    _cleanup_json_ json_t *tests = json_array();
    if (!tests)
        return -ENOMEM;
    int r = check_files(task->object, fault);
    if (r == 0)
        r = is_reexport(task->object) ? add_reexport(task, tests, fault)
                                      : add_groups(task, tests, fault);
    if (r == 0)
        r = iotests_give(task, &tests, fault);
    take_limits(task);
    take_solution(task, source->language);
    task->compare = "codecontests";
    task->solution_form = SAMPLE_SOLUTION;
    return r;
}

const struct data_format data_format_codecontests = {
    .name = "codecontests",
    .title = "CodeContests",
    .what = "public, private and generated tests by standard input; the task's own time limit and "
            "memory, or 20 s; the first failure ends them",
    .source = "google-deepmind/code_contests, execution/; bytedance/SandboxFusion, common_oj.py, "
              "for re-exports",
    .differs = "tasks whose programs read or write a file are refused; solutions in Python 2 are "
               "not used",
    .samples = "name, id or task_id, solution (a program) or generation (free text), and language, "
               "or --language (default: python)",
    .ids = (const char *const[]){"task_id", "name", "id", NULL},
    .uses = (const char *const[]){"public_tests", "private_tests", "generated_tests", "test",
                                  "labels", "time_limit", "memory_limit_bytes", "solutions",
                                  "input_file", "output_file", NULL},
    .recognise = recognise,
    .take = take,
};
