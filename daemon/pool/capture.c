/* SPDX-License-Identifier: MIT */
#include "capture.h"

#include "daemon/base/events.h"

#include <assert.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define READ_SIZE (32u << 10)
/* capture_read_rest() reads this often at most: a pipe that still has bytes then has a writer. */
#define REST_READS_MAX 64

/* Keeps as much of DATA as the bound allows. The buffer doubles, so a job that writes little costs
 * little. */
static int keep(struct capture *capture, const char *data, size_t n)
{
    assert(capture->kept.length <= capture->keep_max);
    n = MIN(n, capture->keep_max - capture->kept.length);
    size_t wanted = capture->kept.length + n + 1;
    if (wanted > capture->capacity) {
        size_t capacity = MAX(wanted, MIN(capture->capacity * 2, capture->keep_max + 1));
        char *data_now = realloc(capture->kept.data, capacity);
        if (!data_now)
            return -ENOMEM;
        capture->kept.data = data_now;
        capture->capacity = capacity;
    }
    memcpy(capture->kept.data + capture->kept.length, data, n);
    capture->kept.length += n;
    capture->kept.data[capture->kept.length] = '\0';
    return 0;
}

/* Reads once. False if there is nothing to read yet. */
static bool read_once(struct capture *capture)
{
    char data[READ_SIZE];
    assert(!capture_is_closed(capture));
    ssize_t n = read(capture->fd, data, sizeof(data));
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return false;
    if (n < 0 && errno == EIO && capture->is_terminal)
        n = 0; /* nobody has the other side open */
    if (n < 0)
        capture->error = -errno; /* not the end: there may be more that cannot be had */
    if (n <= 0) {
        capture_close(capture);
        n = 0;
    } else if (capture->error == 0) {
        capture->error = keep(capture, data, (size_t)n);
    }
    if (n > 0 && capture->tell)
        capture->tell(capture, data, (size_t)n, capture->userdata);
    capture->callback(capture, (size_t)n, capture->userdata);
    return true;
}

static void on_readable(evutil_socket_t fd, short what, void *userdata)
{
    (void)fd;
    (void)what;
    (void)read_once(userdata);
}

static int open_ends(enum capture_kind kind, int ret_ends[2])
{
    int r = kind == CAPTURE_PIPE ? pipe2(ret_ends, O_CLOEXEC)
                                 : socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ret_ends);
    if (r == 0 && kind == CAPTURE_SOCKET)
        (void)shutdown(ret_ends[0], SHUT_WR); /* one way, as a pipe */
    return r < 0 ? -errno : 0;
}

int capture_open(struct capture *capture, enum capture_kind kind, struct event_base *base,
                 size_t keep_max, capture_callback callback, void *userdata, int *ret_write_fd)
{
    int fds[2], r = open_ends(kind, fds);
    if (r < 0)
        return r;
    _cleanup_close_ int write_fd = fds[1];
    *capture = (struct capture){
        .base = base,
        .fd = fds[0],
        .keep_max = keep_max,
        .callback = callback,
        .userdata = userdata,
    };
    /* Our end alone: the job expects an ordinary blocking one. */
    if (fcntl(fds[0], F_SETFL, O_NONBLOCK) < 0) {
        capture_close(capture);
        return -errno;
    }
    *ret_write_fd = TAKE_FD(write_fd);
    return 0;
}

void capture_take_terminal(struct capture *capture, int fd, struct event_base *base,
                           capture_callback callback, void *userdata)
{
    *capture = (struct capture){
        .base = base,
        .fd = fd,
        .is_terminal = true,
        .callback = callback,
        .userdata = userdata,
    };
}

int capture_watch(struct capture *capture)
{
    if (capture->event || capture_is_closed(capture))
        return 0;
    capture->event =
        event_new(capture->base, capture->fd, EV_READ | EV_PERSIST, on_readable, capture);
    if (capture->event && !capture->is_paused && event_add(capture->event, NULL) < 0)
        capture->event = consume_event(capture->event);
    return capture->event ? 0 : -ENOMEM;
}

void capture_pause(struct capture *capture, bool is_paused)
{
    if (capture->event && is_paused)
        (void)event_del(capture->event);
    else if (capture->event && capture->is_paused)
        (void)event_add(capture->event, NULL);
    capture->is_paused = is_paused;
}

int capture_read_rest(struct capture *capture)
{
    for (int i = 0; i < REST_READS_MAX && !capture_is_closed(capture); i++)
        if (!read_once(capture))
            break;
    return capture_watch(capture);
}

void capture_close(struct capture *capture)
{
    capture->event = consume_event(capture->event);
    capture->fd = close_fd(capture->fd);
}

void capture_deinit(struct capture *capture)
{
    capture_close(capture);
    bytes_deinit(&capture->kept);
    *capture = (struct capture)CAPTURE_NULL;
}
