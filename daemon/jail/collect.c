/* SPDX-License-Identifier: MIT */
/* Theory of operation. A pattern that is a name is opened at once. For other patterns all
 * directories are listed, one after another: the names of those that are found wait in a queue of
 * bounded size. Each directory and file is opened from the work directory, one part of its name
 * after the other, and no part may be a link. So constant memory and a few descriptors suffice, and
 * nothing that a job made leads out of the directory.
 *
 * Before a file is opened its type is looked at: opening a pipe would wait, opening a device may do
 * anything. Where processes of the job may be left, it can be something else by then. So what is
 * opened is looked at again, and opening never waits. */
#include "collect.h"
#include "link.h"
#include "listing.h"
#include "move.h"
#include "pattern.h"

#include "daemon/base/clock.h"
#include "proto/util.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>

struct collector {
    const struct collect *what;
    uint64_t left; /* bytes of content that there is room for */
    unsigned files, left_out, entries;
    uint64_t deadline_ns;
    dev_t device;                 /* of the work directory */
    int error;                    /* the first; 0: none */
    char name[LINK_NAME_MAX + 1]; /* of the file that is being looked at */
    char part[NAME_MAX + 1];      /* of a directory's name */
    size_t queue_end;
    char queue[COLLECT_QUEUE_MAX]; /* names of directories, each with its NUL */
};

static int note(struct collector *c, int error)
{
    if (c->error == 0)
        c->error = error;
    return error;
}

/* --- records ------------------------------------------------------------------------------- */

/* Writes the head of a record: its header and the name. */
static int write_head(const struct collector *c, uint32_t mode, uint64_t size)
{
    struct link_file header = {(uint32_t)strlen(c->name), mode, size};
    struct iovec iov[2] = {
        {.iov_base = &header, .iov_len = sizeof(header)},
        {.iov_base = (void *)(uintptr_t)c->name, .iov_len = header.name_length},
    };
    ssize_t n = writev(c->what->to, iov, 2);
    if (n < 0)
        return -errno;
    return (size_t)n == sizeof(header) + header.name_length ? 0 : -ENOSPC;
}

/* Says that the file was left out. Not of every one: a job may make thousands. */
static int leave_out(struct collector *c, enum link_left why, uint64_t size)
{
    if (c->left_out == LINK_LEFT_MAX)
        return 0;
    c->left_out++;
    int r = write_head(c, LINK_LEFT_OUT | why, size);
    return r < 0 ? note(c, r) : 0;
}

/* Writes the record of FD, and takes it back if the file cannot be read to its end. */
static int write_file(struct collector *c, int fd, const struct stat *st)
{
    int to = c->what->to;
    uint64_t size = (uint64_t)st->st_size;
    off_t before = lseek(to, 0, SEEK_CUR);
    int r = write_head(c, (uint32_t)st->st_mode & 0777, size);
    int64_t copied = r < 0 ? r : move_bytes(fd, NULL, to, size);
    if (copied == (int64_t)size) {
        c->files++;
        c->left -= size;
        return 0;
    }
    if (ftruncate(to, before) < 0 || lseek(to, before, SEEK_SET) < 0)
        return note(c, -errno);
    if (copied < 0)
        return note(c, (int)copied);
    return leave_out(c, LINK_LEFT_CLOSED, size);
}

/* --- files --------------------------------------------------------------------------------- */

/* Opens a file, even if its mode forbids that, which may change it. */
static int open_file(int parent, const char *name)
{
    const int flags = O_RDONLY | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW | O_CLOEXEC;
    char link[32];
    int fd = openat(parent, name, flags);
    if (fd >= 0 || errno != EACCES)
        return fd < 0 ? -errno : fd;
    _cleanup_close_ int path = openat(parent, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    struct stat st;
    if (path < 0 || fstat(path, &st) < 0)
        return -errno;
    if (!S_ISREG(st.st_mode))
        return -EACCES;
    (void)snprintf(link, sizeof(link), "/proc/self/fd/%d", path);
    (void)chmod(link, 0600); /* if this fails, the next call fails too, with the better error */
    fd = openat(parent, name, flags);
    return fd < 0 ? -errno : fd;
}

/* Whether the file is the job's alone. Without a disk of their own, its links may be of a file that
 * the job could not read. */
static bool is_own(const struct collector *c, const struct stat *st)
{
    return c->what->is_own_disk ? st->st_dev == c->device : st->st_nlink == 1;
}

/* Takes the file LAST of PARENT, whose whole name is c->name. A negative errno ends everything. */
static int take_file(struct collector *c, int parent, const char *last)
{
    struct stat before, st;
    if (fstatat(parent, last, &before, AT_SYMLINK_NOFOLLOW) < 0)
        return leave_out(c, errno == ENOENT ? LINK_LEFT_MISSING : LINK_LEFT_CLOSED, 0);
    if (!S_ISREG(before.st_mode))
        return leave_out(c, LINK_LEFT_IRREGULAR, 0);
    if (!is_own(c, &before))
        return leave_out(c, LINK_LEFT_SHARED, 0);
    _cleanup_close_ int fd = open_file(parent, last);
    if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || !is_own(c, &st))
        return leave_out(c, LINK_LEFT_CLOSED, 0);
    st.st_mode = before.st_mode; /* opening may have changed it */
    if (c->files == LINK_FILES_MAX) {
        (void)note(c, -E2BIG);
        return leave_out(c, LINK_LEFT_MANY, (uint64_t)st.st_size);
    }
    if ((uint64_t)st.st_size > c->left) {
        (void)note(c, -EFBIG);
        return leave_out(c, LINK_LEFT_LARGE, (uint64_t)st.st_size);
    }
    return write_file(c, fd, &st);
}

/* --- directories --------------------------------------------------------------------------- */

/* Opens the directory NAME beneath the work directory; "" is that itself. */
static int open_directory(struct collector *c, const char *name)
{
    int dir = fcntl(c->what->cwd, F_DUPFD_CLOEXEC, 0);
    while (dir >= 0 && *name) {
        _cleanup_close_ int above = dir;
        size_t n = strcspn(name, "/");
        if (n == 0 || n > NAME_MAX || (n <= 2 && strspn(name, ".") >= n))
            return -ENOENT;
        memcpy(c->part, name, n);
        c->part[n] = '\0';
        dir = listing_open(above, c->part);
        if (dir < 0)
            return dir;
        name += n + (name[n] == '/');
    }
    return dir < 0 ? -errno : dir;
}

static bool is_wanted(const struct collector *c)
{
    for (const char *const *pattern = c->what->patterns; *pattern; pattern++)
        if (!pattern_is_name(*pattern) && pattern_matches(*pattern, c->name))
            return true;
    return false;
}

static int push(struct collector *c)
{
    size_t n = strlen(c->name) + 1;
    if (n > sizeof(c->queue) - c->queue_end)
        return note(c, -E2BIG);
    memcpy(c->queue + c->queue_end, c->name, n);
    c->queue_end += n;
    return 0;
}

static bool is_directory(int parent, const struct dirent64 *entry)
{
    struct stat st;
    if (entry->d_type != DT_UNKNOWN)
        return entry->d_type == DT_DIR;
    return fstatat(parent, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode);
}

static bool is_named(const struct collector *c, const char *name)
{
    for (const char *const *pattern = c->what->patterns; *pattern; pattern++)
        if (pattern_is_name(*pattern) && strcmp(*pattern, name) == 0)
            return true;
    return false;
}

/* Looks at the entry of the directory DIR, whose name has LENGTH bytes at the head of c->name. */
static int look(struct collector *c, int dir, size_t length, const struct dirent64 *entry)
{
    size_t n = strlen(entry->d_name);
    if (clock_now_ns() > c->deadline_ns)
        return note(c, -ETIMEDOUT);
    if (c->entries++ == COLLECT_ENTRIES_MAX)
        return note(c, -E2BIG);
    if (length + n > LINK_NAME_MAX) {
        (void)note(c, -ENAMETOOLONG);
        return 0;
    }
    memcpy(c->name + length, entry->d_name, n + 1);
    if (is_directory(dir, entry))
        return push(c);
    return is_wanted(c) && !is_named(c, c->name) ? take_file(c, dir, entry->d_name) : 0;
}

static int look_through(struct collector *c, const char *directory)
{
    _cleanup_close_ int dir = open_directory(c, directory);
    if (dir < 0)
        return dir == -ENOENT ? 0 : note(c, dir);
    _cleanup_(listing_deinit) struct listing listing;
    int r = listing_init(&listing, dir);
    if (r < 0)
        return note(c, r);
    size_t length = strlen(directory);
    memcpy(c->name, directory, length);
    if (length > 0 && length < LINK_NAME_MAX)
        c->name[length++] = '/';
    for (const struct dirent64 *entry; r == 0 && (entry = listing_next(&listing));)
        r = look(c, dir, length, entry);
    return r;
}

/* --- all of it ----------------------------------------------------------------------------- */

static int take_named(struct collector *c, const char *name)
{
    char *slash;
    if (strlen(name) > LINK_NAME_MAX)
        return 0;
    (void)snprintf(c->name, sizeof(c->name), "%s", name);
    slash = strrchr(c->name, '/');
    if (slash)
        *slash = '\0';
    _cleanup_close_ int dir = open_directory(c, slash ? c->name : "");
    if (slash)
        *slash = '/';
    if (dir < 0)
        return leave_out(c, LINK_LEFT_MISSING, 0);
    return take_file(c, dir, slash ? slash + 1 : c->name);
}

static int take_all(struct collector *c)
{
    bool has_patterns = false;
    int r = 0;
    for (const char *const *pattern = c->what->patterns; *pattern && r == 0; pattern++) {
        if (pattern_is_name(*pattern))
            r = take_named(c, *pattern);
        else
            has_patterns = true;
    }
    c->name[0] = '\0';
    if (!has_patterns || r < 0 || (r = push(c)) < 0)
        return r;
    for (size_t at = 0; at < c->queue_end && r == 0; at += strlen(c->queue + at) + 1)
        r = look_through(c, c->queue + at);
    return r;
}

int collect_files(const struct collect *what)
{
    static struct collector c; /* too large for the stack; only this function uses it */
    struct stat st;
    if (fstat(what->cwd, &st) < 0)
        return -errno;
    c.what = what;
    c.left = what->max;
    c.files = c.left_out = c.entries = 0;
    c.deadline_ns = clock_now_ns() + what->wall_ms * (uint64_t)NS_PER_MS;
    c.device = st.st_dev;
    c.error = 0;
    c.queue_end = 0;
    (void)take_all(&c);
    /* The next job may be a copy of this memory. */
    explicit_bzero(c.name, sizeof(c.name));
    explicit_bzero(c.part, sizeof(c.part));
    explicit_bzero(c.queue, c.queue_end);
    return c.error;
}
