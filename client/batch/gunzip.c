/* SPDX-License-Identifier: MIT */
#include "gunzip.h"

#include "proto/util.h"

#include <string.h>

/* For inflateInit2(): the largest window, and 16 for a gzip header. */
#define WINDOW_GZIP (15 + 16)
#define STEP 16384

bool gunzip_wanted(const char *path)
{
    size_t n = strlen(path);
    return n > 3 && strcmp(path + n - 3, ".gz") == 0;
}

struct gunzip *gunzip_new(void)
{
    struct gunzip *gunzip = calloc(1, sizeof(*gunzip));
    if (!gunzip || inflateInit2(&gunzip->stream, WINDOW_GZIP) != Z_OK) {
        free(gunzip);
        return NULL;
    }
    return gunzip;
}

struct gunzip *gunzip_free(struct gunzip *gunzip)
{
    if (gunzip)
        (void)inflateEnd(&gunzip->stream);
    free(gunzip);
    return NULL;
}

/* Inflates at most STEP bytes. */
static int inflate_step(struct gunzip *gunzip, struct evbuffer *out)
{
    unsigned char made[STEP];
    gunzip->stream.next_out = made;
    gunzip->stream.avail_out = sizeof(made);
    gunzip->between = false;
    int r = inflate(&gunzip->stream, Z_NO_FLUSH);
    if (r == Z_MEM_ERROR)
        return -ENOMEM;
    if (r != Z_OK && r != Z_STREAM_END && r != Z_BUF_ERROR)
        return -EBADMSG;
    gunzip->between = r == Z_STREAM_END;
    return evbuffer_add(out, made, sizeof(made) - gunzip->stream.avail_out) < 0 ? -ENOMEM : 0;
}

int gunzip_feed(struct gunzip *gunzip, const char *data, size_t n, struct evbuffer *out)
{
    _cleanup_free_ unsigned char *fed = malloc(MAX(n, 1));
    if (!fed)
        return -ENOMEM;
    memcpy(fed, data, n); /* zlib's pointer is not const */
    gunzip->stream.next_in = fed;
    gunzip->stream.avail_in = (uInt)n;
    while (gunzip->stream.avail_in > 0) {
        if (gunzip->between)
            (void)inflateReset(&gunzip->stream); /* cannot fail: the stream is sound */
        int r = inflate_step(gunzip, out);
        if (r < 0)
            return r;
    }
    return 0;
}

int gunzip_end(const struct gunzip *gunzip)
{
    return gunzip->between ? 0 : -ENODATA;
}

const char *gunzip_strerror(int e)
{
    if (e == EBADMSG)
        return "not gzip, or damaged";
    return e == ENODATA ? "the compressed file ends too early" : strerror(e);
}
