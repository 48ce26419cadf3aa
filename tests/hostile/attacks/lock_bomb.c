/* SPDX-License-Identifier: MIT */
/* Holds many locks on a file that all jobs open: whoever closes it walks through all of them.
 * Arguments: "posix" or "ofd", the file, how many. Stopped by: the jail, which counts them
 * (rlimits, with pid_namespace); and those that it cannot count by seccomp. */
#include "attack.h"

#define HELD_S 2 /* for longer than the jail takes to look */

int main(int argc, char **argv)
{
    int command = strcmp(argument(argc, argv, 1), "ofd") == 0 ? F_OFD_SETLK : F_SETLK;
    long count = argument_number(argc, argv, 3);
    int fd = open(argument(argc, argv, 2), O_RDONLY);
    if (fd < 0)
        unclear("open %s: %s", argv[2], errno_name(errno));
    for (long i = count; i > 0; i--) {
        struct flock lock = {.l_type = F_RDLCK, .l_whence = SEEK_SET, .l_start = 2 * i, .l_len = 1};
        if (fcntl(fd, command, &lock) < 0) {
            barred("lock %ld of %s", count - i, argv[2]);
            all_barred();
        }
    }
    (void)sleep(HELD_S);
    succeeded("%ld locks on %s", count, argv[2]);
}
