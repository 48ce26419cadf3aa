/* SPDX-License-Identifier: MIT */
#pragma once
/* Checks for code that runs in a process of its own and so cannot use cmocka's: a failed check
 * prints its place to stderr and makes the function return 1. */

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* Exit status of a test that this host or this user cannot run. */
#define SKIPPED 77

/* Checks that CONDITION holds. */
#define CHECK(condition)                                                             \
    do {                                                                             \
        if (!(condition)) {                                                          \
            (void)fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #condition, \
                          strerror(errno));                                          \
            return 1;                                                                \
        }                                                                            \
    } while (0)

/* Checks that two numbers are equal; prints both if not. */
#define CHECK_EQUAL(got, expected)                                                                 \
    do {                                                                                           \
        long long got_ = (long long)(got), expected_ = (long long)(expected);                      \
        if (got_ != expected_) {                                                                   \
            (void)fprintf(stderr, "%s:%d: %s is %lld, not %lld\n", __FILE__, __LINE__, #got, got_, \
                          expected_);                                                              \
            return 1;                                                                              \
        }                                                                                          \
    } while (0)

/* Checks that CALL returns -1 with exactly this errno. */
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

/* Skips the test, with a printed reason. */
#define SKIP(...)                                \
    do {                                         \
        (void)fprintf(stderr, "# " __VA_ARGS__); \
        (void)fputc('\n', stderr);               \
        return SKIPPED;                          \
    } while (0)
