/* SPDX-License-Identifier: MIT */
#include "outgoing.h"

#include "proto/frame.h"
#include "proto/util.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <stdlib.h>

static void free_payload(const void *data, size_t n, void *unused)
{
    (void)n;
    (void)unused;
    free((void *)(uintptr_t)data);
}

int outgoing_add(struct evbuffer *buffer, struct bytes *payload)
{
    struct bytes taken = TAKE_STRUCT(*payload, BYTES_NULL);
    uint8_t header[FRAME_HEADER_SIZE];
    frame_write_header(header, (uint32_t)taken.length);
    if (evbuffer_add(buffer, header, sizeof(header)) == 0 &&
        evbuffer_add_reference(buffer, taken.data, taken.length, free_payload, NULL) == 0)
        return 0;
    bytes_deinit(&taken);
    return -ENOMEM;
}

bool outgoing_is_gone(int fd)
{
    struct pollfd poll_fd = {.fd = fd};
    return poll(&poll_fd, 1, 0) == 1 && (poll_fd.revents & (POLLHUP | POLLERR)) != 0;
}

void outgoing_count(size_t *total, size_t *own, size_t now)
{
    assert(*total >= *own);
    *total = *total - *own + now;
    *own = now;
}

size_t outgoing_mark(size_t high_water, size_t others)
{
    size_t most = MAX(OUTGOING_MAX, high_water * OUTGOING_PER_HIGH_WATER);
    size_t left = most > others ? most - others : 0;
    return MIN(high_water, MAX(left / (OUTGOING_PER_HIGH_WATER + 1), OUTGOING_FREE));
}
