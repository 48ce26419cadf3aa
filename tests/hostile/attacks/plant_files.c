/* SPDX-License-Identifier: MIT */
/* Makes 100,000 files, or as many as it can, for the next job to find and the cleaner to wade
 * through. Arguments: plant, find, or all (succeeds if none was refused); how many. Stopped by:
 * filesystem (a tmpfs with few inodes); the leavings by tempdir. */
#include "plant.h"

int main(int argc, char **argv)
{
    char name[64];
    if (is_step(argc, argv, "find"))
        find_plants();
    long count = argument_number(argc, argv, 2);
    for (long i = 0; i < count; i++) {
        (void)snprintf(name, sizeof(name), PLANT "%ld", i);
        int fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
        if (fd < 0) {
            barred("after %ld files", i);
            all_barred();
        }
        (void)close(fd);
    }
    if (is_step(argc, argv, "all"))
        succeeded("%ld files", count);
    planted();
}
