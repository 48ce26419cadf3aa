/* SPDX-License-Identifier: MIT */
#pragma once
/* A job packed for its jail: the message, and the descriptors that go with it.
 *
 * May include: launch, and the jail's link. */

#include "launch.h"

#include "daemon/jail/link.h"

struct packet {
    struct link_job job;
    char *strings;         /* owned */
    int fds[LINK_JOB_FDS]; /* by enum link_job_fd, owned; -1: not used */
    bool was_sent;
};

#define PACKET_NULL                                   \
    {                                                 \
        .fds = { -1, -1, -1, -1, -1, -1, -1, -1, -1 } \
    }

/* Packs LAUNCH as LINK_NO. Writes its input and its files to sealed memory; the caller adds the
 * descriptors of stdout, stderr, the cgroup and the memory for collected files. On failure a
 * negative errno, with nothing left: -E2BIG if arguments, environment and paths are too long
 * together. */
int packet_init(struct packet *packet, const struct launch *launch, uint64_t link_no);

/* Sends the packet, which stays the caller's, to the jail behind LINK_FD. Each jail reads input and
 * files from their beginning, whatever an earlier one has read. 0 or a negative errno. */
int packet_send(struct packet *packet, int link_fd);

/* Closes and frees everything; the packet is PACKET_NULL afterwards. */
void packet_deinit(struct packet *packet);
