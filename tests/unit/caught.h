/* SPDX-License-Identifier: MIT */
#pragma once
/* For tests of assertions: run a statement in a child and see whether an assertion stops it. With
 * NDEBUG assertions are compiled out, so nothing runs and every check passes. */

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

/* Called in the child: makes abort() print nothing and leave no core. */
static inline void be_quiet(void)
{
    const struct rlimit none = {0, 0};
    int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
    (void)setrlimit(RLIMIT_CORE, &none);
    (void)signal(SIGABRT, SIG_DFL);
    (void)dup2(null, STDERR_FILENO);
}

/* Waits for the child PID and returns whether it aborted. Fails the test if it ended in any way but
 * abort() and _exit(0). */
static inline bool has_aborted(pid_t pid)
{
    int status = 0;
    assert_true(pid > 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    if (WIFSIGNALED(status))
        assert_int_equal(WTERMSIG(status), SIGABRT);
    else
        assert_int_equal(status, 0);
    return WIFSIGNALED(status);
}

/* Returns whether STATEMENT aborts. It runs in a child, so it must not change anything that the
 * child shares with this process. With NDEBUG it does not run, and the result is EXPECTED. */
#ifdef NDEBUG
#define aborts(statement, expected) (0 ? ((void)(statement), (expected)) : (expected))
#else
#define aborts(statement, expected) \
    __extension__({                 \
        pid_t child_ = fork();      \
        if (child_ == 0) {          \
            be_quiet();             \
            (void)(statement);      \
            _exit(0);               \
        }                           \
        has_aborted(child_);        \
    })
#endif

#define assert_caught(statement) assert_true(aborts(statement, true))
#define assert_not_caught(statement) assert_false(aborts(statement, false))
