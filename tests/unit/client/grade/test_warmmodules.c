/* SPDX-License-Identifier: MIT */
/* Tests which modules a data set has the daemon load ahead. */
#include "client/grade/warmmodules.h"

#include "proto/json.h"
#include "proto/util.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#define TASKS_MAX 4

/* The prompt, the tests and a target of a task; NULL: it has none. */
struct texts {
    const char *prompt, *test, *target;
};

/* Fails unless the tasks (N of TEXTS) have EXPECTED loaded, a JSON array; "": nothing. */
static void expect(const char *expected, const struct texts *texts, size_t n)
{
    struct task tasks[TASKS_MAX];
    struct dataset dataset = {.tasks = tasks, .n = n};
    assert_true(n <= TASKS_MAX);
    memset(tasks, 0, sizeof(tasks));
    for (size_t i = 0; i < n; i++) {
        tasks[i].prompt = texts[i].prompt ? json_string(texts[i].prompt) : NULL;
        tasks[i].test = texts[i].test ? json_string(texts[i].test) : NULL;
        tasks[i].targets = texts[i].target ? json_pack("[s]", texts[i].target) : NULL;
    }
    _cleanup_json_ json_t *found = warmmodules_find(&dataset);
    _cleanup_free_ char *got = found ? json_dumps(found, JSON_COMPACT) : strdup("");
    assert_string_equal(got, expected);
    for (size_t i = 0; i < n; i++) {
        json_decref((json_t *)(uintptr_t)tasks[i].prompt);
        json_decref((json_t *)(uintptr_t)tasks[i].test);
        json_decref((json_t *)(uintptr_t)tasks[i].targets);
    }
}

#define EXPECT(expected, ...)                             \
    expect(expected, (const struct texts[]){__VA_ARGS__}, \
           sizeof((const struct texts[]){__VA_ARGS__}) / sizeof(struct texts))

#define NUMPY "[\"numpy\"]"

static void test_one_task(void **state)
{
    (void)state;
    EXPECT(NUMPY, {.prompt = "import numpy as np\n"});
    EXPECT(NUMPY, {.test = "x = 1; import os, numpy.linalg as la\n"});
    EXPECT(NUMPY, {.target = "from numpy.linalg import inv\nassert inv"});
    EXPECT("[\"numpy\",\"pandas\"]", {.prompt = "import pandas as pd, numpy as np"});
    EXPECT("[\"numpy\",\"pandas\"]", {.prompt = "import pandas", .test = "import numpy"});
    EXPECT("", {.prompt = "import math, json\nfrom typing import List\n"});
    EXPECT("",
           {.prompt = "import numpyro\nimport my.numpy\nfrom . import numpy\nimport a as numpy"});
    EXPECT("", {.prompt = "def f():\n    import numpy\n"});
    EXPECT("", {.prompt = "'''\nimport numpy\n'''\n# import numpy\nx = 'import numpy'\n"});
    EXPECT("", {.prompt = "from os import numpy\nnumpy = 1\nf(\nimport_numpy)\n"});
    EXPECT("", {.prompt = NULL});
}

/* Only what every task imports: jobs of several classes would end each other's. */
static void test_several_tasks(void **state)
{
    (void)state;
    EXPECT(NUMPY, {.prompt = "import numpy, pandas"}, {.test = "import numpy"});
    EXPECT("", {.prompt = "import numpy"}, {.prompt = "import pandas"});
    EXPECT("", {.prompt = "import numpy"}, {.prompt = "x = 1"});
    expect("", NULL, 0);
}

/* Programs have no class. */
static void test_programs(void **state)
{
    struct task tasks[2] = {{.prompt = json_string("import numpy")}, {.tests = json_array()}};
    struct dataset dataset = {.tasks = tasks, .n = 2};
    _cleanup_json_ json_t *found = warmmodules_find(&dataset);
    (void)state;
    assert_int_equal(json_array_size(found), 1);
    dataset.tasks++;
    dataset.n = 1;
    assert_null(warmmodules_find(&dataset));
    json_decref((json_t *)(uintptr_t)tasks[0].prompt);
    json_decref(tasks[1].tests);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_task),
        cmocka_unit_test(test_several_tasks),
        cmocka_unit_test(test_programs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
