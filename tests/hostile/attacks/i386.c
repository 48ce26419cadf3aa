/* SPDX-License-Identifier: MIT */
/* Makes system calls as a 32-bit program, where the numbers mean other calls.
 * Stopped by: seccomp (the filter checks the architecture). */
#include "attack.h"

int main(void)
{
    pid_t child = fork();
    if (child < 0)
        unclear("fork: %s", errno_name(errno));
    if (child == 0) {
        long result = 20; /* getpid there, writev here */
        __asm__ volatile("int $0x80" : "+a"(result) : : "memory", "r8", "r9", "r10", "r11");
        _exit(result == getpid() ? 0 : result == -EPERM ? 2 : 1);
    }
    int status = wait_for(child);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        succeeded("int $0x80 reaches the kernel");
    if (WIFSIGNALED(status))
        refused("int $0x80: signal %d (%s)", WTERMSIG(status), sigabbrev_np(WTERMSIG(status)));
    refused("int $0x80: %s", WEXITSTATUS(status) == 2 ? "EPERM" : "another error");
}
