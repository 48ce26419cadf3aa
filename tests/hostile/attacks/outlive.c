/* SPDX-License-Identifier: MIT */
/* Leaves a grandchild in a session of its own that keeps stdout and stderr open and ignores
 * signals. The runner finds it by the argument, which is in its command line. Stopped by:
 * tree_kill, pid_namespace, cgroup. */
#include "attack.h"

#define SECONDS 20 /* until it ends by itself */

int main(int argc, char **argv)
{
    (void)argument(argc, argv, 1);
    pid_t child = fork();
    if (child < 0)
        unclear("fork: %s", errno_name(errno));
    if (child == 0) {
        (void)setsid();
        if (fork() > 0)
            _exit(0);
        for (int number = 1; number < NSIG; number++)
            (void)signal(number, SIG_IGN);
        for (int i = 0; i < SECONDS * 10; i++)
            (void)usleep(100000);
        _exit(0);
    }
    (void)wait_for(child);
    refused("not yet: a process was left, and the runner looks");
}
