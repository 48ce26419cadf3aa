/* SPDX-License-Identifier: MIT */
/* Reads the memory of a process by process_vm_readv. Passes an address of this process, which need
 * not be mapped there: the kernel checks permission before it fails with EFAULT.
 * Stopped by: pid_namespace (unless it is the parent), user_namespace, landlock, seccomp. */
#include "attack.h"

#include <sys/uio.h>

int main(int argc, char **argv)
{
    char bytes[8];
    pid_t pid = argument_process(argc, argv, 1);
    struct iovec local = {bytes, sizeof(bytes)};
    struct iovec remote = {(void *)(uintptr_t)&main, sizeof(bytes)};
    if (process_vm_readv(pid, &local, 1, &remote, 1, 0) >= 0 || errno == EFAULT)
        succeeded("the memory of process %d can be read", (int)pid);
    barred("process_vm_readv(%d)", (int)pid);
    all_barred();
}
