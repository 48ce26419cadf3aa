/* SPDX-License-Identifier: MIT */
/* Dumps core, which fills disks and starts the host's crash handler on a file of the job's choice.
 * Stopped by: rlimits (RLIMIT_CORE is 1, less than any core dump). */
#include "attack.h"

#include <sys/resource.h>

int main(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_CORE, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max;
        (void)setrlimit(RLIMIT_CORE, &limit);
    }
    pid_t child = fork();
    if (child < 0)
        unclear("fork: %s", errno_name(errno));
    if (child == 0)
        abort();
    int status = wait_for(child);
    if (WIFSIGNALED(status) && WCOREDUMP(status))
        succeeded("a core dump");
    refused("the child died without a core dump");
}
