/* SPDX-License-Identifier: MIT */
/* Reads files and lists directories that jobs must not reach. Arguments: their paths. An empty
 * directory does not count. Stopped by: filesystem (they do not exist), landlock. */
#include "attack.h"

/* Returns whether the directory has entries; if not, errno says why. */
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
