/* SPDX-License-Identifier: MIT */
#pragma once
/* Base64 with the standard alphabet and padding (RFC 4648, section 4). */

#include "json.h"

/* Decodes N bytes strictly, so that each value has exactly one encoding: refuses line breaks, stray
 * bytes, missing or surplus padding, and bits set that the padding leaves unused. 0, -EINVAL or
 * -ENOMEM. */
int base64_decode(const char *text, size_t n, struct bytes *ret);

/* Encodes N bytes; 0 or -ENOMEM. */
int base64_encode(const char *data, size_t n, struct bytes *ret);
