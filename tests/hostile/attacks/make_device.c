/* SPDX-License-Identifier: MIT */
/* Makes device nodes: the kernel's memory, a disk, and the null device, and opens them.
 * Argument: a prefix for their names.
 * Stopped by: user_namespace (no CAP_MKNOD over the host), seccomp, filesystem (nodev). */
#include "attack.h"

#include <sys/sysmacros.h>

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        mode_t type;
        unsigned major, minor;
    } devices[] = {
        {"memory", S_IFCHR, 1, 1}, {"null", S_IFCHR, 1, 3},    {"disk", S_IFBLK, 254, 0},
        {"disk8", S_IFBLK, 8, 0},  {"fuse", S_IFCHR, 10, 229},
    };
    static const char *const directories[] = {".", "/dev/shm", "/tmp"};
    char path[128];
    for (size_t i = 0; i < COUNT_OF(devices) * COUNT_OF(directories); i++) {
        size_t device = i / COUNT_OF(directories);
        (void)snprintf(path, sizeof(path), "%s/%s-%s", directories[i % COUNT_OF(directories)],
                       argument(argc, argv, 1), devices[device].name);
        if (mknod(path, devices[device].type | 0666,
                  makedev(devices[device].major, devices[device].minor)) < 0) {
            barred("mknod %s", path);
            continue;
        }
        int fd = open(path, O_RDONLY | O_NONBLOCK);
        if (fd < 0)
            barred("open %s", path);
        (void)unlink(path);
        if (fd >= 0)
            succeeded("made %s, and it opens", path);
    }
    all_barred();
}
