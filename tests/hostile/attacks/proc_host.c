/* SPDX-License-Identifier: MIT */
/* Reads files of /proc that tell of the host, and of no process of the job. Arguments: their names.
 * An empty file does not count. Stopped by: mount_namespace, which covers them. */
#include "attack.h"

int main(int argc, char **argv)
{
    char path[256], text[64];
    for (int i = 1; i < argc; i++) {
        (void)snprintf(path, sizeof(path), "/proc/%s", argv[i]);
        ssize_t n = read_file(path, text, sizeof(text));
        if (n > 0)
            succeeded("read %s: %.20s", path, text);
        if (n == 0)
            errno = ENODATA;
        barred("read %s", path);
    }
    all_barred();
}
