/* SPDX-License-Identifier: MIT */
#include "serve.h"
#include "subids.h"

#include "daemon/jail/idmap.h"
#include "proto/util.h"

#include <fcntl.h>
#include <poll.h>
#include <pwd.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>

#define PEER_SECONDS 1

static int read_ids(const char *subuids, struct subids *ret)
{
    const struct passwd *entry = getpwuid(geteuid());
    FILE *file = fopen(subuids, "re");
    if (!file)
        return errno == ENOENT ? -ENODATA : -errno;
    int r = subids_find(file, entry ? entry->pw_name : "", geteuid(), ret);
    (void)fclose(file);
    return r;
}

/* Writes TEXT as the map of the process PID, the peer of CONNECTION. */
static int write_map(pid_t pid, int connection, const char *text)
{
    char path[48];
    struct pollfd peer = {.fd = connection, .events = POLLRDHUP};
    (void)snprintf(path, sizeof(path), "/proc/%d/uid_map", (int)pid);
    _cleanup_close_ int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    /* Another process may have got the pid of a peer that is gone. */
    if (poll(&peer, 1, 0) != 0)
        return -ESRCH;
    size_t n = strlen(text);
    return write(fd, text, n) == (ssize_t)n ? 0 : -errno;
}

static int map_peer(const struct ucred *peer, int connection, const struct idmap_request *request,
                    const char *subuids, struct idmap_reply *reply)
{
    char text[IDMAP_TEXT_MAX];
    struct subids ids = {0};
    if (peer->uid != geteuid() || peer->pid <= 0)
        return -EPERM;
    int r = read_ids(subuids, &ids);
    if (r < 0)
        return r;
    if (!request->is_zygote && request->slot >= ids.count)
        return -ERANGE;
    if (request->is_zygote)
        (void)snprintf(text, sizeof(text), "%u %u 1\n%u %u %u\n", geteuid(), geteuid(), ids.first,
                       ids.first, ids.count);
    else
        idmap_format(text, ids.first + request->slot, geteuid());
    reply->first = ids.first;
    reply->count = ids.count;
    return write_map(peer->pid, connection, text);
}

int serve_one(int connection, const char *subuids)
{
    const struct timeval patience = {.tv_sec = PEER_SECONDS};
    struct ucred peer;
    struct idmap_request request;
    struct idmap_reply reply = {.error = 0};
    socklen_t length = sizeof(peer);
    if (setsockopt(connection, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)) < 0 ||
        getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &peer, &length) < 0)
        return -1;
    ssize_t n = recv(connection, &request, sizeof(request), MSG_TRUNC);
    if (n <= 0)
        return -1;
    reply.error = n == (ssize_t)sizeof(request)
                      ? -map_peer(&peer, connection, &request, subuids, &reply)
                      : EPROTO;
    if (send(connection, &reply, sizeof(reply), MSG_NOSIGNAL | MSG_DONTWAIT) !=
        (ssize_t)sizeof(reply))
        return -1;
    return reply.error;
}
