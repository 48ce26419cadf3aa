/* SPDX-License-Identifier: MIT */
/* Sets limits of another process by prlimit: to their current values, or lower if it cannot read
 * them. Stopped by: pid_namespace (unless it is the parent), user_namespace, seccomp. */
#include "attack.h"

#include <sys/resource.h>

int main(int argc, char **argv)
{
    pid_t pid = argument_process(argc, argv, 1);
    struct rlimit limit;
    if (prlimit(pid, RLIMIT_CORE, NULL, &limit) < 0)
        barred("prlimit(%d) to read", (int)pid);
    else if (prlimit(pid, RLIMIT_CORE, &limit, NULL) == 0)
        succeeded("set a limit of process %d", (int)pid);
    else
        barred("prlimit(%d) to write", (int)pid);
    all_barred();
}
