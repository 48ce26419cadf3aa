/* SPDX-License-Identifier: MIT */
/* Tells the next job a number by making as many files: a tmpfs numbers its inodes one after the
 * other as long as it lives. Arguments: plant or find, the number.
 * Stopped by: nothing. */
#include "plant.h"

int main(int argc, char **argv)
{
    bool plants = is_step(argc, argv, "plant");
    struct stat st = {0};
    long number = argument_number(argc, argv, 2);
    for (long i = 0; i < (plants ? number : 1); i++) {
        int fd = open(PLANT "file", O_WRONLY | O_CREAT | O_EXCL, 0600);
        if (fd < 0 || fstat(fd, &st) < 0 || unlink(PLANT "file") < 0)
            unclear("making a file: %s", errno_name(errno));
        (void)close(fd);
    }
    if (plants)
        planted();
    if (st.st_ino > (ino_t)number)
        succeeded("earlier jobs have made %lu files", (unsigned long)st.st_ino);
    refused("the first file has number %lu", (unsigned long)st.st_ino);
}
