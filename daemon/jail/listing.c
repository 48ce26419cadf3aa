/* SPDX-License-Identifier: MIT */
#include "listing.h"

#include "proto/util.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

int listing_init(struct listing *listing, int dir)
{
    listing->fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    listing->at = listing->length = 0;
    return listing->fd < 0 ? -errno : 0;
}

void listing_deinit(struct listing *listing)
{
    close_fd(listing->fd);
    explicit_bzero(listing->entries, sizeof(listing->entries));
}

static bool is_dots(const char *name)
{
    return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

const struct dirent64 *listing_next(struct listing *listing)
{
    for (;;) {
        if (listing->at == listing->length) {
            ssize_t n = getdents64(listing->fd, listing->entries, sizeof(listing->entries));
            if (n <= 0)
                return NULL;
            listing->at = 0;
            listing->length = (size_t)n;
        }
        const struct dirent64 *entry = (const void *)&listing->entries[listing->at];
        listing->at += entry->d_reclen;
        if (!is_dots(entry->d_name))
            return entry;
    }
}

int listing_open(int parent, const char *name)
{
    char link[32];
    _cleanup_close_ int path = openat(parent, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (path < 0)
        return -errno;
    (void)snprintf(link, sizeof(link), "/proc/self/fd/%d", path);
    (void)chmod(link, 0700); /* if this fails, the next call fails too, with the better error */
    int fd = openat(path, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return fd < 0 ? -errno : fd;
}
