/* SPDX-License-Identifier: MIT */
/* Theory of operation. Removal flattens the tree: every directory found beneath the directory that
 * is being emptied is first moved up into the top directory, under a name made here. So there is
 * never more than one level to look at, and two descriptors and constant memory suffice for a tree
 * of any depth. Passes repeat until no directory is left, or until one of them removes none.
 *
 * File names are job data, and the next job may be a copy of this memory. readdir(3) would leave
 * names in buffers of the C library, so this file calls getdents64() and wipes its own buffer. */
#include "wipe.h"

#include "proto/util.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* A directory being read, independent of the descriptor that it was opened from. */
struct listing {
    int fd;
    size_t at, length;
    _Alignas(struct dirent64) char entries[8192];
};

static int listing_init(struct listing *listing, int dir)
{
    listing->fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    listing->at = listing->length = 0;
    return listing->fd < 0 ? -errno : 0;
}

static void listing_deinit(struct listing *listing)
{
    close_fd(listing->fd);
    explicit_bzero(listing->entries, sizeof(listing->entries));
}

static bool is_dots(const char *name)
{
    return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

/* Returns the name of the next entry, skipping "." and ".."; NULL at the end. Valid until the next
 * call. */
static const char *listing_next(struct listing *listing)
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
            return entry->d_name;
    }
}

/* Opens the directory NAME for reading, even if its mode forbids that. */
static int open_directory(int parent, const char *name)
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

/* Moves DIR/NAME to TOP under a free name, numbered by *SEQUENCE. */
static int move_up(int dir, const char *name, int top, unsigned long *sequence)
{
    char moved[40];
    int fd = open_directory(dir, name); /* renaming rewrites its "..", so it must be writable */
    if (fd < 0)
        return fd;
    close_fd(fd);
    do {
        (void)snprintf(moved, sizeof(moved), ".wiped-%lu", (*sequence)++);
        if (renameat2(dir, name, top, moved, RENAME_NOREPLACE) == 0)
            return 0;
    } while (errno == EEXIST);
    return -errno;
}

/* Unlinks the files in DIR and moves its directories to TOP. If DIR is TOP, leaves directories
 * where they are and sets *ret_left. */
static int unlink_entries(int dir, int top, unsigned long *sequence, bool *ret_left)
{
    _cleanup_(listing_deinit) struct listing listing;
    int result = listing_init(&listing, dir);
    if (result < 0)
        return result;
    for (const char *name; (name = listing_next(&listing));) {
        if (unlinkat(dir, name, 0) == 0)
            continue;
        int r = -errno;
        if (r == -EISDIR || r == -EPERM) {
            r = 0;
            if (dir == top)
                *ret_left = true;
            else if (unlinkat(dir, name, AT_REMOVEDIR) < 0)
                r = move_up(dir, name, top, sequence);
        }
        if (r < 0 && result == 0)
            result = r;
    }
    return result;
}

/* Empties and removes every directory directly in TOP. *ret_removed says whether one was removed,
 * so that another pass can help. */
static int remove_directories(int top, unsigned long *sequence, bool *ret_removed)
{
    _cleanup_(listing_deinit) struct listing listing;
    int result = listing_init(&listing, top);
    if (result < 0)
        return result;
    bool left;
    for (const char *name; (name = listing_next(&listing));) {
        _cleanup_close_ int dir = open_directory(top, name);
        int r = dir < 0 ? dir : unlink_entries(dir, top, sequence, &left);
        if (r == 0 && unlinkat(top, name, AT_REMOVEDIR) < 0)
            r = -errno;
        if (r == 0)
            *ret_removed = true;
        else if (r != -ENOENT && result == 0)
            result = r;
    }
    return result;
}

int wipe_contents(int dir)
{
    unsigned long sequence = 0;
    for (;;) {
        bool left = false, removed = false;
        int r = unlink_entries(dir, dir, &sequence, &left);
        if (r < 0 || !left)
            return r;
        r = remove_directories(dir, &sequence, &removed);
        if (!removed)
            return r < 0 ? r : -ENOTEMPTY;
    }
}

int wipe_tree(int parent, const char *name)
{
    if (unlinkat(parent, name, 0) == 0 || errno == ENOENT)
        return 0;
    _cleanup_close_ int dir = open_directory(parent, name);
    if (dir < 0)
        return dir;
    int r = wipe_contents(dir);
    if (r < 0)
        return r;
    return unlinkat(parent, name, AT_REMOVEDIR) < 0 ? -errno : 0;
}
