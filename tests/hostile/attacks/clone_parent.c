/* SPDX-License-Identifier: MIT */
/* Leaves siblings: makes children whose parent is the jail. One of them ends while the job runs.
 * The runner finds them by the argument, which is in their command line. Stopped by: tree_kill,
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
