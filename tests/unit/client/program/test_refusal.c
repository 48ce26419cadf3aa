/* SPDX-License-Identifier: MIT */
#include "client/program/refusal.h"
#include "proto/util.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void test_messages(void **state)
{
    (void)state;
    static const struct program_options none = {.tests = "t"},
                                        all = {.language = "x", .time = "9h", .memory = "9T"};
    static const struct {
        const char *message;
        const struct program_options *options;
        const char *says; /* NULL: no option is about it */
    } cases[] = {
        {"job.compare: unknown rule", &none, "--compare: unknown rule"},
        {"job.language: this daemon knows no", &all, "--language: this daemon knows no"},
        {"job.language: this daemon knows no", &none, "main.x: this daemon knows no"},
        {"job.code: too long", &none, "main.x: too long"},
        {"job.checker.language: none: at all", &none, "--checker: none: at all"},
        {"job.interactor.files: no", &none, "--interactor: no"},
        {"job.tests[3].name: no", &none, "--tests: no"},
        {"job.collect: no", &none, "--collect: no"},
        {"job.limits.wall_clock: above", &all, "--time: above"},
        {"job.limits.memory_bytes: above", &all, "--memory: above"},
        {"job.limits.wall_clock: above", &none, "--limit wall_clock: above"},
        {"job.limits.memory_bytes: above", &none, "--limit memory_bytes: above"},
        {"job.limits.cpu: above", &all, "--limit cpu: above"},
        {"job.codes: no", &none, NULL},
        {"job.priority: no", &none, NULL},
        {"job.limits: no", &none, NULL},
        {"id: already in use", &none, NULL},
        {"job.code", &none, NULL},
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        char text[128];
        bool told = refusal_tell(cases[i].message, "main.x", cases[i].options, text, sizeof(text));
        assert_int_equal(told, cases[i].says != NULL);
        if (told)
            assert_string_equal(text, cases[i].says);
    }
}

static void test_helpers_that_do_not_compile(void **state)
{
    (void)state;
    static const struct program_options checker = {.checker = "c.c"},
                                        interactor = {.interactor = "i.c"};
    static const struct {
        const char *message;
        const struct program_options *options;
        const char *says, *words; /* NULL: it is something else */
    } cases[] = {
        {"job.checker: does not compile: exit status 1: main.c:1: error: x\n  1", &checker,
         "--checker: does not compile: exit status 1", "main.c:1: error: x\n  1"},
        {"job.interactor: does not compile: signal 9 (SIGKILL): x", &interactor,
         "--interactor: does not compile: signal 9 (SIGKILL)", "x"},
        {"job.checker: does not compile: limit exceeded: memory: a: b", &checker,
         "--checker: does not compile: limit exceeded: memory", "a: b"},
        {"job.checker: does not compile: limit exceeded: memory", &checker,
         "--checker: does not compile: limit exceeded: memory", ""},
        {"job.checker: does not compile: the compiler made nothing to run", &checker,
         "--checker: does not compile: the compiler made nothing to run", ""},
        {"job.checker.language: does not compile: x", &interactor, NULL, NULL},
        {"job.checker: missing", &checker, NULL, NULL},
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        char text[128];
        const char *words, *path;
        bool told = refusal_tell_compile(cases[i].message, cases[i].options, text, sizeof(text),
                                         &words, &path);
        assert_int_equal(told, cases[i].says != NULL);
        if (!told)
            continue;
        assert_string_equal(text, cases[i].says);
        assert_string_equal(words, cases[i].words);
        assert_string_equal(path, cases[i].options == &checker ? "c.c" : "i.c");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_messages),
        cmocka_unit_test(test_helpers_that_do_not_compile),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
