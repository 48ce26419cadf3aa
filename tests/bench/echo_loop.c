/* SPDX-License-Identifier: MIT */
/* The baseline of the protocol: a server that only reads and writes frames.
 *
 *     echo-loop SOCKET ANSWER
 *
 * Listens on SOCKET, prints `ready`, and serves one connection after the other until killed. Sends
 * a `hello`, then the same ANSWER to each frame. */
#include "measured.h"

#include "proto/frame.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

struct buffers {
    char in[256u << 10], out[256u << 10];
};

struct answer {
    char frame[8192];
    size_t size;
};

static bool encode(const char *text, struct answer *ret)
{
    size_t n = strlen(text);
    if (n > sizeof(ret->frame) - FRAME_HEADER_SIZE)
        return false;
    frame_write_header((uint8_t *)ret->frame, (uint32_t)n);
    memcpy(ret->frame + FRAME_HEADER_SIZE, text, n);
    ret->size = FRAME_HEADER_SIZE + n;
    return true;
}

static bool write_all(int fd, const char *data, size_t n)
{
    while (n > 0) {
        ssize_t sent = send(fd, data, n, MSG_NOSIGNAL);
        if (sent < 0)
            return false;
        data += sent;
        n -= (size_t)sent;
    }
    return true;
}

/* Returns the number of whole frames in DATA and their total size in bytes. */
static size_t count_frames(const char *data, size_t n, size_t *ret_size)
{
    size_t at = 0, count = 0;
    uint32_t length;
    while (n - at >= FRAME_HEADER_SIZE) {
        if (frame_read_header((const uint8_t *)data + at, UINT32_MAX, &length) != FRAME_OK ||
            n - at - FRAME_HEADER_SIZE < length)
            break;
        at += FRAME_HEADER_SIZE + length;
        count++;
    }
    *ret_size = at;
    return count;
}

static void serve(int fd, const struct answer *answer, struct buffers *buffers)
{
    char *in = buffers->in, *out = buffers->out;
    size_t have = 0, used;
    struct answer hello;
    if (!encode("{\"type\":\"hello\"}", &hello) || !write_all(fd, hello.frame, hello.size))
        return;
    for (;;) {
        ssize_t n = recv(fd, in + have, sizeof(buffers->in) - have, 0);
        if (n <= 0)
            return;
        have += (size_t)n;
        size_t frames = count_frames(in, have, &used), filled = 0;
        have -= used;
        memmove(in, in + used, have);
        for (; frames > 0; frames--) {
            if (filled + answer->size > sizeof(buffers->out)) {
                if (!write_all(fd, out, filled))
                    return;
                filled = 0;
            }
            memcpy(out + filled, answer->frame, answer->size);
            filled += answer->size;
        }
        if (!write_all(fd, out, filled))
            return;
    }
}

int main(int argc, char **argv)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    struct answer answer;
    if (argc != 3 || strlen(argv[1]) >= sizeof(address.sun_path) || !encode(argv[2], &answer)) {
        (void)fprintf(stderr, "usage: echo-loop SOCKET ANSWER\n");
        return 2;
    }
    memcpy(address.sun_path, argv[1], strlen(argv[1]));
    struct buffers *buffers = malloc(sizeof(*buffers));
    int listening = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (!buffers || listening < 0 ||
        bind(listening, (struct sockaddr *)&address, sizeof(address)) < 0 ||
        listen(listening, 1) < 0) {
        perror("echo-loop");
        return 1;
    }
    (void)printf("ready\n");
    (void)fflush(stdout);
    for (;;) {
        int fd = accept(listening, NULL, NULL);
        if (fd < 0)
            break;
        serve(fd, &answer, buffers);
        (void)close(fd);
    }
    free(buffers);
    return 1;
}
