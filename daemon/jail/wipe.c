/* SPDX-License-Identifier: MIT */
/* Theory of operation. Removal flattens the tree: every directory found beneath the directory that
 * is being emptied is first moved up into the top directory, under a name made here. So there is
 * never more than one level to look at, and two descriptors and constant memory suffice for a tree
 * of any depth. Passes repeat until no directory is left, or until one of them removes none. */
#include "wipe.h"
#include "listing.h"

#include "proto/util.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

bool wipe_is_empty(int dir)
{
    _cleanup_(listing_deinit) struct listing listing;
    return listing_init(&listing, dir) == 0 && !listing_next(&listing);
}

/* Moves DIR/NAME to TOP under a free name, numbered by *SEQUENCE. */
static int move_up(int dir, const char *name, int top, unsigned long *sequence)
{
    char moved[40];
    int fd = listing_open(dir, name); /* renaming rewrites its "..", so it must be writable */
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
    for (const struct dirent64 *entry; (entry = listing_next(&listing));) {
        const char *name = entry->d_name;
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
    for (const struct dirent64 *entry; (entry = listing_next(&listing));) {
        const char *name = entry->d_name;
        _cleanup_close_ int dir = listing_open(top, name);
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
    _cleanup_close_ int dir = listing_open(parent, name);
    if (dir < 0)
        return dir;
    int r = wipe_contents(dir);
    if (r < 0)
        return r;
    return unlinkat(parent, name, AT_REMOVEDIR) < 0 ? -errno : 0;
}
