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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_messages),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
