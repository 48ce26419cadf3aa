/* SPDX-License-Identifier: MIT */
#include "frames.h"

#include "proto/frame.h"

#include <poll.h>

#define READ_SIZE 65536

int frames_init(struct frames *frames, int fd, uint32_t max)
{
    *frames = (struct frames){.fd = fd, .max = max, .in = evbuffer_new(), .out = evbuffer_new()};
    if (frames->in && frames->out)
        return 0;
    frames_deinit(frames);
    return -ENOMEM;
}

void frames_deinit(struct frames *frames)
{
    frames->fd = close_fd(frames->fd);
    if (frames->in)
        evbuffer_free(frames->in);
    if (frames->out)
        evbuffer_free(frames->out);
    *frames = (struct frames)FRAMES_NULL;
}

short frames_events(const struct frames *frames, bool hold)
{
    short events = 0;
    if (!hold && !frames->read_ended)
        events |= POLLIN;
    if (frames_unsent(frames) > 0)
        events |= POLLOUT;
    return events;
}

void frames_pump(struct frames *frames, short revents)
{
    if (revents & POLLOUT && evbuffer_write(frames->out, frames->fd) < 0 && errno != EAGAIN)
        frames->is_gone = true;
    /* A client that has only ended its sending still reads. */
    if (revents & (POLLHUP | POLLERR))
        frames->is_gone = true;
    if (!(revents & (POLLIN | POLLHUP | POLLERR)))
        return;
    int n = evbuffer_read(frames->in, frames->fd, READ_SIZE);
    if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
        frames->read_ended = true;
}

int frames_next(struct frames *frames, struct bytes *ret, struct fault *fault)
{
    uint8_t header[FRAME_HEADER_SIZE];
    uint32_t length;
    if (evbuffer_copyout(frames->in, header, sizeof(header)) < (ssize_t)sizeof(header))
        return frames->read_ended ? -ECONNRESET : 0;
    if (frame_read_header(header, frames->max, &length) != FRAME_OK) {
        (void)fault_set(fault, "a frame of %u bytes; the fleet takes 1 to %u", length, frames->max);
        return -EPROTO;
    }
    if (evbuffer_get_length(frames->in) < sizeof(header) + length)
        return frames->read_ended ? -ECONNRESET : 0;
    char *data = malloc((size_t)length + 1);
    if (!data)
        return -ENOMEM;
    (void)evbuffer_drain(frames->in, sizeof(header));
    (void)evbuffer_remove(frames->in, data, length);
    data[length] = '\0';
    *ret = (struct bytes){.data = data, .length = length};
    return 1;
}

void frames_send(struct frames *frames, const char *text, size_t n)
{
    uint8_t header[FRAME_HEADER_SIZE];
    frame_write_header(header, (uint32_t)n);
    if (evbuffer_expand(frames->out, sizeof(header) + n) == 0) {
        (void)evbuffer_add(frames->out, header, sizeof(header));
        (void)evbuffer_add(frames->out, text, n);
    }
}

size_t frames_unsent(const struct frames *frames)
{
    return evbuffer_get_length(frames->out);
}
