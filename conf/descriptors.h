/* SPDX-License-Identifier: MIT */
#pragma once
/* Descriptors that whoever writes to a Unix socket may send along. */

#include <errno.h>
#include <sys/socket.h>

/* Linux 6.16; older headers do not have it. */
#ifndef SO_PASSRIGHTS
#define SO_PASSRIGHTS 83
#endif

/* Has the socket FD, and what is accepted from it, refuse descriptors. The kernel closes them when
 * their message is dropped; to close a socket that lingers, or a file of a FUSE server, takes as
 * long as its owner likes, and an event loop would stand still meanwhile. Older kernels take them
 * all the same; sockets that are no Unix sockets never do. Leaves errno as it is. */
static inline void refuse_descriptors(int fd)
{
    const int no = 0, error = errno;
    (void)setsockopt(fd, SOL_SOCKET, SO_PASSRIGHTS, &no, sizeof(no));
    errno = error;
}
