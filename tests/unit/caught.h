/* SPDX-License-Identifier: MIT */
#pragma once
/* For tests of assertions: a statement that assert() is to stop runs in a child. With NDEBUG there
 * is no assert(), and nothing is run. */

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

/* In the child: aborting says nothing on stderr and leaves no core. */
static inline void be_quiet(void)
{
    const struct rlimit none = {0, 0};
    int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
    (void)setrlimit(RLIMIT_CORE, &none);
    (void)signal(SIGABRT, SIG_DFL);
    (void)dup2(null, STDERR_FILENO);
}

/* Whether the child PID was ended by abort(); anything but that and _exit(0) fails the test. */
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
