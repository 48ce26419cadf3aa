/* SPDX-License-Identifier: MIT */
/* Has the host write to its disks, by fsync and the like of a file that every job can read. The
 * filter may also answer by itself that it is done, so this looks whether the kernel sees the call,
 * with a descriptor or an address that the kernel does not know. Stopped by: seccomp. */
#include "attack.h"

#include <linux/fiemap.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

int main(void)
{
    static const struct {
        const char *name;
        long number;
    } calls[] = {{"fsync", SYS_fsync},
                 {"fdatasync", SYS_fdatasync},
                 {"sync_file_range", SYS_sync_file_range}};
    int fd = open("/usr/bin/env", O_RDONLY);
    if (fd < 0)
        unclear("open /usr/bin/env: %s", errno_name(errno));
    void *mapped = mmap(NULL, 1, PROT_READ, MAP_SHARED, fd, 0);
    if (mapped == MAP_FAILED)
        unclear("mmap: %s", errno_name(errno));
    for (size_t i = 0; i < COUNT_OF(calls); i++) {
        if (syscall(calls[i].number, fd, 0L, 0L, 2L) == 0 &&
            syscall(calls[i].number, -1, 0L, 0L, 2L) < 0)
            succeeded("%s of a file of the host", calls[i].name);
        (void)printf("refused: the kernel does not see %s\n", calls[i].name);
    }
    if (msync(mapped, 1, MS_SYNC) == 0) {
        (void)munmap(mapped, 1);
        if (msync(mapped, 1, MS_SYNC) < 0)
            succeeded("msync of a file of the host");
    }
    (void)printf("refused: the kernel does not see msync\n");
    if (ioctl(fd, FS_IOC_FIEMAP, NULL) < 0 && errno == EFAULT)
        succeeded("FS_IOC_FIEMAP was let in, which may be asked to write a file first");
    barred("FS_IOC_FIEMAP");
    all_barred();
}
