/* SPDX-License-Identifier: MIT */
/* LiveCodeBench (code generation): tests by standard input, or calls of a function. The public
 * tests are JSON, the private ones are packed; a re-export has all of them packed in `test`. */
#include "formats.h"
#include "iotests.h"
#include "pyhead.h"
#include "unpack.h"

#include <string.h>

/* Seconds for a test: lcb_runner's --timeout. */
#define TIMEOUT 6

/* What a re-export packs has this member, as APPS has it. */
#define INPUT_OUTPUT "input_output"

static const char *const groups[] = {"public_test_cases", "private_test_cases", NULL};
static const char *const reexported[] = {"test", NULL};

static bool is_reexport(const json_t *record)
{
    const json_t *test = task_member(record, "test");
    /* zlib's first byte, in base64. */
    return json_is_string(test) && task_member(record, "labels") &&
           strncmp(json_string_value(test), "eJ", 2) == 0;
}

static bool recognise(const json_t *record)
{
    return task_member(record, "public_test_cases") || task_member(record, "private_test_cases") ||
           is_reexport(record);
}

/* --- calls -------------------------------------------------------------------------------- */

/* Reads the arguments: each line of TEXT is one. */
static int read_args(const json_t *text, json_t **ret, struct fault *fault)
{
    _cleanup_json_ json_t *args = json_array();
    const char *line = json_string_value(text);
    size_t left = json_string_length(text);
    int r = args ? 0 : -ENOMEM;
    while (r == 0) {
        const char *end = memchr(line, '\n', left);
        size_t n = end ? (size_t)(end - line) : left;
        json_t *value = NULL;
        r = task_read_json(line, n, "input", &value, fault);
        if (r == 0 && json_array_append_new(args, value) < 0)
            r = -ENOMEM;
        if (!end)
            break;
        line = end + 1;
        left -= n + 1;
    }
    if (r == 0)
        *ret = TAKE_PTR(args);
    return r;
}

static int add_call(json_t *tests, const json_t *input, const json_t *output, struct fault *fault)
{
    json_t *args = NULL, *expected = NULL;
    if (!json_is_string(input) || !json_is_string(output))
        return fault_set(fault, "input, output: expected strings, got %s and %s",
                         json_type_name(input), json_type_name(output));
    if (json_array_size(tests) == IOTESTS_MAX)
        return fault_set(fault, "more than %d tests", IOTESTS_MAX);
    int r = read_args(input, &args, fault);
    if (r == 0)
        r = task_read_json(json_string_value(output), json_string_length(output), "output",
                           &expected, fault);
    if (r < 0) {
        json_decref(args);
        return r;
    }
    return iotests_add_call(tests, args, expected, NULL);
}

/* --- the tests ---------------------------------------------------------------------------- */

static const char *const of_test[] = {"input", "output", "testtype", NULL};

static int add_case(const struct task *task, json_t *tests, const json_t *test, const char *where,
                    struct fault *fault)
{
    const json_t *input = json_object_get(test, "input"), *output = json_object_get(test, "output");
    const char *type = json_string_value(json_object_get(test, "testtype"));
    bool is_call = type && strcmp(type, "functional") == 0;
    if (!type || (!is_call && strcmp(type, "stdin") != 0))
        return fault_set(fault, "%s: testtype: expected \"stdin\" or \"functional\"", where);
    if (is_call != (task->call != NULL))
        return fault_set(fault, "%s: of type %s, but metadata %s func_name", where, type,
                         task->call ? "has" : "has no");
    int r = is_call ? add_call(tests, input, output, fault)
                    : iotests_add(tests, input, output, where, fault);
    return r < 0 ? r : iotests_check_names(test, of_test, where, fault);
}

/* Adds the tests in the member NAME: a text of JSON, or a packed one. */
static int add_cases(struct task *task, json_t *tests, const char *name, struct fault *fault)
{
    const json_t *member = task_member(task->object, name);
    _cleanup_json_ json_t *cases = json_incref((json_t *)(uintptr_t)member);
    _cleanup_bytes_ struct bytes unpacked = BYTES_NULL;
    if (json_is_string(member)) {
        const char *text = json_string_value(member);
        size_t n = json_string_length(member);
        struct fault why = FAULT_NULL;
        int r = text[strspn(text, " \t\r\n")] == '['
                    ? 0
                    : unpack_text(text, n, INPUT_OUTPUT, &unpacked, &why);
        if (r == -EINVAL)
            return fault_set(fault, "%s: %s", name, why.text);
        json_decref(cases);
        cases = NULL;
        if (r == 0)
            r = task_read_json(unpacked.data ? unpacked.data : text,
                               unpacked.data ? unpacked.length : n, name, &cases, fault);
        if (r < 0)
            return r;
    }
    if (!json_is_array(cases))
        return fault_set(fault, "%s: expected an array of tests, got %s", name,
                         json_type_name(cases));
    for (size_t i = 0; i < json_array_size(cases); i++) {
        char where[64];
        (void)snprintf(where, sizeof(where), "%s[%zu]", name, i);
        int r = add_case(task, tests, json_array_get(cases, i), where, fault);
        if (r < 0)
            return r;
    }
    return 0;
}

static int take_function(struct task *task, const json_t *name, struct fault *fault)
{
    if (!name || json_is_null(name))
        return 0;
    if (!task_is_name(name))
        return fault_set(fault, "the name of the function is none");
    task->call = task_keep(task, json_incref((json_t *)(uintptr_t)name));
    return task->call ? 0 : -ENOMEM;
}

/* Public tests, then private ones, as its own harness has them. */
static int take_cases(struct task *task, json_t *tests, struct fault *fault)
{
    const json_t *metadata = NULL;
    int r = formats_check_left(task->object, "public_test_cases and private_test_cases", reexported,
                               fault);
    if (r == 0 && task_member(task->object, "metadata"))
        r = task_take_json(task, "metadata", &metadata, fault);
    if (r == 0)
        r = take_function(task, json_object_get(metadata, "func_name"), fault);
    for (const char *const *name = groups; r == 0 && *name; name++)
        if (task_member(task->object, *name))
            r = add_cases(task, tests, *name, fault);
    return r;
}

static const char *const columns[] = {"inputs", "outputs", "fn_name", NULL};

static int add_packed(const struct task *task, json_t *tests, const json_t *packed,
                      struct fault *fault)
{
    const json_t *inputs = json_object_get(packed, "inputs");
    const json_t *outputs = json_object_get(packed, "outputs");
    if (!task->call)
        return iotests_add_all(tests, packed, columns, INPUT_OUTPUT, fault);
    if (json_array_size(inputs) != json_array_size(outputs))
        return fault_set(fault, "%zu inputs, but %zu outputs", json_array_size(inputs),
                         json_array_size(outputs));
    for (size_t i = 0; i < json_array_size(inputs); i++) {
        int r = add_call(tests, json_array_get(inputs, i), json_array_get(outputs, i), fault);
        if (r < 0)
            return r;
    }
    return 0;
}

static int take_reexport(struct task *task, json_t *tests, struct fault *fault)
{
    const json_t *test = json_object_get(task->object, "test");
    _cleanup_bytes_ struct bytes unpacked = BYTES_NULL;
    _cleanup_json_ json_t *packed = NULL;
    struct fault why = FAULT_NULL;
    int r = formats_check_left(task->object, "test", groups, fault);
    if (r < 0)
        return r;
    r = unpack_text(json_string_value(test), json_string_length(test), INPUT_OUTPUT, &unpacked,
                    &why);
    if (r == 0)
        r = task_read_json(unpacked.data, unpacked.length, INPUT_OUTPUT, &packed, &why);
    if (r == 0)
        r = take_function(task, json_object_get(packed, "fn_name"), &why);
    if (r == 0)
        r = add_packed(task, tests, packed, &why);
    if (r == 0)
        r = iotests_check_names(packed, columns, INPUT_OUTPUT, &why);
    return r == -EINVAL ? fault_set(fault, "test: %s", why.text) : r;
}

static int take(struct task *task, const struct task_source *source, struct fault *fault)
{
    _cleanup_json_ json_t *tests = json_array();
    if (!tests)
        return -ENOMEM;
    int r = is_reexport(task->object) ? take_reexport(task, tests, fault)
                                      : take_cases(task, tests, fault);
    if (r == 0)
        r = iotests_give(task, &tests, fault);
    if (r == 0)
        r = task_take_optional(task->object, "canonical_solution", &task->solution, fault);
    task->compare = task->call ? NULL : "livecodebench";
    task->timeout_s = TIMEOUT;
    task->solution_form = SAMPLE_SOLUTION;
    task->solution_is_doubtful = true; /* a re-export has a program there that does nothing */
    return r < 0 ? r : iotests_take_language(task, source->language, fault);
}

static int join(_unused_ const struct task *task, const char *language, enum sample_form form,
                const json_t *text, json_t **ret)
{
    static const char head[] =
        "from string import *\nfrom re import *\nfrom datetime import *\n"
        "from collections import *\nfrom heapq import *\nfrom bisect import *\n"
        "from copy import *\nfrom math import *\nfrom random import *\n"
        "from statistics import *\nfrom itertools import *\nfrom functools import *\n"
        "from operator import *\nfrom io import *\nfrom sys import *\nfrom json import *\n"
        "from builtins import *\nfrom typing import *\nimport string, re, datetime, collections\n"
        "import heapq, bisect, copy, math, random, statistics, itertools, functools, operator\n"
        "import io, sys, json\nsys.setrecursionlimit(50000)\n";
    return pyhead_join(head, language, form, text, ret);
}

const struct data_format data_format_livecodebench = {
    .name = "livecodebench",
    .title = "LiveCodeBench",
    .what = "public and private tests, by standard input or calls of a function; 6 s each, the "
            "first failure ends them",
    .source = "LiveCodeBench/LiveCodeBench, lcb_runner/evaluation/testing_util.py",
    .differs =
        "each test runs in a process of its own, as a program: it may exit with 0 and is not "
        "made a function; a wrong exit status fails a test; os and subprocess are not taken "
        "away, the jail holds instead; samples in other languages run, too "
        "(--language); " VALUES_OF_CALLS,
    .samples = "question_id and code_list (programs), or one solution or generation (free text)",
    .ids = (const char *const[]){"question_id", "task_id", "id", NULL},
    .uses = (const char *const[]){"public_test_cases", "private_test_cases", "metadata", "test",
                                  "labels", "canonical_solution", NULL},
    .recognise = recognise,
    .take = take,
    .join = join,
};
