/* SPDX-License-Identifier: MIT */
#include "servesocket.h"

#include "client/terminal/text.h"

#include <fcntl.h>
#include <grp.h>
#include <libgen.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <systemd/sd-daemon.h>

#define BACKLOG 1024
#define MODE_MAX 0777U

int servesocket_inherit(struct fault *fault)
{
    int n = sd_listen_fds(1);
    if (n <= 0)
        return -1;
    if (n > 1)
        return fault_set(fault, "systemd passes %d sockets, and one can be served", n);
    if (sd_is_socket_unix(SD_LISTEN_FDS_START, SOCK_STREAM, 1, NULL, 0) <= 0)
        return fault_set(fault, "what systemd passes is no Unix stream socket that listens "
                                "(ListenStream= with a path)");
    /* Otherwise accept() would block when a client is gone before it is accepted. */
    return fcntl(SD_LISTEN_FDS_START, F_SETFL, O_NONBLOCK) < 0 ? -errno : SD_LISTEN_FDS_START;
}

int servesocket_parse_mode(const char *text, unsigned *ret)
{
    char *end;
    unsigned long mode = strtoul(text, &end, 8);
    if (*text < '0' || *text > '7' || *end || mode > MODE_MAX)
        return -EINVAL;
    *ret = (unsigned)mode;
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

/* Removes a socket at PATH that nobody listens on. */
static int clear_path(const char *path, const struct sockaddr_un *address, struct fault *fault)
{
    struct stat st;
    char copy[sizeof(address->sun_path)];
    (void)snprintf(copy, sizeof(copy), "%s", path);
    (void)mkdir(dirname(copy), 0755); /* if this fails, bind() says so */
    if (lstat(path, &st) < 0 || !S_ISSOCK(st.st_mode))
        return 0;
    if (is_alive(address)) {
        (void)fault_set(fault, "%s: somebody is listening there already", path);
        return -EADDRINUSE;
    }
    (void)unlink(path);
    return 0;
}

static int set_group(const char *path, const char *group, struct fault *fault)
{
    const struct group *entry = *group ? getgrnam(group) : NULL;
    if (!*group)
        return 0;
    if (!entry) {
        /* Only root and our own user can connect then: safe, but worth a word. */
        complain(
            "there is no group %s, to which --group gives the socket: only root and uid %u can "
            "connect to %s; create the group, name another one, or leave the socket's group "
            "alone with --group \"\"",
            group, (unsigned)geteuid(), path);
        return 0;
    }
    if (lchown(path, (uid_t)-1, entry->gr_gid) == 0)
        return 0;
    if (errno == EPERM) {
        complain("uid %u may not give %s to the group %s (%s), so that the group's members cannot "
                 "connect: have that account be a member of the group, name another one with "
                 "--group, or leave the socket's group alone with --group \"\"",
                 (unsigned)geteuid(), path, group, strerror(errno));
        return 0;
    }
    int r = -errno;
    (void)fault_set(fault, "%s: chown: %s", path, strerror(-r));
    return r;
}

int servesocket_bind(const char *path, unsigned mode, const char *group, struct fault *fault)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof(address.sun_path)) {
        (void)fault_set(fault, "%s: a socket's path has at most %zu bytes", path,
                        sizeof(address.sun_path) - 1);
        return -ENAMETOOLONG;
    }
    (void)snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
    int r = clear_path(path, &address, fault);
    if (r < 0)
        return r;
    _cleanup_close_ int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    /* Only the owner may connect before mode and group are set. */
    mode_t saved = umask(0177);
    r = fd < 0 ? -errno : bind(fd, (struct sockaddr *)&address, sizeof(address)) < 0 ? -errno : 0;
    (void)umask(saved);
    if (r < 0) {
        (void)fault_set(fault, "%s: bind: %s", path, strerror(-r));
        return r;
    }
    r = set_group(path, group, fault);
    if (r == 0 && (chmod(path, mode) < 0 || listen(fd, BACKLOG) < 0)) {
        r = -errno;
        (void)fault_set(fault, "%s: %s", path, strerror(-r));
    }
    if (r < 0) {
        (void)unlink(path);
        return r;
    }
    return TAKE_FD(fd);
}
