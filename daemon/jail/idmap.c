/* SPDX-License-Identifier: MIT */
#include "idmap.h"

#include "proto/util.h"

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>

/* The service manager may have to start the helper first. */
#define ANSWER_SECONDS 5

static int connect_to(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    const struct timeval patience = {.tv_sec = ANSWER_SECONDS};
    if (strlen(path) >= sizeof(address.sun_path))
        return -ENAMETOOLONG;
    (void)strncpy(address.sun_path, path, sizeof(address.sun_path) - 1);
    _cleanup_close_ int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)) < 0 ||
        setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience)) < 0 ||
        connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0)
        return errno == EAGAIN ? -ETIMEDOUT : -errno;
    return TAKE_FD(fd);
}

int idmap_ask(const char *path, const struct idmap_request *request, struct idmap_reply *ret)
{
    struct idmap_reply reply;
    _cleanup_close_ int fd = connect_to(path);
    if (fd < 0)
        return fd;
    if (send(fd, request, sizeof(*request), MSG_NOSIGNAL) != (ssize_t)sizeof(*request))
        return errno == EAGAIN ? -ETIMEDOUT : -errno;
    ssize_t n = recv(fd, &reply, sizeof(reply), 0);
    if (n < 0)
        return errno == EAGAIN ? -ETIMEDOUT : -errno;
    if (n != (ssize_t)sizeof(reply) || reply.error < 0)
        return -EPROTO;
    if (reply.error == 0)
        *ret = reply;
    return -reply.error;
}

void idmap_format(char text[IDMAP_TEXT_MAX], uint32_t job, uint32_t own)
{
    (void)snprintf(text, IDMAP_TEXT_MAX, "%d %u 1\n%d %u 1\n", IDMAP_JOB, job, IDMAP_JAIL, own);
}
