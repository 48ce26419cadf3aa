/* SPDX-License-Identifier: MIT */
#pragma once
/* Checks for code that runs in a process of its own and so cannot use cmocka's: a failed check
 * prints its place to stderr and makes the function return 1. */

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* Exit status of a process on a host, or as a user, that cannot provoke what is tested. */
#define SKIPPED 77

/* CONDITION holds. */
#define CHECK(condition)                                                             \
    do {                                                                             \
        if (!(condition)) {                                                          \
            (void)fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #condition, \
                          strerror(errno));                                          \
            return 1;                                                                \
        }                                                                            \
    } while (0)

/* Two numbers are equal; prints both if not. */
#define CHECK_EQUAL(got, expected)                                                                 \
    do {                                                                                           \
        long long got_ = (long long)(got), expected_ = (long long)(expected);                      \
        if (got_ != expected_) {                                                                   \
            (void)fprintf(stderr, "%s:%d: %s is %lld, not %lld\n", __FILE__, __LINE__, #got, got_, \
                          expected_);                                                              \
            return 1;                                                                              \
        }                                                                                          \
    } while (0)

/* CALL returns -1 with exactly this errno. */
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

/* Says why nothing can be tested here. */
#define SKIP(...)                                \
    do {                                         \
        (void)fprintf(stderr, "# " __VA_ARGS__); \
        (void)fputc('\n', stderr);               \
        return SKIPPED;                          \
    } while (0)
