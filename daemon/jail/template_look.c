/* SPDX-License-Identifier: MIT */
#include "template_look.h"
#include "children.h"

#include "proto/util.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define UNREADABLE "its /proc cannot be read"
/* Longer than any line of /proc/PID/maps. */
#define LINE_MAX_BYTES ((size_t)16 << 10)

static void closedir_pointer(DIR **dir)
{
    if (*dir)
        (void)closedir(*dir);
}

static DIR *open_directory(int at, const char *path)
{
    int fd = openat(at, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    if (!dir)
        close_fd(fd);
    return dir;
}

int template_file_of(int fd, struct template_file *ret)
{
    struct stat st;
    if (fstat(fd, &st) < 0)
        return -errno;
    *ret = (struct template_file){st.st_dev, st.st_ino};
    return 0;
}

/* Whether the directory PATH, which may be gone, has one entry that is a number. */
static bool is_single(int proc, const char *path)
{
    _cleanup_(closedir_pointer) DIR *dir = open_directory(proc, path);
    size_t count = 0;
    for (const struct dirent *entry; dir && (entry = readdir(dir));)
        count += *entry->d_name != '.';
    return count == 1;
}

/* Returns what is wrong with the descriptors in the directory PATH; NULL: nothing. */
static const char *look_at_files(int proc, const char *path, const struct template_file *files,
                                 size_t n)
{
    _cleanup_(closedir_pointer) DIR *dir = open_directory(proc, path);
    size_t count = 0;
    if (!dir)
        return UNREADABLE;
    for (const struct dirent *entry; (entry = readdir(dir));) {
        struct stat st;
        if (*entry->d_name == '.')
            continue;
        unsigned long fd = strtoul(entry->d_name, NULL, 10);
        if (fd >= n)
            return "it keeps a file open";
        if (fstatat(dirfd(dir), entry->d_name, &st, 0) < 0 || st.st_dev != files[fd].device ||
            st.st_ino != files[fd].inode)
            return "it has replaced a descriptor";
        count++;
    }
    return count == n ? NULL : "it has closed a descriptor";
}

/* Returns where the field INDEX of LINE begins, which blanks separate; its end if there is none. */
static const char *field(const char *line, int index)
{
    for (; index > 0; index--) {
        line += strcspn(line, " ");
        line += strspn(line, " ");
    }
    return line;
}

/* Whether LINE of /proc/PID/maps, "from-to perms offset device inode path", tells of memory that
 * others may write to. What a file maps read-only can be written to only if the file can: that of a
 * view, beyond the directories of jobs, cannot, and of those no file may be in use. */
static bool is_shared(const char *line)
{
    enum { PERMISSIONS = 1, INODE = 4, PATH };
    const char *permissions = field(line, PERMISSIONS), *path = field(line, PATH);
    if (strlen(permissions) < 4)
        return true;
    if (permissions[3] != 's')
        return false;
    return permissions[1] != '-' || strtoul(field(line, INODE), NULL, 10) == 0 || *path != '/' ||
           strncmp(path, "/dev/", strlen("/dev/")) == 0 || strstr(path, " (deleted)");
}

/* Looks at the whole lines of TEXT, and moves the rest of it to its start. Returns how long that
 * is; -1: one line tells of shared memory. */
static ssize_t look_at_lines(char *text, size_t n)
{
    char *line = text, *end;
    for (; (end = memchr(line, '\n', n)); n -= (size_t)(end + 1 - line), line = end + 1) {
        *end = '\0';
        if (is_shared(line))
            return -1;
    }
    memmove(text, line, n);
    return (ssize_t)n;
}

static const char *look_at_memory(int proc, const char *path)
{
    char text[LINE_MAX_BYTES];
    const char *found = NULL;
    ssize_t kept = 0, n = -1;
    _cleanup_close_ int fd = openat(proc, path, O_RDONLY | O_CLOEXEC);
    while (kept >= 0 && (size_t)kept < sizeof(text) &&
           (n = fd < 0 ? -1 : read(fd, text + kept, sizeof(text) - (size_t)kept)) > 0)
        kept = look_at_lines(text, (size_t)(kept + n));
    if (kept < 0)
        found = "it shares memory";
    else if (n != 0)
        found = UNREADABLE;
    explicit_bzero(text, sizeof(text)); /* the next job may be a copy of this memory */
    return found;
}

const char *template_look_at_tasks(int proc, pid_t pid)
{
    char path[32];
    pid_t child;
    (void)snprintf(path, sizeof(path), "%d/task", (int)pid);
    if (!is_single(proc, path))
        return "it has several threads";
    int children = children_list(proc, pid, &child, 1);
    if (children == 0)
        return NULL;
    return children == 1 || children == -E2BIG ? "it has a child process" : UNREADABLE;
}

long template_count_files(int proc, pid_t pid)
{
    char path[32];
    struct stat st;
    (void)snprintf(path, sizeof(path), "%d/fd", (int)pid);
    /* Linux 6.2 and later tell it so, which is older than what templates take. */
    return fstatat(proc, path, &st, 0) < 0 ? -1 : (long)st.st_size;
}

bool template_is_dumpable(int proc, pid_t pid, uid_t uid)
{
    char path[32];
    struct stat st;
    (void)snprintf(path, sizeof(path), "%d/stat", (int)pid);
    /* The files of one that is not belong to root. */
    return fstatat(proc, path, &st, 0) < 0 || st.st_uid == uid;
}

const char *template_look(int proc, pid_t pid, const struct template_file *files, size_t n)
{
    char path[32];
    const char *found = template_look_at_tasks(proc, pid);
    (void)snprintf(path, sizeof(path), "%d/fd", (int)pid);
    if (!found)
        found = look_at_files(proc, path, files, n);
    (void)snprintf(path, sizeof(path), "%d/maps", (int)pid);
    return found ? found : look_at_memory(proc, path);
}
