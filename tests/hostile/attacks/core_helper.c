/* SPDX-License-Identifier: MIT */
/* Starts the host's handler of core dumps, which runs as root. Where the pattern of core files is a
 * pipe, the kernel starts it whatever the limit of core dumps is, but for exactly one byte. So this
 * sets another limit, and looks at what it has then. Stopped by: nothing on such a host but that
 * limit, and seccomp, which keeps it. */
#include "attack.h"

#include <sys/prctl.h>
#include <sys/resource.h>

static void check(const char *how)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_CORE, &limit) < 0)
        unclear("getrlimit: %s", errno_name(errno));
    if (limit.rlim_cur != 1)
        succeeded("a limit of core dumps of %llu by %s", (unsigned long long)limit.rlim_cur, how);
    (void)printf("refused: %s: the limit is 1\n", how);
}

int main(void)
{
    const struct rlimit none = {0, 1};
    struct rlimit before;
    check("nothing");
    (void)setrlimit(RLIMIT_CORE, &none);
    check("setrlimit");
    (void)syscall(SYS_setrlimit, RLIMIT_CORE, &none);
    check("the older setrlimit");
    (void)prlimit(0, RLIMIT_CORE, &none, NULL);
    (void)prlimit(getpid(), RLIMIT_CORE, &none, &before);
    check("prlimit");
    (void)syscall(SYS_prlimit64, 0L, UINT64_C(0xDEADBEEF00000000) | RLIMIT_CORE, &none, NULL);
    check("prlimit with a wide number");
    all_barred();
}
