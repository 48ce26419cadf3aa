/* SPDX-License-Identifier: MIT */
#pragma once
/* Inflates gzip files, also those of several members. */

#include <event2/buffer.h>
#include <stdbool.h>
#include <zlib.h>

/* Bytes to feed at a time. Deflate makes at most about a thousand bytes of one, so this bounds what
 * one call inflates, too. */
#define GUNZIP_FEED_MAX 4096

struct gunzip {
    z_stream stream;
    bool between; /* between members: the file may end here */
};

/* Whether the name of a file ends in ".gz". */
bool gunzip_wanted(const char *path);

/* Returns NULL when memory runs out. */
struct gunzip *gunzip_new(void);

/* Accepts NULL and returns NULL. */
struct gunzip *gunzip_free(struct gunzip *gunzip);

/* Appends to OUT what N bytes inflate to. 0, -ENOMEM, or -EBADMSG if they are not gzip. After a
 * failure, OUT may have a part of it, and nothing more may be fed. */
int gunzip_feed(struct gunzip *gunzip, const char *data, size_t n, struct evbuffer *out);

/* Ends the file: 0, or -ENODATA if it ended inside a member. */
int gunzip_end(const struct gunzip *gunzip);

/* Describes E, a positive errno, of a file that is read, compressed or not. */
const char *gunzip_strerror(int e);
