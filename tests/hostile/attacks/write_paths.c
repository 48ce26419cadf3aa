/* SPDX-License-Identifier: MIT */
/* Opens files of the host for writing without changing them. Arguments: the files.
 * Stopped by: filesystem (read-only mounts), landlock. */
#include "attack.h"

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        if (open(argv[i], O_WRONLY | O_APPEND) >= 0)
            succeeded("%s is open for writing", argv[i]);
        barred("open %s for writing", argv[i]);
    }
    all_barred();
}
