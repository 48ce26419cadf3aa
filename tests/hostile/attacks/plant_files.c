/* SPDX-License-Identifier: MIT */
/* Makes as many files as it can, for the next job to find and to slow the cleaner down. Arguments:
 * plant, find, or all (succeeds if none was refused); how many. Stopped by: filesystem (a tmpfs
 * with few inodes). tempdir removes the files. */
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
