/* SPDX-License-Identifier: MIT */
/* Sends a signal to a process outside. Arguments: the process, the signal (0 only checks
 * permission). Stopped by: pid_namespace (the process has no pid in the job's), landlock (from ABI
 * 6 on). */
#include "attack.h"

int main(int argc, char **argv)
{
    pid_t pid = argument_process(argc, argv, 1);
    int number = (int)argument_number(argc, argv, 2);
    if (kill(pid, number) == 0)
        succeeded("sent signal %d to process %d", number, (int)pid);
    barred("kill(%d, %d)", (int)pid, number);
    if (syscall(SYS_tgkill, pid, pid, number) == 0)
        succeeded("sent signal %d to thread %d", number, (int)pid);
    barred("tgkill(%d, %d)", (int)pid, number);
    int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
    if (pidfd < 0)
        barred("pidfd_open(%d)", (int)pid);
    else if (syscall(SYS_pidfd_send_signal, pidfd, number, NULL, 0) == 0)
        succeeded("sent signal %d by a pidfd", number);
    all_barred();
}
