/* SPDX-License-Identifier: MIT */
/* Leaves a message in the hints about writes (F_SET_RW_HINT) of the directories that all jobs of a
 * slot write to. Argument: plant or find. Stopped by: seccomp. */
#include "plant.h"

#define MESSAGE 3 /* RWH_WRITE_LIFE_MEDIUM */

static const char *const directories[] = {".", "/tmp", "/dev/shm"};

int main(int argc, char **argv)
{
    bool plants = is_step(argc, argv, "plant"), is_set = false;
    for (size_t i = 0; i < COUNT_OF(directories); i++) {
        uint64_t hint = MESSAGE;
        int fd = open(directories[i], O_RDONLY | O_DIRECTORY);
        if (fd < 0)
            barred("open %s", directories[i]);
        else if (plants && fcntl(fd, F_SET_RW_HINT, &hint) == 0)
            is_set = true;
        else if (plants)
            barred("F_SET_RW_HINT of %s", directories[i]);
        else if (fcntl(fd, F_GET_RW_HINT, &hint) == 0 && hint == MESSAGE)
            succeeded("the last job has left a message in the hint of %s", directories[i]);
        (void)close(fd);
    }
    if (plants && !is_set)
        all_barred();
    if (plants)
        planted();
    refused("no hints are left");
}
