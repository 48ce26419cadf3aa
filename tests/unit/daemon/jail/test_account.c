/* SPDX-License-Identifier: MIT */
/* Tests that the processes of an account are counted where only the kernel knows their number, and
 * that the limit made of it leaves room for a job and for little more. */
#include "daemon/jail/account.h"
#include "tests/unit/scenario.h"

#include <grp.h>

#define NOBODY 65534
#define SOME 40

/* Root's processes are not limited. */
static int become_somebody(void)
{
    const gid_t group = NOBODY;
    if (getuid() == 0)
        CHECK(setgroups(1, &group) == 0 && setgid(NOBODY) == 0 && setuid(NOBODY) == 0);
    return 0;
}

/* Starts processes that wait for the end of this one. Returns how many could be started. */
static int start(int number, const int gate[2])
{
    int started = 0;
    for (; started < number; started++) {
        pid_t pid = fork();
        if (pid == 0) {
            char end;
            (void)close(gate[1]);
            (void)!read(gate[0], &end, 1);
            _exit(0);
        }
        if (pid < 0)
            return started;
    }
    return started;
}

static int end_all(int gate)
{
    (void)close(gate);
    while (wait(NULL) > 0)
        ;
    CHECK(errno == ECHILD);
    return 0;
}

static int counts(void)
{
    struct account account = {0};
    struct rlimit before, after;
    int gate[2];
    CHECK(pipe2(gate, O_CLOEXEC) == 0 && become_somebody() == 0);
    CHECK(getrlimit(RLIMIT_NPROC, &before) == 0);
    rlim_t limit = account_limit(&account, 64);
    CHECK(limit != RLIM_INFINITY && limit == account.processes + 64 + ACCOUNT_MARGIN);
    /* The account's other processes come and go. */
    struct account later = {0};
    CHECK(start(SOME, gate) == SOME);
    CHECK(account_limit(&later, 64) != RLIM_INFINITY);
    CHECK(later.processes + SOME > account.processes && later.processes > SOME);
    CHECK(getrlimit(RLIMIT_NPROC, &after) == 0);
    CHECK(after.rlim_cur == before.rlim_cur && after.rlim_max == before.rlim_max);
    return end_all(gate[1]);
}

/* A count that has become wrong is taken anew, in either direction. */
static int counts_again(void)
{
    struct account right = {0};
    CHECK(become_somebody() == 0);
    CHECK(account_limit(&right, 1) != RLIM_INFINITY);
    struct account high = {right.processes + 10 * ACCOUNT_MARGIN};
    CHECK(account_limit(&high, 1) < right.processes + 3 * ACCOUNT_MARGIN);
    struct account near = {right.processes + ACCOUNT_MARGIN / 8};
    rlim_t limit = account_limit(&near, 1);
    CHECK(limit == right.processes + ACCOUNT_MARGIN / 8 + 1 + ACCOUNT_MARGIN);
    return 0;
}

/* More than a job may have cannot be started under the limit; what it may have can. */
static int limits(void)
{
    struct account account = {0};
    int gate[2];
    CHECK(pipe2(gate, O_CLOEXEC) == 0 && become_somebody() == 0);
    rlim_t most = account_limit(&account, SOME);
    const struct rlimit set = {most, most};
    if (setrlimit(RLIMIT_NPROC, &set) < 0)
        return SKIPPED; /* this account's own limit is lower */
    int started = start(SOME + 2 * ACCOUNT_MARGIN, gate);
    CHECK(started >= SOME && started < SOME + 2 * ACCOUNT_MARGIN);
    return end_all(gate[1]);
}

static int none_left(void)
{
    struct account account = {0};
    const struct rlimit none = {0, 0};
    CHECK(become_somebody() == 0 && setrlimit(RLIMIT_NPROC, &none) == 0);
    CHECK(account_limit(&account, 64) == RLIM_INFINITY && account.processes == 0);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCENARIO(counts),
        SCENARIO(counts_again),
        SCENARIO(limits),
        SCENARIO(none_left),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
