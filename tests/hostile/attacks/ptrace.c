/* SPDX-License-Identifier: MIT */
/* Attaches to a process as a debugger does.
 * Stopped by: pid_namespace (unless it is the parent), user_namespace, landlock, seccomp. */
#include "attack.h"

#include <sys/ptrace.h>

int main(int argc, char **argv)
{
    pid_t pid = argument_process(argc, argv, 1);
    if (ptrace(PTRACE_SEIZE, pid, NULL, NULL) == 0)
        succeeded("attached to process %d", (int)pid);
    barred("ptrace(PTRACE_SEIZE, %d)", (int)pid);
    if (ptrace(PTRACE_ATTACH, pid, NULL, NULL) == 0)
        succeeded("attached to process %d", (int)pid);
    barred("ptrace(PTRACE_ATTACH, %d)", (int)pid);
    all_barred();
}
