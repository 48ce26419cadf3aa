/* SPDX-License-Identifier: MIT */
#pragma once
/* Base64 with the standard alphabet and padding (RFC 4648, section 4). */

#include "json.h"

/* Decodes N bytes strictly: no line breaks or other stray bytes, no missing or surplus padding, no
 * bits set that the padding leaves unused, so that no two texts stand for the same bytes.
 * 0, -EINVAL, -ENOMEM. */
int base64_decode(const char *text, size_t n, struct bytes *ret);

/* Encodes N bytes; 0 or -ENOMEM. */
int base64_encode(const char *data, size_t n, struct bytes *ret);
