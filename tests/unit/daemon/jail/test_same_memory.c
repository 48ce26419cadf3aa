/* SPDX-License-Identifier: MIT */
/* Which children run in the memory of this process. */
#include "daemon/jail/same_memory.h"

#include <errno.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static int wait_for_signal(void *unused)
{
    (void)unused;
    return pause();
}

/* Starts a child that waits, and ends it again. Returns whether it was in this memory. */
static bool is_child_here(int flags)
{
    static _Alignas(16) char stack[16384];
    pid_t pid = clone(wait_for_signal, stack + sizeof(stack), flags | SIGCHLD, NULL);
    assert_true(pid > 0);
    bool is_here = same_memory(pid, getpid(), 0), is_mutual = same_memory(getpid(), pid, 0);
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    assert_int_equal(is_here, is_mutual);
    assert_false(same_memory(pid, getpid(), 0)); /* there is no such process */
    return is_here;
}

static void test_children(void **state)
{
    (void)state;
    if (!same_memory(getpid(), getpid(), 0))
        skip(); /* this kernel does not tell, or not here */
    assert_true(is_child_here(CLONE_VM));
    assert_false(is_child_here(0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_children)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
