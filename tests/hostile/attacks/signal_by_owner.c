/* SPDX-License-Identifier: MIT */
/* Makes the kernel stop the jail: sets the jail as the owner of a pipe, which gets a signal when
 * data arrives. Stopped by: pid_namespace (its init is immune), landlock (from ABI 6 on). */
#include "attack.h"

int main(void)
{
    pid_t parent = getppid();
    int pipe_fds[2];
    if (pipe(pipe_fds) < 0)
        unclear("pipe: %s", errno_name(errno));
    if (fcntl(pipe_fds[0], F_SETOWN, parent) < 0 || fcntl(pipe_fds[0], F_SETSIG, SIGSTOP) < 0 ||
        fcntl(pipe_fds[0], F_SETFL, O_ASYNC) < 0) {
        barred("fcntl(F_SETOWN, %d)", (int)parent);
        all_barred();
    }
    if (write(pipe_fds[1], "x", 1) != 1)
        unclear("write: %s", errno_name(errno));
    for (int i = 0; i < 100; i++) {
        char state = process_state(parent);
        if (state == 'T' || state == 't') {
            /* Otherwise closing the pipe would stop the jail again. */
            (void)fcntl(pipe_fds[0], F_SETFL, 0);
            (void)kill(parent, SIGCONT);
            succeeded("process %d was stopped", (int)parent);
        }
        (void)usleep(2000);
    }
    refused("SIGSTOP by F_SETOWN changed nothing of process %d", (int)parent);
}
