/* SPDX-License-Identifier: MIT */
#include "changes.h"

#include "testfiles.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>

/* A file, or a folder of a tree. */
struct watched {
    int wd;           /* of its folder, which others may share */
    char *name;       /* owned; NULL: any in the folder */
    const char *path; /* what the caller named; borrowed */
};

#define OF_FILES (IN_CLOSE_WRITE | IN_MOVED_TO)
#define OF_TREES (OF_FILES | IN_MOVED_FROM | IN_DELETE)
#define GONE (IN_DELETE_SELF | IN_MOVE_SELF)

int changes_open(struct changes *ret)
{
    int fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    if (fd < 0)
        return -errno;
    *ret = (struct changes){.fd = fd};
    return 0;
}

static bool is_same(const struct watched *item, int wd, const char *name)
{
    return item->wd == wd &&
           (name && item->name ? strcmp(name, item->name) == 0 : name == item->name);
}

/* Watches FOLDER for NAME (NULL: any). */
static int add(struct changes *changes, const char *folder, const char *name, const char *path,
               struct fault *fault)
{
    int wd = inotify_add_watch(changes->fd, folder,
                               (name ? OF_FILES : OF_TREES | IN_CREATE) | GONE | IN_ONLYDIR |
                                   IN_MASK_ADD);
    if (wd < 0) {
        int r = -errno;
        (void)fault_set(fault, "%s: cannot watch it: %s", folder, strerror(-r));
        return r;
    }
    for (size_t i = 0; i < changes->n; i++)
        if (is_same(&changes->items[i], wd, name))
            return 0;
    _cleanup_free_ char *copy = name ? strdup(name) : NULL;
    struct watched *grown = reallocarray(changes->items, changes->n + 1, sizeof(*grown));
    if (!grown)
        return -ENOMEM;
    changes->items = grown;
    if (name && !copy)
        return -ENOMEM;
    grown[changes->n++] = (struct watched){.wd = wd, .name = TAKE_PTR(copy), .path = path};
    return 0;
}

int changes_add_file(struct changes *changes, const char *path, struct fault *fault)
{
    const char *slash = strrchr(path, '/');
    size_t length = slash ? (size_t)(slash - path) : 1;
    _cleanup_free_ char *folder = slash ? strndup(path, MAX(length, (size_t)1)) : strdup(".");
    return folder ? add(changes, folder, slash ? slash + 1 : path, path, fault) : -ENOMEM;
}

/* Adds FOLDER and the folders in it. One that has gone meanwhile is none. */
static int add_folders(struct changes *changes, const char *folder, const char *path, int depth,
                       struct fault *fault)
{
    int r = add(changes, folder, NULL, path, fault);
    DIR *dir = r == 0 && depth < TEST_FILES_DEPTH ? opendir(folder) : NULL;
    for (const struct dirent *entry; dir && r == 0 && (entry = readdir(dir));) {
        struct stat status;
        _cleanup_free_ char *inner = NULL;
        if (*entry->d_name == '.' || changes->n >= CHANGES_FOLDERS_MAX)
            continue;
        if (asprintf(&inner, "%s/%s", folder, entry->d_name) < 0) {
            inner = NULL;
            r = -ENOMEM;
        } else if (stat(inner, &status) == 0 && S_ISDIR(status.st_mode)) {
            r = add_folders(changes, inner, path, depth + 1, fault);
        }
    }
    if (dir)
        (void)closedir(dir);
    return r == -ENOENT && depth > 0 ? 0 : r;
}

int changes_add_tree(struct changes *changes, const char *path, struct fault *fault)
{
    struct stat status;
    if (stat(path, &status) < 0 || !S_ISDIR(status.st_mode))
        return changes_add_file(changes, path, fault);
    return add_folders(changes, path, path, 0, fault);
}

static bool is_of_editor(const char *name)
{
    size_t n = strlen(name);
    return *name == '.' || (n > 0 && name[n - 1] == '~');
}

/* Judges what EVENT means for ITEM. */
static int judge(const struct watched *item, const struct inotify_event *event)
{
    const char *name = event->len > 0 ? event->name : "";
    bool is_new_folder = (event->mask & IN_CREATE) && (event->mask & IN_ISDIR);
    if (event->mask & IN_Q_OVERFLOW)
        return 1; /* some were lost: perhaps that of the file */
    if (event->wd != item->wd)
        return 0;
    if (event->mask & (GONE | IN_IGNORED))
        return item->name ? -ENOENT : 1;
    if (item->name)
        return (event->mask & OF_FILES) && strcmp(name, item->name) == 0;
    return ((event->mask & OF_TREES) || is_new_folder) && !is_of_editor(name);
}

static int take(struct changes *changes, const struct inotify_event *event)
{
    int found = 0;
    for (size_t i = 0; i < changes->n; i++) {
        int r = judge(&changes->items[i], event);
        if (r < 0)
            return r;
        if (r > 0 &&
            found == 0) /* of several that share a folder the first has a name of its own */
            changes->changed = changes->items[i].path;
        found = found || r;
    }
    return found;
}

int changes_take(struct changes *changes)
{
    char events[sizeof(struct inotify_event) + NAME_MAX + 1]
        __attribute__((aligned(__alignof__(struct inotify_event))));
    int found = 0;
    for (;;) {
        ssize_t n = read(changes->fd, events, sizeof(events));
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n < 0 && errno != EAGAIN ? -errno : found;
        for (const char *at = events; at < events + n;) {
            const struct inotify_event *event = (const struct inotify_event *)(const void *)at;
            int r = take(changes, event);
            if (r < 0)
                return r;
            found = found || r;
            at += sizeof(*event) + event->len;
        }
    }
}

void changes_close(struct changes *changes)
{
    changes->fd = close_fd(changes->fd);
    for (size_t i = 0; i < changes->n; i++)
        free(changes->items[i].name);
    free(changes->items);
    changes->items = NULL;
    changes->n = 0;
}
