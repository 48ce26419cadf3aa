/* SPDX-License-Identifier: MIT */
#pragma once
/* For tests that confine themselves: a scenario runs in a process of its own, says on stderr what
 * is wrong, and ends with 0, or with SKIPPED when this host or user cannot provoke it. */

#include "proto/util.h"

#include <dirent.h>
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

#define SKIPPED 77
#define SCENARIO_SECONDS 60

/* In a scenario: what fails ends it, with the place on stderr. */
#define CHECK(condition)                                                             \
    do {                                                                             \
        if (!(condition)) {                                                          \
            (void)fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #condition, \
                          strerror(errno));                                          \
            return 1;                                                                \
        }                                                                            \
    } while (0)

/* The same for a number, which is shown. */
#define CHECK_EQUAL(got, expected)                                                                 \
    do {                                                                                           \
        long long got_ = (long long)(got), expected_ = (long long)(expected);                      \
        if (got_ != expected_) {                                                                   \
            (void)fprintf(stderr, "%s:%d: %s is %lld, not %lld\n", __FILE__, __LINE__, #got, got_, \
                          expected_);                                                              \
            return 1;                                                                              \
        }                                                                                          \
    } while (0)

/* The call fails with exactly this errno. */
#define CHECK_ERRNO(call, expected)                                                          \
    do {                                                                                     \
        errno = 0;                                                                           \
        long long r_ = (long long)(call);                                                    \
        if (r_ != -1 || errno != (expected)) {                                               \
            (void)fprintf(stderr, "%s:%d: %s: %lld, %s instead of %s\n", __FILE__, __LINE__, \
                          #call, r_, strerror(errno), strerror(expected));                   \
            return 1;                                                                        \
        }                                                                                    \
    } while (0)

#define SKIP(...)                                \
    do {                                         \
        (void)fprintf(stderr, "# " __VA_ARGS__); \
        (void)fputc('\n', stderr);               \
        return SKIPPED;                          \
    } while (0)

static inline size_t count_descriptors(void)
{
    size_t count = 0;
    DIR *dir = opendir("/proc/self/fd");
    while (dir && readdir(dir))
        count++;
    if (dir)
        (void)closedir(dir);
    return count;
}

/* Runs SCENARIO with ARGUMENT in a child and asserts that it went well, or skips with it. */
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

/* The state of such a test is the scenario, which takes no argument. */
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
