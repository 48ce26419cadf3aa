/* SPDX-License-Identifier: MIT */
#pragma once
/* For tests that confine themselves: a scenario runs in a process of its own and prints failures to
 * stderr. It exits with 0 on success, or with SKIPPED if this host or user cannot run the test. */

#include "proto/util.h"
#include "tests/unit/check.h"
#include "tests/unit/files.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include <cmocka.h>

#define SCENARIO_SECONDS 60

/* Runs SCENARIO with ARGUMENT in a child. Skips the test if the scenario does, and otherwise
 * asserts that it succeeds. */
static inline void run_scenario(int (*scenario)(void *argument), void *argument)
{
    int status;
    pid_t pid = fork();
    if (pid == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        (void)alarm(SCENARIO_SECONDS);
        _exit(scenario(argument));
    }
    assert_true(pid > 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    if (WIFEXITED(status) && WEXITSTATUS(status) == SKIPPED)
        skip();
    assert_int_equal(status, 0);
}

/* The state of such a test is its scenario, which takes no argument. */
static inline int call_scenario(void *argument)
{
    int (*const *scenario)(void) = argument;
    return (*scenario)();
}

static inline void test_scenario(void **state)
{
    run_scenario(call_scenario, *state);
}

/* clang-format off */
#define SCENARIO(name) {#name, test_scenario, NULL, NULL, &(int (*)(void)){name}}
/* clang-format on */
