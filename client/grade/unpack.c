/* SPDX-License-Identifier: MIT */
#include "unpack.h"
#include "pickle.h"

#include "proto/base64.h"

#include <assert.h>
#include <limits.h>
#include <string.h>
#include <zlib.h>

#define ROOM_FIRST ((size_t)16 << 10)

/* Makes room for more behind STREAM's output; at most MAX bytes altogether. */
static int grow(z_stream *stream, struct bytes *out, size_t max)
{
    size_t used = out->length, room = MIN(MAX(2 * used, ROOM_FIRST), max);
    if (room == used)
        return -EFBIG;
    char *grown = realloc(out->data, room + 1);
    if (!grown)
        return -ENOMEM;
    out->data = grown;
    out->length = room;
    stream->next_out = (unsigned char *)grown + used;
    stream->avail_out = (uInt)(room - used);
    return 0;
}

/* Returns what inflate() said at last: Z_STREAM_END, or why that is not reached. */
static int inflate_all(z_stream *stream, struct bytes *out, size_t max)
{
    int said = Z_OK, r = 0;
    while (r == 0 && said == Z_OK) {
        if (stream->avail_out == 0)
            r = grow(stream, out, max);
        if (r == 0)
            said = inflate(stream, Z_NO_FLUSH);
    }
    if (r < 0)
        return r;
    if (said == Z_MEM_ERROR)
        return -ENOMEM;
    if (said == Z_BUF_ERROR)
        return -ENODATA;
    return said == Z_STREAM_END && stream->avail_in == 0 ? 0 : -EBADMSG;
}

int unpack_inflate(const char *data, size_t n, size_t max, struct bytes *ret)
{
    _cleanup_bytes_ struct bytes out = BYTES_NULL;
    z_stream stream = {.avail_in = (uInt)n};
    if (n > UINT_MAX || max > UINT_MAX)
        return -EFBIG;
    _cleanup_free_ unsigned char *fed = malloc(MAX(n, (size_t)1));
    if (!fed)
        return -ENOMEM;
    memcpy(fed, data, n); /* zlib's pointer is not const */
    stream.next_in = fed;
    if (inflateInit(&stream) != Z_OK)
        return -ENOMEM;
    int r = inflate_all(&stream, &out, max);
    out.length -= out.data ? stream.avail_out : 0;
    (void)inflateEnd(&stream);
    if (r < 0)
        return r;
    assert(out.data); /* inflate_all() has made room */
    out.data[out.length] = '\0';
    *ret = TAKE_STRUCT(out, BYTES_NULL);
    return 0;
}

static const char *in_words(int e)
{
    return e == EFBIG     ? "its tests are larger than 128 MiB"
           : e == ENODATA ? "the compressed data ends too early"
                          : "base64, but not of data that zlib has compressed";
}

int unpack_text(const char *text, size_t n, const char *key, struct bytes *ret, struct fault *fault)
{
    _cleanup_bytes_ struct bytes packed = BYTES_NULL, pickled = BYTES_NULL;
    const char *found = NULL;
    size_t found_n = 0;
    int r = base64_decode(text, n, &packed);
    if (r == -EINVAL)
        return fault_set(fault, "neither JSON nor base64");
    if (r == 0)
        r = unpack_inflate(packed.data, packed.length, UNPACK_MAX, &pickled);
    if (r == -ENOMEM)
        return r;
    if (r < 0)
        return fault_set(fault, "%s", in_words(-r));
    r = pickle_read_text(pickled.data, pickled.length, key, &found, &found_n, fault);
    return r < 0 ? r : bytes_copy(found, found_n, ret);
}
