/* SPDX-License-Identifier: MIT */
#pragma once
/* A job on its way to its jail: the message and the descriptors that go with it. */

#include "launch.h"

#include "daemon/jail/link.h"

struct packet {
    struct link_job job;
    char *strings;         /* owned */
    int fds[LINK_JOB_FDS]; /* owned; -1: not used */
};

#define PACKET_NULL                   \
    {                                 \
        .fds = { -1, -1, -1, -1, -1 } \
    }

/* Packs what LAUNCH says but for stdout and stderr, whose descriptors the caller adds. Its input
 * and files go into sealed memory. On failure a negative errno, and nothing is left: -E2BIG if
 * arguments, environment and paths are too long together. */
int packet_init(struct packet *packet, const struct launch *launch, uint64_t job_no);

/* Sends it to the jail behind LINK_FD; the packet stays the caller's. */
int packet_send(const struct packet *packet, int link_fd);

/* Closes and frees everything; the packet is PACKET_NULL then. */
void packet_deinit(struct packet *packet);
