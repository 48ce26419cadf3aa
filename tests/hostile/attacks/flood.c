/* SPDX-License-Identifier: MIT */
/* Writes to stdout and stderr from many processes. Argument: how many MiB.
 * Stopped on every host: the supervisor counts the output. */
#include "attack.h"

int main(int argc, char **argv)
{
    static char piece[65536];
    long goal = argument_number(argc, argv, 1) << 20;
    (void)memset(piece, 'x', sizeof(piece));
    for (int i = 0; i < 4; i++)
        if (fork() == 0) {
            for (long written = 0; written < goal; written += (long)sizeof(piece))
                if (write(1 + i % 2, piece, sizeof(piece)) < 0)
                    break;
            _exit(0);
        }
    for (int i = 0; i < 4; i++)
        (void)wait(NULL);
    succeeded("printed %ld MiB", 4 * (goal >> 20));
}
