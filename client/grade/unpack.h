/* SPDX-License-Identifier: MIT */
#pragma once
/* Unpacks tests that a data set packs as base64 of zlib of a pickle of a text. Pure. */

#include "proto/bytes.h"
#include "proto/fault.h"

/* Bytes that the tests of one task may have when they are unpacked. The largest of LiveCodeBench
 * have some 60 MB. */
#define UNPACK_MAX ((size_t)128 << 20)

/* Inflates the N bytes of DATA, one zlib stream and nothing more, to at most MAX bytes. 0; -EFBIG;
 * -ENODATA if the stream ends too early; -EBADMSG if DATA is not a zlib stream or has more behind
 * it; -ENOMEM. The caller owns *ret. */
int unpack_inflate(const char *data, size_t n, size_t max, struct bytes *ret);

/* Unpacks the N bytes of TEXT. KEY as in pickle_read_text(). -EINVAL with FAULT, or -ENOMEM; the
 * caller owns *ret. */
int unpack_text(const char *text, size_t n, const char *key, struct bytes *ret,
                struct fault *fault);
