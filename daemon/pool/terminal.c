/* SPDX-License-Identifier: MIT */
#include "terminal.h"

#include "daemon/base/events.h"

#include <assert.h>
#include <fcntl.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#define PTMX "/dev/ptmx"

/* The kernel takes them from and gives them to this side alone (linux/termios.h, which cannot be
 * included beside the C library's). */
#ifndef TIOCGPTPEER
#define TIOCGPTPEER _IO('T', 0x41)
#endif

int terminal_check(void)
{
    return access(PTMX, R_OK | W_OK) < 0 ? -errno : 0;
}

static struct winsize window_of(struct terminal_size size)
{
    return (struct winsize){
        .ws_row = (unsigned short)size.rows,
        .ws_col = (unsigned short)size.columns,
    };
}

/* Gives the kernel what it takes. */
static void feed(struct terminal *terminal)
{
    size_t before = terminal->done;
    while (terminal->done < terminal->waiting.length) {
        ssize_t n = write(terminal->fd, terminal->waiting.data + terminal->done,
                          terminal->waiting.length - terminal->done);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EIO)
            n = (ssize_t)(terminal->waiting.length - terminal->done); /* nobody reads it any more */
        if (n <= 0)
            break;
        terminal->done += (size_t)n;
    }
    size_t taken = terminal->done - before;
    if (terminal->done == terminal->waiting.length) {
        bytes_deinit(&terminal->waiting);
        terminal->done = 0;
        (void)event_del(terminal->writable);
    } else {
        (void)event_add(terminal->writable, NULL);
    }
    if (taken > 0)
        terminal->taken(terminal, taken, terminal->userdata);
}

static void on_writable(evutil_socket_t fd, short what, void *userdata)
{
    (void)fd;
    (void)what;
    feed(userdata);
}

/* The erase key takes back a whole character of UTF-8, not its last byte. */
static int expect_utf8(int job_side)
{
    struct termios modes;
    if (tcgetattr(job_side, &modes) < 0)
        return -errno;
    modes.c_iflag |= IUTF8;
    return tcsetattr(job_side, TCSANOW, &modes) < 0 ? -errno : 0;
}

/* O_NOCTTY: the daemon leads a session, which must not get the job's terminal. */
int terminal_open(struct terminal *terminal, struct event_base *base, struct terminal_size size,
                  terminal_taken taken, void *userdata, int *ret_job_side, int *ret_reader)
{
    const struct winsize window = window_of(size);
    int locked = 0;
    _cleanup_close_ int fd = open(PTMX, O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0 || ioctl(fd, TIOCSPTLCK, &locked) < 0 || ioctl(fd, TIOCSWINSZ, &window) < 0)
        return -errno;
    _cleanup_close_ int job_side = ioctl(fd, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (job_side < 0)
        return -errno;
    int r = expect_utf8(job_side);
    if (r < 0)
        return r;
    _cleanup_close_ int reader = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    if (reader < 0)
        return -errno;
    struct event *writable = event_new(base, fd, EV_WRITE | EV_PERSIST, on_writable, terminal);
    if (!writable)
        return -ENOMEM;
    *terminal = (struct terminal){
        .fd = TAKE_FD(fd), .writable = writable, .taken = taken, .userdata = userdata};
    *ret_job_side = TAKE_FD(job_side);
    *ret_reader = TAKE_FD(reader);
    return 0;
}

int terminal_type(struct terminal *terminal, const char *data, size_t n)
{
    size_t left = terminal->waiting.length - terminal->done;
    struct bytes all;
    assert(terminal->fd >= 0);
    if (n > TERMINAL_INPUT_MAX || left > TERMINAL_INPUT_MAX - n)
        return -ENOSPC;
    all = (struct bytes){.data = malloc(left + n + 1), .length = left + n};
    if (!all.data)
        return -ENOMEM;
    if (left > 0)
        memcpy(all.data, terminal->waiting.data + terminal->done, left);
    memcpy(all.data + left, data, n);
    all.data[all.length] = '\0';
    bytes_deinit(&terminal->waiting);
    terminal->waiting = all;
    terminal->done = 0;
    feed(terminal);
    return 0;
}

void terminal_resize(struct terminal *terminal, struct terminal_size size)
{
    const struct winsize window = window_of(size);
    assert(terminal->fd >= 0);
    (void)ioctl(terminal->fd, TIOCSWINSZ, &window);
}

void terminal_deinit(struct terminal *terminal)
{
    terminal->writable = consume_event(terminal->writable);
    terminal->fd = close_fd(terminal->fd);
    bytes_deinit(&terminal->waiting);
    *terminal = (struct terminal)TERMINAL_NULL;
}
