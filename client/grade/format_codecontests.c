/* SPDX-License-Identifier: MIT */
/* CodeContests: public, private and generated tests by standard input, in DeepMind's form, and in
 * that of re-exports, which have them as a text of JSON in `test`. */
#include "formats.h"
#include "iotests.h"
#include "langname.h"

#include "proto/limits.h"

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

static const char *const groups[] = {"public_tests", "private_tests", "generated_tests", NULL};
static const char *const reexported[] = {"test", NULL};

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
    for (const char *const *group = groups; *group; group++)
        if (json_is_object(task_member(record, *group)))
            return true;
    return is_reexport(record);
}

static const char *const columns[] = {"input", "output", NULL};

static int add_groups(const struct task *task, json_t *tests, struct fault *fault)
{
    int r = formats_check_left(task->object, "public_tests, private_tests and generated_tests",
                               reexported, fault);
    for (const char *const *name = groups; r == 0 && *name; name++) {
        const json_t *group = task_member(task->object, *name);
        r = group ? iotests_add_all(tests, group, columns, *name, fault) : 0;
        if (r == 0)
            r = iotests_check_names(group, columns, *name, fault);
    }
    return r;
}

static int add_reexport(struct task *task, json_t *tests, struct fault *fault)
{
    const json_t *cases = NULL;
    int r = formats_check_left(task->object, "test", groups, fault);
    if (r == 0)
        r = task_take_json(task, "test", &cases, fault);
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
        if (r == 0)
            r = iotests_check_names(json_array_get(cases, i), columns, where, fault);
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

/* Adds the number NAME of LIMIT, times SCALE, to *SECONDS. */
static int add_seconds(const json_t *limit, const char *name, double scale, double *seconds,
                       struct fault *fault)
{
    const json_t *value = task_member(limit, name);
    if (!value)
        return 0;
    if (!json_is_number(value))
        return fault_set(fault, "time_limit.%s: expected a number, got %s", name,
                         json_type_name(value));
    if (json_number_value(value) < 0)
        return fault_set(fault, "time_limit.%s: it is negative", name);
    *seconds += json_number_value(value) * scale;
    return 0;
}

/* 0 seconds stand for a limit that is not known, as in the original. */
static int take_time_limit(struct task *task, struct fault *fault)
{
    const json_t *limit = task_member(task->object, "time_limit");
    double seconds = 0;
    if (limit && !json_is_object(limit))
        return fault_set(fault, "time_limit: expected {\"seconds\": N}, got %s",
                         json_type_name(limit));
    json_t *walked = (json_t *)(uintptr_t)limit;
    for (void *i = json_object_iter(walked); i; i = json_object_iter_next(walked, i)) {
        const char *name = json_object_iter_key(i);
        if (strcmp(name, "seconds") != 0 && strcmp(name, "nanos") != 0)
            return fault_set(fault, "time_limit.%.40s: expected only seconds and nanos", name);
    }
    int r = add_seconds(limit, "seconds", 1, &seconds, fault);
    if (r == 0)
        r = add_seconds(limit, "nanos", 1e-9, &seconds, fault);
    task->timeout_s = seconds > 0 ? seconds : TIMEOUT;
    return r;
}

/* Here, too, 0 stands for what is not known. */
static int take_memory_limit(struct task *task, struct fault *fault)
{
    const json_t *limit = task_member(task->object, "memory_limit_bytes");
    if (limit && !json_is_integer(limit))
        return fault_set(fault, "memory_limit_bytes: expected a whole number of bytes, got %s",
                         json_type_name(limit));
    if (json_integer_value(limit) < 0)
        return fault_set(fault, "memory_limit_bytes: it is negative");
    if (json_integer_value(limit) > 0 && json_integer_value(limit) < (json_int_t)LIMIT_MIB)
        return fault_set(fault,
                         "memory_limit_bytes: expected at least %d (1 MiB), as hardly a program "
                         "starts in less; got %d: was a unit meant?",
                         (int)LIMIT_MIB, (int)json_integer_value(limit));
    task->memory = (uint64_t)json_integer_value(limit);
    return 0;
}

/* A limit under another name would be passed over, and programs judged by the wrong one. */
static int check_names(const json_t *record, struct fault *fault)
{
    json_t *walked = (json_t *)(uintptr_t)record;
    for (void *i = json_object_iter(walked); i; i = json_object_iter_next(walked, i)) {
        const char *name = json_object_iter_key(i);
        bool is_limit = strcasestr(name, "limit") != NULL;
        if (is_limit && strcasestr(name, "time") && strcmp(name, "time_limit") != 0)
            return fault_set(fault, "%.40s: it is not read; write \"time_limit\": {\"seconds\": N}",
                             name);
        if (is_limit && strcasestr(name, "mem") && strcmp(name, "memory_limit_bytes") != 0)
            return fault_set(fault, "%.40s: it is not read; write \"memory_limit_bytes\": N", name);
    }
    return 0;
}

static int take_limits(struct task *task, struct fault *fault)
{
    int r = check_names(task->object, fault);
    if (r == 0)
        r = take_time_limit(task, fault);
    return r < 0 ? r : take_memory_limit(task, fault);
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
    if (r == 0)
        r = take_limits(task, fault);
    take_solution(task, source->language);
    task->compare = "codecontests";
    task->solution_form = SAMPLE_SOLUTION;
    return r;
}

const struct data_format data_format_codecontests = {
    .name = "codecontests",
    .title = "CodeContests",
    .what = "public, private and generated tests by standard input; the task's own time limit and "
            "memory, or 20 s and the daemon's memory if these are null, {} or 0, which stands for "
            "not known, as in the original; the first failure ends them",
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
