/* SPDX-License-Identifier: MIT */
/* Makes a sparse file of 1 PiB, or of 1 TiB if the file system allows no larger one.
 * Stopped by: rlimits (RLIMIT_FSIZE). */
#include "attack.h"

int main(void)
{
    (void)signal(SIGXFSZ, SIG_IGN);
    int fd = open("plant-sparse", O_RDWR | O_CREAT, 0600);
    if (fd < 0)
        unclear("open: %s", errno_name(errno));
    if (ftruncate(fd, (off_t)1 << 50) == 0) {
        (void)unlink("plant-sparse");
        succeeded("a file of 1 PiB");
    }
    barred("ftruncate to 1 PiB");
    if (ftruncate(fd, (off_t)1 << 40) == 0) {
        (void)unlink("plant-sparse");
        succeeded("a file of 1 TiB");
    }
    barred("ftruncate to 1 TiB");
    if (pwrite(fd, "x", 1, ((off_t)1 << 50) - 1) == 1) {
        (void)unlink("plant-sparse");
        succeeded("a byte at 1 PiB");
    }
    barred("pwrite at 1 PiB");
    all_barred();
}
