/* SPDX-License-Identifier: MIT */
/* Stops the jail, its parent, so that nobody sees how the job ends. Continues it at once on
 * success. Stopped by: pid_namespace (its init is immune), landlock (from ABI 6 on). */
#include "attack.h"

int main(void)
{
    pid_t parent = getppid();
    if (kill(parent, SIGSTOP) < 0) {
        barred("kill(%d, SIGSTOP)", (int)parent);
        all_barred();
    }
    for (int i = 0; i < 100; i++) {
        char state = process_state(parent);
        if (state == 'T' || state == 't') {
            (void)kill(parent, SIGCONT);
            succeeded("process %d was stopped", (int)parent);
        }
        (void)usleep(2000);
    }
    refused("kill(%d, SIGSTOP) changed nothing", (int)parent);
}
