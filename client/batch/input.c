/* SPDX-License-Identifier: MIT */
#include "input.h"

#include "proto/util.h"

#include <assert.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/stat.h>

#define READ_SIZE ((size_t)65536)
/* Read at most this many bytes beforehand to count lines. */
#define COUNT_MAX ((off_t)256 << 20)

int input_init(struct input *input, const char *const *files, size_t n_files, size_t max_line)
{
    *input = (struct input){
        .files = files,
        .n_files = n_files,
        .max_line = max_line,
        .fd = -1,
        .buffer = evbuffer_new(),
    };
    return input->buffer ? 0 : -ENOMEM;
}

/* Standard input stays open: others may share it. */
static void close_file(struct input *input)
{
    if (input->fd != STDIN_FILENO)
        close_fd(input->fd);
    input->fd = -1;
    input->gunzip = gunzip_free(input->gunzip);
}

/* Adds the lines in the first MOST bytes of the file at PATH to *ret_lines, and sets *ret_read to
 * the bytes read. False if the file's size does not tell how much it holds. */
static bool count_lines(const char *path, off_t most, uint64_t *ret_lines, off_t *ret_read,
                        off_t *ret_size)
{
    char data[READ_SIZE / 2], last = '\n';
    struct stat st;
    if (strcmp(path, "-") == 0 || gunzip_wanted(path))
        return false;
    _cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
        return false;
    ssize_t n = 1;
    *ret_size = st.st_size;
    for (*ret_read = 0; *ret_read < most && (n = read(fd, data, sizeof(data))) > 0;) {
        *ret_read += n;
        last = data[n - 1];
        for (const char *p = data; (p = memchr(p, '\n', (size_t)(data + n - p))); p++)
            ++*ret_lines;
    }
    *ret_lines += n == 0 && last != '\n';
    return true;
}

uint64_t input_count(const char *const *files, size_t n_files, bool *ret_about)
{
    uint64_t lines = 0;
    off_t left = COUNT_MAX, total = 0, seen = 0;
    for (size_t i = 0; i < n_files; i++) {
        off_t n_read = 0, size = 0;
        if (!count_lines(files[i], left, &lines, &n_read, &size))
            return 0;
        left -= n_read;
        seen += n_read;
        total += size;
    }
    *ret_about = seen < total;
    return seen > 0 ? (uint64_t)((double)lines * (double)total / (double)seen) : 0;
}

void input_deinit(struct input *input)
{
    close_file(input);
    if (input->buffer)
        evbuffer_free(input->buffer);
    *input = (struct input)INPUT_NULL;
}

static void drop(struct input *input, size_t n)
{
    assert(n <= evbuffer_get_length(input->buffer));
    (void)evbuffer_drain(input->buffer, n);
    input->scanned = 0;
}

static int open_next(struct input *input, struct fault *fault)
{
    const char *file = input->files[input->next_file++];
    bool is_stdin = strcmp(file, "-") == 0;
    /* O_NONBLOCK: a fifo opens at once, and the loop polls it for its first writer. */
    int fd = is_stdin ? STDIN_FILENO : open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return fault_set(fault, "%s: %s", file, strerror(errno));
    if (!is_stdin && gunzip_wanted(file) && !(input->gunzip = gunzip_new())) {
        close_fd(fd);
        return fault_set(fault, "%s: %s", file, strerror(ENOMEM));
    }
    input->fd = fd;
    input->name = is_stdin ? "stdin" : file;
    input->line_no = 0;
    input->at_end = false;
    input->skipping = false;
    input->read_error = 0;
    return 0;
}

/* Returns the length of the first line in the buffer, or -1 if its end has not come yet. */
static ssize_t find_line(struct input *input)
{
    struct evbuffer_ptr from;
    if (evbuffer_ptr_set(input->buffer, &from, input->scanned, EVBUFFER_PTR_SET) < 0)
        return -1;
    struct evbuffer_ptr at = evbuffer_search(input->buffer, "\n", 1, &from);
    if (at.pos < 0)
        input->scanned = evbuffer_get_length(input->buffer);
    return at.pos;
}

/* Drops the rest of a line that is too long; returns whether it reached the line's end. */
static bool skip_line(struct input *input)
{
    ssize_t length = find_line(input);
    drop(input, length >= 0 ? (size_t)length + 1 : evbuffer_get_length(input->buffer));
    return length >= 0;
}

static enum input_state too_long(struct input *input, struct fault *fault)
{
    input->line_no++;
    input->skipping = true;
    (void)fault_set(fault, "%s:%llu: longer than %zu bytes", input->name,
                    (unsigned long long)input->line_no, input->max_line);
    return INPUT_WRONG;
}

static enum input_state take_line(struct input *input, size_t length, size_t newline,
                                  const char **ret_line, size_t *ret_length)
{
    /* Even an empty line needs a byte to point at. */
    *ret_line = (const char *)evbuffer_pullup(input->buffer, (ssize_t)(length + newline));
    *ret_length = length;
    input->consumed = length + newline;
    input->line_no++;
    return INPUT_LINE;
}

/* Handles the end of a file. The rest of the buffer is a last line without a newline. */
static enum input_state end_file(struct input *input, const char **ret_line, size_t *ret_length,
                                 struct fault *fault)
{
    size_t rest = evbuffer_get_length(input->buffer);
    if (input->read_error) {
        (void)fault_set(fault, "%s: %s", input->name, gunzip_strerror(input->read_error));
        input->read_error = 0;
        drop(input, rest);
        return INPUT_WRONG;
    }
    if (rest > 0)
        return take_line(input, rest, 0, ret_line, ret_length);
    close_file(input);
    return INPUT_WAIT;
}

/* Takes one step in the open file. INPUT_WAIT with the file closed: the file is done. */
static enum input_state step(struct input *input, const char **ret_line, size_t *ret_length,
                             struct fault *fault)
{
    if (input->skipping && skip_line(input))
        input->skipping = false;
    if (input->skipping && !input->at_end)
        return INPUT_WAIT;

    ssize_t length = find_line(input);
    size_t held = length >= 0 ? (size_t)length : evbuffer_get_length(input->buffer);
    if (held > input->max_line)
        return too_long(input, fault);
    if (length >= 0)
        return take_line(input, (size_t)length, 1, ret_line, ret_length);
    return input->at_end ? end_file(input, ret_line, ret_length, fault) : INPUT_WAIT;
}

enum input_state input_next(struct input *input, const char **ret_line, size_t *ret_length,
                            struct fault *fault)
{
    if (input->consumed > 0) {
        drop(input, input->consumed);
        input->consumed = 0;
    }
    for (;;) {
        if (input->fd < 0 && input->next_file == input->n_files)
            return INPUT_END;
        if (input->fd < 0 && open_next(input, fault) < 0)
            return INPUT_WRONG;
        enum input_state state = step(input, ret_line, ret_length, fault);
        if (state != INPUT_WAIT || input->fd >= 0)
            return state;
    }
}

static void end_reading(struct input *input, int error)
{
    input->read_error = -error;
    input->at_end = true;
}

/* Returns the bytes read; 0 at the end, or if nothing can be read now. */
static size_t read_some(struct input *input, void *to, size_t n)
{
    ssize_t r = read(input->fd, to, n);
    if (r > 0)
        return (size_t)r;
    if (r == 0)
        end_reading(input, input->gunzip ? gunzip_end(input->gunzip) : 0);
    else if (errno != EINTR && errno != EAGAIN)
        end_reading(input, -errno);
    return 0;
}

static void read_compressed(struct input *input)
{
    char data[GUNZIP_FEED_MAX];
    size_t n = read_some(input, data, sizeof(data));
    int r = n > 0 ? gunzip_feed(input->gunzip, data, n, input->buffer) : 0;
    if (r < 0)
        end_reading(input, r);
}

void input_read(struct input *input)
{
    struct evbuffer_iovec space;
    if (input->gunzip) {
        read_compressed(input);
        return;
    }
    if (evbuffer_reserve_space(input->buffer, READ_SIZE, &space, 1) < 1) {
        end_reading(input, -ENOMEM);
        return;
    }
    space.iov_len = read_some(input, space.iov_base, MIN(space.iov_len, READ_SIZE));
    (void)evbuffer_commit_space(input->buffer, &space, 1);
}

enum input_state input_next_blocking(struct input *input, const char **ret_line, size_t *ret_length,
                                     struct fault *fault)
{
    enum input_state state;
    while ((state = input_next(input, ret_line, ret_length, fault)) == INPUT_WAIT) {
        struct pollfd readable = {.fd = input->fd, .events = POLLIN};
        (void)poll(&readable, 1, -1);
        input_read(input);
    }
    return state;
}
