/* SPDX-License-Identifier: MIT */
/* Opens a userfaultfd, which can suspend the kernel in the middle of a copy.
 * Stopped by: seccomp. */
#include "attack.h"

int main(void)
{
    if (syscall(SYS_userfaultfd, O_CLOEXEC) >= 0)
        succeeded("userfaultfd");
    barred("userfaultfd");
    if (syscall(SYS_userfaultfd, O_CLOEXEC | 1 /* UFFD_USER_MODE_ONLY */) >= 0)
        succeeded("userfaultfd of user mode");
    barred("userfaultfd of user mode");
    all_barred();
}
