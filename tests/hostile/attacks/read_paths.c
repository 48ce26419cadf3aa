/* SPDX-License-Identifier: MIT */
/* Reads files, or lists directories, that are none of a job's business: the arguments. A directory
 * that is empty tells nothing.
 * Stopped by: filesystem (they are not there), landlock. */
#include "attack.h"

/* Whether there is anything in it; errno tells why not. */
static bool lists(const char *path)
{
    DIR *entries = opendir(path);
    const struct dirent *entry;
    if (!entries)
        return false;
    while ((entry = readdir(entries)))
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            return true;
    (void)closedir(entries);
    errno = ENODATA;
    return false;
}

int main(int argc, char **argv)
{
    char text[64];
    for (int i = 1; i < argc; i++) {
        if (lists(argv[i]))
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
