/* SPDX-License-Identifier: MIT */
#pragma once
/* SHA-256 of a case's content, in binary. Pure. */

#include <stdbool.h>

#define CASE_DIGEST_BYTES 32
#define CASE_DIGEST_HEX (2 * CASE_DIGEST_BYTES + 1) /* with the NUL */

/* All zero: not known, as in memory from calloc(). */
struct case_digest {
    unsigned char bytes[CASE_DIGEST_BYTES];
};

/* Reads lowercase hexadecimal digits. Returns false, and leaves *RET alone, if TEXT is NULL or
 * anything else. */
bool case_digest_read(const char *text, struct case_digest *ret);

/* Writes lowercase hexadecimal digits. Returns OUT. */
const char *case_digest_print(const struct case_digest *digest, char out[CASE_DIGEST_HEX]);

bool case_digest_is_known(const struct case_digest *digest);

/* Returns true only if both are known and they differ. */
bool case_digest_differs(const struct case_digest *a, const struct case_digest *b);
