/* SPDX-License-Identifier: MIT */
/* Opens many descriptors. Argument: how many.
 * Stopped by: rlimits (RLIMIT_NOFILE). */
#include "attack.h"

#include <sys/resource.h>

int main(int argc, char **argv)
{
    long goal = argument_number(argc, argv, 1);
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
        limit.rlim_cur = limit.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &limit);
    }
    for (long i = 0; i < goal; i++)
        if (fcntl(1, F_DUPFD, 0) < 0) {
            barred("dup after %ld descriptors", i);
            all_barred();
        }
    succeeded("%ld descriptors", goal);
}
