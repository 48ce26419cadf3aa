/* SPDX-License-Identifier: MIT */
/* Uses CPU time in successive processes, each below the limit of one process.
 * Arguments: processes, milliseconds of each.
 * Stopped by: cgroup (CPU time of the whole tree). */
#include "attack.h"

#include <time.h>

int main(int argc, char **argv)
{
    long count = argument_number(argc, argv, 1), each_ms = argument_number(argc, argv, 2);
    for (long i = 0; i < count; i++) {
        pid_t child = fork();
        if (child < 0)
            unclear("fork: %s", errno_name(errno));
        if (child == 0) {
            while (clock() / (CLOCKS_PER_SEC / 1000) < each_ms)
                ;
            _exit(0);
        }
        if (wait_for(child) != 0)
            refused("process %ld was killed", i);
    }
    succeeded("%ld ms of CPU time", count * each_ms);
}
