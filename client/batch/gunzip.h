/* SPDX-License-Identifier: MIT */
#pragma once
/* Compressed files (gzip, also several members one after another) to what they hold. */

#include <event2/buffer.h>
#include <stdbool.h>
#include <zlib.h>

/* Bytes to feed at a time: deflate makes at most about a thousand of one, so that what is inflated
 * by one call is bounded, too. */
#define GUNZIP_FEED_MAX 4096

struct gunzip {
    z_stream stream;
    bool between; /* no member is open: the file may end here, or another member begin */
};

/* Whether the name of a file says that it is compressed: it ends in ".gz". */
bool gunzip_wanted(const char *path);

/* NULL when memory runs out. */
struct gunzip *gunzip_new(void);
struct gunzip *gunzip_free(struct gunzip *gunzip);

/* Appends what N bytes inflate to. 0, -EBADMSG where they are not gzip (and with each call that
 * follows), -ENOMEM. */
int gunzip_feed(struct gunzip *gunzip, const char *data, size_t n, struct evbuffer *out);

/* At the end of the file: 0, or -ENODATA where something is missing. */
int gunzip_end(const struct gunzip *gunzip);

/* What errno E means for a file that is read, compressed or not. */
const char *gunzip_strerror(int e);
