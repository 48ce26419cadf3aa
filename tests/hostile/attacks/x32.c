/* SPDX-License-Identifier: MIT */
/* Makes system calls by the numbers of the x32 ABI.
 * Stopped by: seccomp. */
#include "attack.h"

int main(void)
{
    pid_t child = fork();
    if (child < 0)
        unclear("fork: %s", errno_name(errno));
    if (child == 0) {
        long result = syscall(0x40000000 | SYS_getpid);
        _exit(result == getpid() ? 0 : errno);
    }
    int status = wait_for(child);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        succeeded("x32 calls reach the kernel");
    if (WIFSIGNALED(status))
        refused("x32: signal %d (%s)", WTERMSIG(status), sigabbrev_np(WTERMSIG(status)));
    refused("x32: %s", errno_name(WEXITSTATUS(status)));
}
