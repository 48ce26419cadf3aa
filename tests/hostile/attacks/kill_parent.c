/* SPDX-License-Identifier: MIT */
/* Kills the jail, its parent. On success it dies with the jail, or becomes an orphan and says so.
 * Stopped by: pid_namespace (its init is immune), landlock (from ABI 6 on). */
#include "attack.h"

int main(void)
{
    pid_t parent = getppid();
    if (kill(parent, SIGKILL) < 0) {
        barred("kill(%d, SIGKILL)", (int)parent);
        all_barred();
    }
    for (int i = 0; i < 100; i++) {
        if (getppid() != parent)
            succeeded("process %d was killed", (int)parent);
        (void)usleep(2000);
    }
    refused("kill(%d, SIGKILL) changed nothing", (int)parent);
}
