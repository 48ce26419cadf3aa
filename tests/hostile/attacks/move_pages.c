/* SPDX-License-Identifier: MIT */
/* Acts on the memory of another process: move_pages, migrate_pages, process_madvise,
 * process_mrelease.
 * Stopped by: pid_namespace (unless it is the parent), user_namespace, landlock, seccomp. */
#include "attack.h"

#include <sys/uio.h>

int main(int argc, char **argv)
{
    pid_t pid = argument_process(argc, argv, 1);
    unsigned long nodes = 1;
    void *page = (void *)(uintptr_t)&main;
    int status = 0;
    if (syscall(SYS_move_pages, pid, 1, &page, NULL, &status, 0) >= 0)
        succeeded("move_pages of process %d", (int)pid);
    barred("move_pages(%d)", (int)pid);
    if (syscall(SYS_migrate_pages, pid, 8 * sizeof(nodes), &nodes, &nodes) >= 0)
        succeeded("migrate_pages of process %d", (int)pid);
    barred("migrate_pages(%d)", (int)pid);
    int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
    struct iovec area = {page, 4096};
    if (pidfd < 0)
        barred("pidfd_open(%d)", (int)pid);
    else if (syscall(SYS_process_madvise, pidfd, &area, 1, 20 /* MADV_COLD */, 0) >= 0)
        succeeded("process_madvise of process %d", (int)pid);
    else
        barred("process_madvise(%d)", (int)pid);
    all_barred();
}
