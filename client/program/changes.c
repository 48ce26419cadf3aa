/* SPDX-License-Identifier: MIT */
#include "changes.h"

#include <limits.h>
#include <string.h>
#include <sys/inotify.h>

int changes_open(const char *path, struct changes *ret, struct fault *fault)
{
    const char *slash = strrchr(path, '/');
    size_t length = slash ? (size_t)(slash - path) : 1;
    _cleanup_changes_ struct changes changes = CHANGES_NULL;
    _cleanup_free_ char *folder = slash ? strndup(path, MAX(length, (size_t)1)) : strdup(".");
    changes.name = strdup(slash ? slash + 1 : path);
    if (!folder || !changes.name)
        return -ENOMEM;
    changes.fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    int r = changes.fd < 0 ? -errno : 0;
    if (r == 0 && inotify_add_watch(changes.fd, folder,
                                    IN_CLOSE_WRITE | IN_MOVED_TO | IN_DELETE_SELF | IN_MOVE_SELF |
                                        IN_ONLYDIR) < 0)
        r = -errno;
    if (r < 0) {
        (void)fault_set(fault, "%s: cannot watch it: %s", folder, strerror(-r));
        return r;
    }
    *ret = TAKE_STRUCT(changes, CHANGES_NULL);
    return 0;
}

/* Judges one event. */
static int judge(const struct changes *changes, const struct inotify_event *event)
{
    if (event->mask & (IN_DELETE_SELF | IN_MOVE_SELF | IN_IGNORED))
        return -ENOENT;
    if (event->mask & IN_Q_OVERFLOW)
        return 1; /* some were lost: perhaps that of the file */
    return event->len > 0 && strcmp(event->name, changes->name) == 0;
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
            int r = judge(changes, event);
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
    free(changes->name);
    changes->name = NULL;
}
