/* SPDX-License-Identifier: MIT */
/* Reads files, or lists directories, that are none of a job's business: the arguments.
 * Stopped by: filesystem (they are not there), landlock. */
#include "attack.h"

int main(int argc, char **argv)
{
    char text[64];
    for (int i = 1; i < argc; i++) {
        DIR *entries = opendir(argv[i]);
        if (entries)
            succeeded("listed %s", argv[i]);
        barred("list %s", argv[i]);
        if (errno == ENOTDIR) {
            if (read_file(argv[i], text, sizeof(text)) > 0)
                succeeded("read %s", argv[i]);
            barred("read %s", argv[i]);
        }
    }
    all_barred();
}
