/* SPDX-License-Identifier: MIT */
/* Looks for the secret of a job that runs at the same time: by paths of the host, beside its own
 * directory, and through the neighbour's entry in /proc.
 * Arguments: the name of the secret file, the neighbour's pid, and directories to look below.
 * Stopped by: filesystem with pid_namespace; landlock. */
#include "attack.h"

static void look(const char *directory, const char *name)
{
    char path[1024], text[64];
    (void)snprintf(path, sizeof(path), "%s/%s", directory, name);
    if (read_file(path, text, sizeof(text)) > 0)
        succeeded("read %s: %s", path, text);
}

/* Searches below a directory, down to a bounded depth. */
static void walk(const char *directory, const char *name, int depth)
{
    char path[1024];
    look(directory, name);
    DIR *entries = depth > 0 ? opendir(directory) : NULL;
    if (!entries) {
        if (depth > 0)
            barred("opendir %s", directory);
        return;
    }
    const struct dirent *entry;
    while ((entry = readdir(entries))) {
        if (entry->d_name[0] == '.' || entry->d_type == DT_REG)
            continue;
        if (snprintf(path, sizeof(path), "%s/%s", directory, entry->d_name) < (int)sizeof(path))
            walk(path, name, depth - 1);
    }
    (void)closedir(entries);
}

int main(int argc, char **argv)
{
    const char *name = argument(argc, argv, 1);
    char path[128];
    (void)snprintf(path, sizeof(path), "/proc/%s/cwd", argument(argc, argv, 2));
    look(path, name);
    barred("%s", path);
    (void)snprintf(path, sizeof(path), "/proc/%s/root/work", argument(argc, argv, 2));
    look(path, name);
    barred("%s", path);
    walk("..", name, 3);
    for (int i = 3; i < argc; i++)
        walk(argv[i], name, 3);
    refused("the neighbour's secret was not found");
}
