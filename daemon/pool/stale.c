/* SPDX-License-Identifier: MIT */
#include "stale.h"

#include "proto/util.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FIRST_SLOT "slot-0"

/* Returns whether NAME is that of a slot, and gives its number. */
static bool is_of_slot(const char *name, unsigned *ret_index)
{
    char again[24];
    const char *number = strchr(name, '-');
    unsigned index = number ? (unsigned)strtoul(number + 1, NULL, 10) : 0;
    (void)snprintf(again, sizeof(again), "slot-%u", index);
    *ret_index = index;
    return strcmp(name, again) == 0;
}

/* A job that was confined by its account alone may have closed the directory of its slot, or have
 * put anything else in its place. Returns whether it is a directory. */
static bool open_up(int parent, const char *name)
{
    char link[32];
    _cleanup_close_ int fd = openat(parent, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return false;
    (void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    (void)chmod(link, 0700);
    return true;
}

static void move_away(int parent, const char *name)
{
    char target[64];
    (void)mkdirat(parent, FIRST_SLOT, 0700);
    if (!open_up(parent, name) || !open_up(parent, FIRST_SLOT))
        return;
    (void)snprintf(target, sizeof(target), FIRST_SLOT "/stale-%.24s", name);
    (void)renameat(parent, name, parent, target);
}

void stale_put_away(int work_directory_fd, unsigned slot_count)
{
    int fd = openat(work_directory_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    if (!dir) {
        (void)close_fd(fd);
        return;
    }
    for (const struct dirent *entry; (entry = readdir(dir));) {
        unsigned index;
        if (!is_of_slot(entry->d_name, &index) || index < slot_count)
            continue;
        if (unlinkat(work_directory_fd, entry->d_name, AT_REMOVEDIR) < 0 &&
            (errno == ENOTEMPTY || errno == EEXIST))
            move_away(work_directory_fd, entry->d_name);
    }
    (void)closedir(dir);
}
