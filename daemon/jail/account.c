/* SPDX-License-Identifier: MIT */
#include "account.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <sys/wait.h>
#include <unistd.h>

/* Counts higher than any that an account has: the kernel has no more pids. */
#define PROCESSES_MAX (1ul << 22)

/* Whether the account has room for another process if it may have MOST. */
static bool has_room(rlim_t most)
{
    struct rlimit before;
    if (getrlimit(RLIMIT_NPROC, &before) < 0)
        return false;
    const struct rlimit tried = {most < before.rlim_max ? most : before.rlim_max, before.rlim_max};
    if (setrlimit(RLIMIT_NPROC, &tried) < 0)
        return false;
    pid_t pid = fork();
    if (pid == 0)
        _exit(0);
    (void)setrlimit(RLIMIT_NPROC, &before);
    while (pid > 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        ;
    return pid > 0;
}

/* Returns the least limit under which there is room; 0 if there is none. */
static rlim_t count(void)
{
    rlim_t enough = 64;
    while (!has_room(enough))
        if ((enough *= 2) > PROCESSES_MAX)
            return 0;
    rlim_t few = 0;
    while (enough - few > 1) {
        rlim_t middle = few + (enough - few) / 2;
        if (has_room(middle))
            enough = middle;
        else
            few = middle;
    }
    assert(enough > 0);
    return enough;
}

static bool is_still_true(const struct account *account)
{
    rlim_t change = ACCOUNT_MARGIN / 2, low = account->processes;
    return account->processes > 0 && has_room(account->processes + change) &&
           (low <= change || !has_room(low - change));
}

rlim_t account_limit(struct account *account, rlim_t own)
{
    if (!is_still_true(account))
        account->processes = count();
    return account->processes > 0 ? account->processes + own + ACCOUNT_MARGIN : RLIM_INFINITY;
}
