/* SPDX-License-Identifier: MIT */
#include "digest.h"

#include <fcntl.h>
#include <sha2.h>
#include <string.h>
#include <sys/stat.h>

static int feed(const char *text, size_t n, void *context)
{
    SHA256Update(context, (const uint8_t *)text, n);
    return 0;
}

int digest_json(const json_t *value, char ret[DIGEST_SIZE])
{
    SHA2_CTX context;
    SHA256Init(&context);
    if (json_dump_callback(value, feed, &context, JSON_COMPACT | JSON_SORT_KEYS) < 0)
        return -ENOMEM;
    (void)SHA256End(&context, ret);
    return 0;
}

int digest_file(const char *path, char ret[DIGEST_SIZE])
{
    /* O_NONBLOCK: do not wait for the writer of a fifo. */
    _cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    struct stat st;
    SHA2_CTX context;
    if (fd < 0 || fstat(fd, &st) < 0)
        return -errno;
    if (!S_ISREG(st.st_mode))
        return -ENOTSUP;
    SHA256Init(&context);
    for (;;) {
        uint8_t data[16384];
        ssize_t n = read(fd, data, sizeof(data));
        if (n < 0 && errno != EINTR)
            return -errno;
        if (n == 0)
            break;
        if (n > 0)
            SHA256Update(&context, data, (size_t)n);
    }
    (void)SHA256End(&context, ret);
    return 0;
}

uint64_t digest_head(const char *text)
{
    char head[17];
    char *end;
    if (!text || strlen(text) != DIGEST_SIZE - 1)
        return 0;
    memcpy(head, text, 16);
    head[16] = '\0';
    uint64_t value = strtoull(head, &end, 16);
    return *end ? 0 : value;
}
