/* SPDX-License-Identifier: MIT */
/* Makes a child in a new user namespace by clone().
 * Stopped by: seccomp, user_namespace (in which the job may make no further one). */
#include "attack.h"

int main(void)
{
    long child = syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, NULL, NULL, NULL, 0);
    if (child == 0)
        _exit(0);
    if (child > 0)
        succeeded("a child in a user namespace of its own");
    barred("clone(CLONE_NEWUSER)");
    all_barred();
}
