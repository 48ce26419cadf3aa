/* SPDX-License-Identifier: MIT */
#include "case_digest.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool case_digest_read(const char *text, struct case_digest *ret)
{
    struct case_digest digest;
    for (size_t i = 0; text && i < CASE_DIGEST_BYTES; i++) {
        int high = hex_digit(text[2 * i]), low = high < 0 ? -1 : hex_digit(text[2 * i + 1]);
        if (low < 0)
            return false;
        digest.bytes[i] = (unsigned char)(16 * high + low);
    }
    if (text)
        *ret = digest;
    return text != NULL;
}

const char *case_digest_print(const struct case_digest *digest, char out[CASE_DIGEST_HEX])
{
    for (size_t i = 0; i < CASE_DIGEST_BYTES; i++)
        (void)snprintf(out + 2 * i, 3, "%02x", digest->bytes[i]);
    return out;
}

bool case_digest_is_known(const struct case_digest *digest)
{
    static const struct case_digest unknown;
    return memcmp(digest, &unknown, sizeof(unknown)) != 0;
}

bool case_digest_differs(const struct case_digest *a, const struct case_digest *b)
{
    return case_digest_is_known(a) && case_digest_is_known(b) && memcmp(a, b, sizeof(*a)) != 0;
}
