/* SPDX-License-Identifier: MIT */
/* Leaves siblings: children that it makes its parent's own, one of which ends while the job runs.
 * Their command line contains the argument, by which the runner finds them. Stopped by: tree_kill,
 * pid_namespace, cgroup. */
#include "attack.h"

#define SECONDS 20

static void linger(unsigned seconds)
{
    for (unsigned i = 0; i < seconds * 10; i++)
        (void)usleep(100000);
    _exit(0);
}

int main(int argc, char **argv)
{
    (void)argument(argc, argv, 1);
    for (int i = 0; i < 3; i++) {
        long child = syscall(SYS_clone, CLONE_PARENT | SIGCHLD, NULL, NULL, NULL, 0);
        if (child < 0)
            barred("clone(CLONE_PARENT)");
        if (child == 0)
            linger(i == 0 ? 0 : SECONDS); /* the first ends while the job runs */
    }
    (void)usleep(100000);
    refused("not yet: siblings were left, and the runner looks");
}
