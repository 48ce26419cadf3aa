/* SPDX-License-Identifier: MIT */
/* Leaves a message in the inode flags of the directories that all jobs of a slot write to.
 * Argument: plant or find. Stopped by: seccomp. */
#include "plant.h"

#include <linux/fs.h>
#include <sys/ioctl.h>

#define MESSAGE (FS_NODUMP_FL | FS_NOATIME_FL)

static const char *const directories[] = {".", "/tmp", "/dev/shm"};

/* The two ways to set them. */
static bool set_flags(int fd)
{
    int flags = 0;
    struct fsxattr attributes = {0};
    bool is_set = ioctl(fd, FS_IOC_GETFLAGS, &flags) == 0;
    flags |= MESSAGE;
    is_set = is_set && ioctl(fd, FS_IOC_SETFLAGS, &flags) == 0;
    if (is_set)
        return true;
    barred("FS_IOC_SETFLAGS");
    if (ioctl(fd, FS_IOC_FSGETXATTR, &attributes) == 0) {
        attributes.fsx_xflags |= FS_XFLAG_NODUMP | FS_XFLAG_NOATIME;
        is_set = ioctl(fd, FS_IOC_FSSETXATTR, &attributes) == 0;
    }
    if (!is_set)
        barred("FS_IOC_FSSETXATTR");
    return is_set;
}

int main(int argc, char **argv)
{
    bool plants = is_step(argc, argv, "plant"), is_set = false;
    for (size_t i = 0; i < COUNT_OF(directories); i++) {
        int fd = open(directories[i], O_RDONLY | O_DIRECTORY), flags = 0;
        if (fd < 0) {
            barred("open %s", directories[i]);
            continue;
        }
        if (plants)
            is_set = set_flags(fd) || is_set;
        else if (ioctl(fd, FS_IOC_GETFLAGS, &flags) == 0 && (flags & MESSAGE) == MESSAGE)
            succeeded("the last job has left a message in the flags of %s", directories[i]);
        (void)close(fd);
    }
    if (plants && !is_set)
        all_barred();
    if (plants)
        planted();
    refused("no flags are left");
}
