/* SPDX-License-Identifier: MIT */
/* Compares kernel objects with those of another process, which reveals the order of kernel
 * addresses and shared descriptors. Stopped by: pid_namespace (unless it is the parent),
 * user_namespace, landlock, seccomp. */
#include "attack.h"

int main(int argc, char **argv)
{
    pid_t pid = argument_process(argc, argv, 1);
    long order = syscall(SYS_kcmp, pid, getpid(), 0 /* KCMP_FILE */, 0, 0);
    if (order >= 0)
        succeeded("kcmp with process %d says %ld", (int)pid, order);
    barred("kcmp(%d)", (int)pid);
    all_barred();
}
