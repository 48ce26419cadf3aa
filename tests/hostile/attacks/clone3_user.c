/* SPDX-License-Identifier: MIT */
/* Makes a child in a new user namespace by clone3(), whose flags no filter can see.
 * Stopped by: seccomp, user_namespace (in which the job may make no further one). */
#include "attack.h"

#include <linux/sched.h>

int main(void)
{
    struct clone_args arguments = {.flags = CLONE_NEWUSER, .exit_signal = SIGCHLD};
    long child = syscall(SYS_clone3, &arguments, sizeof(arguments));
    if (child == 0)
        _exit(0);
    if (child > 0)
        succeeded("a child in a user namespace of its own");
    barred("clone3(CLONE_NEWUSER)");
    all_barred();
}
