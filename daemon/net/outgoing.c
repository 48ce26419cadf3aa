/* SPDX-License-Identifier: MIT */
#include "outgoing.h"

#include "proto/frame.h"
#include "proto/util.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <stdlib.h>

/* Bytes of a payload that is copied. One that is referred to takes two pieces of memory of half a
 * KiB and more each, which the bound on what a client leaves unread does not count. */
#define COPIED_MAX 4096

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
    if (evbuffer_add(buffer, header, sizeof(header)) < 0) {
        bytes_deinit(&taken);
        return -ENOMEM;
    }
    bool is_copied = taken.length <= COPIED_MAX;
    int r = is_copied
                ? evbuffer_add(buffer, taken.data, taken.length)
                : evbuffer_add_reference(buffer, taken.data, taken.length, free_payload, NULL);
    if (is_copied || r < 0)
        bytes_deinit(&taken);
    return r < 0 ? -ENOMEM : 0;
}

int outgoing_move(struct bufferevent *to, struct evbuffer *from)
{
    size_t n = evbuffer_get_length(from);
    unsigned char *bytes = n > 0 && n <= COPIED_MAX ? evbuffer_pullup(from, -1) : NULL;
    if (!bytes)
        return bufferevent_write_buffer(to, from);
    int r = bufferevent_write(to, bytes, n);
    return r < 0 ? r : evbuffer_drain(from, n);
}

bool outgoing_is_gone(int fd)
{
    struct pollfd poll_fd = {.fd = fd};
    return poll(&poll_fd, 1, 0) == 1 && (poll_fd.revents & (POLLHUP | POLLERR)) != 0;
}

static void begin_step(struct last_replies *last, size_t unsent)
{
    last->next = unsent > last->step ? unsent - last->step : 0;
}

void last_replies_begin(struct last_replies *last, size_t unsent)
{
    last->step = MAX(unsent / LAST_REPLIES_STEPS, LAST_REPLIES_STEP_MIN);
    begin_step(last, unsent);
}

bool last_replies_go_on(struct last_replies *last, size_t unsent)
{
    if (unsent > last->next)
        return false;
    begin_step(last, unsent);
    return true;
}

void outgoing_count(size_t *total, size_t *of_user, size_t *own, size_t now)
{
    assert(*of_user >= *own && *total >= *of_user);
    *total = *total - *own + now;
    *of_user = *of_user - *own + now;
    *own = now;
}

size_t outgoing_most(size_t high_water)
{
    return MAX(OUTGOING_MAX, high_water * OUTGOING_PER_HIGH_WATER);
}

size_t outgoing_mark(size_t high_water, size_t others)
{
    size_t most = outgoing_most(high_water);
    size_t left = most > others ? most - others : 0;
    return MIN(high_water, MAX(left / (OUTGOING_PER_HIGH_WATER + 1), OUTGOING_FREE));
}
