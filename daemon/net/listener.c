/* SPDX-License-Identifier: MIT */
#include "listener.h"

#include "conf/descriptors.h"
#include "daemon/base/clock.h"
#include "daemon/base/events.h"
#include "proto/util.h"

#include <fcntl.h>
#include <grp.h>
#include <libgen.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define BACKLOG 1024
/* The next try to accept after the process ran out of descriptors or memory. */
#define RESUME_MS 100

static int make_address(const char *path, struct sockaddr_un *ret, struct fault *fault)
{
    if (strlen(path) >= sizeof(ret->sun_path)) {
        fault_set(fault, "%s: a socket's path has at most %zu bytes", path,
                  sizeof(ret->sun_path) - 1);
        return -ENAMETOOLONG;
    }
    *ret = (struct sockaddr_un){.sun_family = AF_UNIX};
    (void)snprintf(ret->sun_path, sizeof(ret->sun_path), "%s", path);
    return 0;
}

/* Whether somebody listens at ADDRESS. */
static bool is_alive(const struct sockaddr_un *address)
{
    _cleanup_close_ int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return true; /* unknown: leave the socket alone */
    int r = connect(fd, (const struct sockaddr *)address, sizeof(*address));
    return r == 0 || errno != ECONNREFUSED;
}

static int make_parent(const char *path, const struct account *owner)
{
    char copy[sizeof(((struct sockaddr_un *)NULL)->sun_path)];
    (void)snprintf(copy, sizeof(copy), "%s", path);
    const char *parent = dirname(copy);
    /* A path with a typo must not leave a directory in the root of the file system. */
    if (strrchr(parent, '/') == parent)
        return 0;
    /* If this fails, bind() says so. */
    if (mkdir(parent, 0755) == 0 && owner && lchown(parent, owner->uid, owner->gid) < 0)
        return -errno;
    return 0;
}

static int set_group(const char *path, const char *group, struct log *log, struct fault *fault)
{
    if (!*group)
        return 0;
    const struct group *entry = getgrnam(group);
    if (!entry) {
        /* Only root and the daemon's own user can connect then: safe, but worth a warning. */
        log_write(log, LOG_WARNING, "[daemon] socket_group: there is no group %s", group);
        return 0;
    }
    if (lchown(path, (uid_t)-1, entry->gr_gid) == 0)
        return 0;
    if (errno == EPERM) {
        log_write(log, LOG_WARNING, "[daemon] socket_group: %s cannot be given to group %s: %s",
                  path, group, strerror(errno));
        return 0;
    }
    int r = -errno;
    fault_set(fault, "%s: chown: %s", path, strerror(-r));
    return r;
}

int listener_bind(const char *path, unsigned mode, const char *group, const struct account *owner,
                  struct log *log, struct fault *fault)
{
    struct sockaddr_un address;
    struct stat st;
    int r = make_address(path, &address, fault);
    if (r < 0)
        return r;
    r = make_parent(path, owner);
    if (r < 0) {
        fault_set(fault, "%s: its directory cannot be given to %s: %s", path, owner->name,
                  strerror(-r));
        return r;
    }
    if (lstat(path, &st) == 0 && S_ISSOCK(st.st_mode)) {
        if (is_alive(&address)) {
            fault_set(fault, "%s: a daemon is listening there already", path);
            return -EADDRINUSE;
        }
        (void)unlink(path);
    }
    _cleanup_close_ int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    /* Only the owner may connect before mode and group are set. */
    mode_t saved = umask(0177);
    r = fd < 0 ? -errno : bind(fd, (struct sockaddr *)&address, sizeof(address)) < 0 ? -errno : 0;
    (void)umask(saved);
    if (r < 0) {
        fault_set(fault, "%s: bind: %s", path, strerror(-r));
        return r;
    }
    if (owner && lchown(path, owner->uid, owner->gid) < 0) {
        r = -errno;
        fault_set(fault, "%s: cannot be given to %s: %s", path, owner->name, strerror(-r));
    }
    if (r == 0)
        r = set_group(path, group, log, fault);
    refuse_descriptors(fd);
    if (r == 0 && (chmod(path, mode) < 0 || listen(fd, BACKLOG) < 0)) {
        r = -errno;
        fault_set(fault, "%s: %s", path, strerror(-r));
    }
    if (r < 0) {
        (void)unlink(path);
        return r;
    }
    return TAKE_FD(fd);
}

static void on_resume(evutil_socket_t fd, short what, void *userdata)
{
    struct listener *listener = userdata;
    (void)fd;
    (void)what;
    (void)event_add(listener->event, NULL);
}

/* Returns whether there was a client to accept. */
static bool accept_one(struct listener *listener)
{
    int client = accept4(listener->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (client >= 0) {
        refuse_descriptors(client); /* it may be older than the daemon */
        listener->accepted(client, listener->userdata);
        return true;
    }
    if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
        struct timeval delay = {.tv_usec = RESUME_MS * 1000L};
        log_write(listener->log, LOG_WARNING, "cannot accept a client now: %s", strerror(errno));
        (void)event_del(listener->event);
        (void)event_add(listener->resume, &delay);
    }
    return false;
}

static void on_connection(evutil_socket_t fd, short what, void *userdata)
{
    struct listener *listener = userdata;
    uint64_t began_ns = clock_now_ns();
    (void)fd;
    (void)what;
    for (unsigned i = 0; i < LISTENER_ACCEPTS_MAX && accept_one(listener); i++)
        if (clock_now_ns() - began_ns >= LISTENER_BUDGET_MS * NS_PER_MS)
            break;
}

int listener_init(struct listener *listener, struct event_base *base, struct log *log, int fd,
                  const char *path, void (*accepted)(int fd, void *userdata), void *userdata)
{
    *listener = (struct listener){.log = log, .fd = fd, .accepted = accepted, .userdata = userdata};
    if (path && !(listener->path = strdup(path)))
        return -ENOMEM;
    refuse_descriptors(fd); /* it may come from the service manager */
    listener->event = event_new(base, fd, EV_READ | EV_PERSIST, on_connection, listener);
    listener->resume = event_new(base, -1, 0, on_resume, listener);
    if (!listener->event || !listener->resume || event_add(listener->event, NULL) < 0)
        return -ENOMEM;
    return 0;
}

void listener_deinit(struct listener *listener)
{
    listener->event = consume_event(listener->event);
    listener->resume = consume_event(listener->resume);
    if (listener->path)
        (void)unlink(listener->path);
    free(listener->path);
    close_fd(listener->fd);
    *listener = (struct listener)LISTENER_NULL;
}
