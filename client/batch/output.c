/* SPDX-License-Identifier: MIT */
#include "output.h"

#include "proto/util.h"

#include <fcntl.h>
#include <libgen.h>
#include <linux/limits.h>
#include <poll.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

/* Bring what was written to the disk after this time. */
#define SYNC_MS 1000

/* --- opening and closing ------------------------------------------------------------------ */

static bool same_file(const struct stat *st, const char *path)
{
    struct stat other;
    int r = strcmp(path, "-") == 0 ? fstat(STDIN_FILENO, &other) : stat(path, &other);
    return r == 0 && other.st_dev == st->st_dev && other.st_ino == st->st_ino;
}

/* Brings the name of a new file to the disk. */
static void sync_directory(const char *path)
{
    _cleanup_free_ char *copy = strdup(path);
    _cleanup_close_ int fd = copy ? open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    if (fd >= 0)
        (void)fsync(fd);
}

static int prepare_file(int fd, const struct stat *st, const char *path, struct fault *fault)
{
    /* Its last owner may have put another file in its place. */
    if ((flock(fd, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK) || !same_file(st, path))
        return fault_set(fault, "%s: another rubricctl is writing to it", path);
    sync_directory(path);
    return 0;
}

static int open_file(const char *path, enum output_mode mode, const char *const *inputs, size_t n,
                     int *ret, struct fault *fault)
{
    int flags = O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY;
    struct stat st;
    _cleanup_close_ int fd = open(path, flags | (mode == OUTPUT_NEW ? O_EXCL : 0), 0666);
    if (fd < 0 && errno == EEXIST) {
        if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
            return fault_set(fault, "cannot write %s: %s", path, strerror(EISDIR));
        return fault_set(fault, "%s is there already; --resume continues it, --force overwrites it",
                         path);
    }
    if (fd < 0 || fstat(fd, &st) < 0)
        return fault_set(fault, "cannot write %s: %s", path, strerror(errno));
    for (size_t i = 0; i < n; i++)
        if (same_file(&st, inputs[i]))
            return fault_set(fault, "%s is both input and output", path);
    if (mode == OUTPUT_CONTINUE && !S_ISREG(st.st_mode))
        return fault_set(fault, "--resume: %s is not a regular file", path);
    if (S_ISREG(st.st_mode) && prepare_file(fd, &st, path, fault) < 0)
        return -EINVAL;
    *ret = TAKE_FD(fd);
    return 0;
}

int output_open(struct output *output, const char *path, enum output_mode mode,
                const char *const *inputs, size_t n, struct fault *fault)
{
    int fd = STDOUT_FILENO;
    bool is_stdout = !path || strcmp(path, "-") == 0;
    if (!is_stdout) {
        int r = open_file(path, mode, inputs, n, &fd, fault);
        if (r < 0)
            return r;
    }
    struct stat st;
    bool regular = fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
    *output = (struct output){
        .fd = fd,
        .regular = regular,
        .ours = regular && !is_stdout,
        .replaces = regular && !is_stdout && mode == OUTPUT_OVERWRITE && st.st_size > 0,
        .path = is_stdout ? NULL : strdup(path),
        .buffer = evbuffer_new(),
        .sync_ms = INT64_MAX,
    };
    if (!output->buffer || (!is_stdout && !output->path))
        return fault_set(fault, "out of memory");
    return 0;
}

void output_close(struct output *output)
{
    if (output->fd != STDOUT_FILENO)
        close_fd(output->fd);
    if (output->buffer)
        evbuffer_free(output->buffer);
    free(output->path);
    *output = (struct output)OUTPUT_NULL;
}

/* --- writing ------------------------------------------------------------------------------ */

int output_line(struct output *output, const char *text, size_t n)
{
    if (evbuffer_add(output->buffer, text, n) < 0 || evbuffer_add(output->buffer, "\n", 1) < 0)
        return -ENOMEM;
    return 0;
}

size_t output_unwritten(const struct output *output)
{
    return evbuffer_get_length(output->buffer);
}

/* Handles a write of TEXT that failed after N bytes. Cuts a partial line off a file of ours again,
 * so that the whole line stays queued. */
static void keep_whole_lines(struct output *output, const char *text, size_t n)
{
    const char *newline = n > 0 ? memrchr(text, '\n', n) : NULL;
    size_t whole = newline ? (size_t)(newline - text) + 1 : 0;
    off_t end = output->ours ? lseek(output->fd, 0, SEEK_END) : -1;
    if (end >= (off_t)(n - whole) && ftruncate(output->fd, end - (off_t)(n - whole)) == 0)
        n = whole;
    (void)evbuffer_drain(output->buffer, n);
}

/* Writes all that is queued, which ends with a newline, in one write() if possible. */
static int write_file(struct output *output)
{
    size_t length = output_unwritten(output), done = 0;
    const char *text = (const char *)evbuffer_pullup(output->buffer, -1);
    if (output->replaces && ftruncate(output->fd, 0) < 0)
        return -errno;
    output->replaces = false;
    while (done < length) {
        ssize_t n = write(output->fd, text + done, length - done);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0) {
            int error = errno;
            keep_whole_lines(output, text, done);
            return -error;
        }
        done += (size_t)n;
    }
    (void)evbuffer_drain(output->buffer, length);
    return 0;
}

/* The process that started us shares the descriptor, so it must stay blocking. A pipe that poll()
 * calls writable takes PIPE_BUF bytes without waiting. */
static bool takes_more(const struct output *output)
{
    struct pollfd writable = {.fd = output->fd, .events = POLLOUT};
    return poll(&writable, 1, 0) == 1 && writable.revents != 0;
}

static int write_stream(struct output *output)
{
    while (output_unwritten(output) > 0 && takes_more(output)) {
        int n = evbuffer_write_atmost(output->buffer, output->fd, PIPE_BUF);
        if (n < 0 && errno != EINTR && errno != EAGAIN)
            return -errno;
    }
    return 0;
}

int output_flush(struct output *output, int64_t now_ms)
{
    if (output_unwritten(output) == 0)
        return 0;
    if (!output->regular)
        return write_stream(output);
    output->sync_ms = MIN(output->sync_ms, now_ms + SYNC_MS);
    return write_file(output);
}

int output_sync(struct output *output, bool always, int64_t now_ms)
{
    if (output->sync_ms == INT64_MAX || (!always && now_ms < output->sync_ms))
        return 0;
    output->sync_ms = INT64_MAX;
    return fdatasync(output->fd) < 0 && errno != EINVAL ? -errno : 0;
}
