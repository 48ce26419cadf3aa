/* SPDX-License-Identifier: MIT */
/* APPS and TACO: `input_output` is a text of JSON with inputs, outputs, and the name of a function
 * if the tests call one. */
#include "formats.h"
#include "guess.h"
#include "iotests.h"
#include "pyhead.h"

/* Seconds for a test, as testing_util.py of both has it. */
#define TIMEOUT 4

static bool recognise(const json_t *record)
{
    return task_member(record, "input_output");
}

/* Many outputs of calls are in lists of one. Its harness takes what such a list has in it for
 * right, and the list as well. */
static int add_call(json_t *tests, json_t *args, json_t *output)
{
    json_t *first = json_array_get(output, 0);
    bool is_list_of_one = json_array_size(output) == 1;
    return iotests_add_call(tests, json_incref(args), json_incref(is_list_of_one ? first : output),
                            is_list_of_one ? output : first);
}

static int add_calls(json_t *tests, const json_t *inputs, const json_t *outputs,
                     struct fault *fault)
{
    if (!json_is_array(inputs) || json_array_size(inputs) != json_array_size(outputs))
        return fault_set(fault, "input_output: %zu inputs, but %zu outputs",
                         json_array_size(inputs), json_array_size(outputs));
    if (json_array_size(inputs) > IOTESTS_MAX)
        return fault_set(fault, "input_output: more than %d tests", IOTESTS_MAX);
    for (size_t i = 0; i < json_array_size(inputs); i++) {
        json_t *args = json_array_get(inputs, i);
        if (!json_is_array(args))
            return fault_set(fault,
                             "input_output: inputs[%zu]: expected an array of arguments, got "
                             "%s",
                             i, json_type_name(args));
        int r = add_call(tests, args, json_array_get(outputs, i));
        if (r < 0)
            return r;
    }
    return 0;
}

/* The member that may have been meant for fn_name: without that, calls would be judged as programs.
 * NULL: there is none. */
static const char *misnamed(const json_t *packed)
{
    static const char *const names[] = {"fn",        "func",          "function",
                                        "func_name", "function_name", "entry_point"};
    for (size_t i = 0; i < ARRAY_SIZE(names); i++)
        if (json_object_get(packed, names[i]))
            return names[i];
    return guess_member(packed, "fn_name");
}

static const char *const columns[] = {"inputs", "outputs", "fn_name", NULL};

static int take_tests(struct task *task, struct fault *fault)
{
    _cleanup_json_ json_t *tests = json_array();
    const json_t *packed = NULL;
    /* Some tasks of APPS have none, which its harness passes over. */
    if (json_string_length(json_object_get(task->object, "input_output")) == 0 &&
        json_is_string(json_object_get(task->object, "input_output")))
        return fault_set(fault, "input_output: it is empty: the task has no tests");
    int r = tests ? task_take_json(task, "input_output", &packed, fault) : -ENOMEM;
    if (r < 0)
        return r;
    if (!json_is_object(packed))
        return fault_set(fault, "input_output: expected an object, got %s", json_type_name(packed));
    const json_t *inputs = json_object_get(packed, columns[0]);
    const json_t *outputs = json_object_get(packed, columns[1]);
    if (misnamed(packed))
        return fault_set(fault, "input_output.%.40s: the member that names the function is fn_name",
                         misnamed(packed));
    task->call = task_member(packed, "fn_name");
    if (task->call && !task_is_name(task->call))
        return fault_set(fault, "input_output: fn_name: it is no name of a function");
    r = task->call ? add_calls(tests, inputs, outputs, fault)
                   : iotests_add_all(tests, packed, columns, "input_output", fault);
    if (r == 0)
        r = iotests_check_names(packed, columns, "input_output", fault);
    return r < 0 ? r : iotests_give(task, &tests, fault);
}

/* The first of the solutions, a text of JSON with an array. */
static int take_solution(struct task *task, struct fault *fault)
{
    const json_t *solutions = NULL;
    if (!formats_has(task->object, "solutions"))
        return 0;
    int r = task_take_json(task, "solutions", &solutions, fault);
    if (r == 0 && json_array_size(solutions) > 0)
        task->solution = json_array_get(solutions, 0);
    if (r == 0 && task->solution && !json_is_string(task->solution))
        r = fault_set(fault, "solutions[0]: expected a string, got %s",
                      json_type_name(task->solution));
    return r;
}

static int take(struct task *task, const struct task_source *source, struct fault *fault)
{
    int r = take_tests(task, fault);
    if (r == 0)
        r = take_solution(task, fault);
    task->compare = task->call ? NULL : "apps";
    task->timeout_s = TIMEOUT;
    task->stop_all = true;
    task->solution_form = SAMPLE_SOLUTION;
    task->solution_language = "python";
    return r < 0 ? r : iotests_take_language(task, source->language, fault);
}

static int join(_unused_ const struct task *task, const char *language, enum sample_form form,
                const json_t *text, json_t **ret)
{
    static const char head[] =
        "import sys, time, itertools, collections, math, fractions, random, heapq\n"
        "from itertools import accumulate, product, permutations, combinations\n"
        "from collections import Counter, OrderedDict, deque, defaultdict, ChainMap\n"
        "from functools import lru_cache\n"
        "from math import sqrt, sin, cos, tan, ceil, fabs, floor, gcd, exp, log, log2\n"
        "from typing import List, Tuple\nfrom heapq import *\n";
    return pyhead_join(head, language, form, text, ret);
}

const struct data_format data_format_apps = {
    .name = "apps",
    .title = "APPS/TACO",
    .what = "input_output, by standard input or calls of a function; 4 s each, all tests run",
    .source = "hendrycks/apps, eval/testing_util.py; FlagOpen/TACO, metrics/testing_util.py",
    .differs =
        "each test runs in a process of its own, as a program; a wrong exit status fails a test, "
        "whatever its output; numpy is not imported for it; " VALUES_OF_CALLS,
    .samples =
        "problem_id, id or task_id (or the record's number, from 0), and solution (a program) "
        "or generation (free text)",
    .ids = (const char *const[]){"task_id", "problem_id", "id", NULL},
    .is_numbered = true,
    .uses = (const char *const[]){"input_output", "solutions", NULL},
    .recognise = recognise,
    .take = take,
    .join = join,
};
