/* SPDX-License-Identifier: MIT */
#pragma once
/* For tests of assertions: whether a call aborts the process. */

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#ifdef NDEBUG
#define ASSERTIONS_ARE_ON false
#else
#define ASSERTIONS_ARE_ON true
#endif

/* Whether CALL with ARGUMENT aborts: tried in a child, which must not change what it shares with
 * this process. Without assertions the call is not tried, because it may do anything. */
static inline bool aborts(void (*call)(void *argument), void *argument)
{
    int status;
    if (!ASSERTIONS_ARE_ON)
        return false;
    pid_t pid = fork();
    if (pid == 0) {
        const struct rlimit no_core = {.rlim_cur = 0};
        (void)setrlimit(RLIMIT_CORE, &no_core);
        (void)signal(SIGABRT, SIG_DFL);
        (void)close(STDERR_FILENO);
        call(argument);
        _exit(0);
    }
    assert_true(pid > 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(status == 0 || (WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT));
    return status != 0;
}
