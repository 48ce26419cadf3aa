/* SPDX-License-Identifier: MIT */
/* Makes processes that make processes. Argument: how many in all.
 * Stopped by: cgroup (pids.max), rlimits within a user_namespace (RLIMIT_NPROC). */
#include "attack.h"

#include <sys/mman.h>

int main(int argc, char **argv)
{
    long goal = argument_number(argc, argv, 1);
    /* They count in a file: without a control group, jobs share no memory that has none. */
    char name[] = "count.XXXXXX";
    int file = mkstemp(name);
    if (file < 0 || unlink(name) < 0 || ftruncate(file, 2 * sizeof(int)) < 0)
        unclear("the file: %s", errno_name(errno));
    int *made = mmap(NULL, 2 * sizeof(int), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (made == MAP_FAILED)
        unclear("mmap: %s", errno_name(errno));
    pid_t first = getpid();
    int errors = 0;
    /* Every process makes more, and all of them end together. */
    while (__atomic_load_n(&made[0], __ATOMIC_SEQ_CST) < goal && made[1] == 0) {
        pid_t child = fork();
        if (child == 0) {
            (void)__atomic_add_fetch(&made[0], 1, __ATOMIC_SEQ_CST);
            errors = 0;
        } else if (child < 0 && ++errors > 20)
            made[1] = errno;
        (void)usleep(1000);
    }
    if (getpid() != first) {
        for (int i = 0; i < 300 && made[1] == 0 && made[0] < goal; i++)
            (void)usleep(10000);
        _exit(0);
    }
    if (made[0] >= goal)
        succeeded("%d processes", made[0]);
    errno = made[1];
    barred("fork after %d processes", made[0]);
    all_barred();
}
