/* SPDX-License-Identifier: MIT */
/* Fills the directories that a job may write to. Uses many files, so that a limit on the size of
 * one file does not hold it. Arguments: how many MiB are too many, a prefix for the files' names,
 * and the directories. Stopped by: filesystem (a tmpfs of bounded size). */
#include "attack.h"

#define PIECE (1 << 20)

int main(int argc, char **argv)
{
    static char piece[PIECE];
    char path[256];
    long goal = argument_number(argc, argv, 1), written = 0;
    (void)memset(piece, 'x', sizeof(piece));
    for (int i = 3; i < argc; i++) {
        while (written < goal) {
            (void)snprintf(path, sizeof(path), "%s/%s-%ld", argv[i], argument(argc, argv, 2),
                           written);
            int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
            ssize_t n = fd < 0 ? -1 : write(fd, piece, sizeof(piece));
            if (n == 0 || (n > 0 && n < (ssize_t)sizeof(piece)))
                errno = ENOSPC;
            if (n != (ssize_t)sizeof(piece)) {
                barred("%s after %ld MiB", argv[i], written);
                (void)close(fd);
                break;
            }
            (void)close(fd);
            written++;
        }
    }
    if (written >= goal)
        succeeded("%ld MiB on disk", written);
    all_barred();
}
