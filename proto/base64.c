/* SPDX-License-Identifier: MIT */
#include "base64.h"

#include <stdbool.h>

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/* Returns the six bits that C encodes, or -1. */
static int value_of(char c)
{
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 26;
    if (c >= '0' && c <= '9')
        return c - '0' + 52;
    return c == '+' ? 62 : c == '/' ? 63 : -1;
}

/* Returns how many bytes the padding of the last four characters removes: 0, 1 or 2. */
static unsigned padding(const char *text, size_t n)
{
    if (n == 0 || text[n - 1] != '=')
        return 0;
    return text[n - 2] == '=' ? 2 : 1;
}

/* Decodes four characters, of which the last MISSING are padding, into *ret. */
static bool decode_group(const char *text, unsigned missing, uint32_t *ret)
{
    uint32_t bits = 0;
    for (unsigned i = 0; i < 4; i++) {
        int value = i < 4 - missing ? value_of(text[i]) : 0;
        if (value < 0)
            return false;
        bits = bits << 6 | (uint32_t)value;
    }
    *ret = bits;
    return (bits & ((UINT32_C(1) << 8 * missing) - 1)) == 0;
}

int base64_decode(const char *text, size_t n, struct bytes *ret)
{
    if (n % 4 != 0)
        return -EINVAL;
    unsigned missing = padding(text, n);
    _cleanup_bytes_ struct bytes decoded = {.data = malloc(n / 4 * 3 + 1)};
    if (!decoded.data)
        return -ENOMEM;
    for (size_t i = 0; i < n; i += 4) {
        uint32_t bits;
        unsigned left_out = i + 4 == n ? missing : 0;
        if (!decode_group(text + i, left_out, &bits))
            return -EINVAL;
        for (unsigned k = 0; k < 3 - left_out; k++)
            decoded.data[decoded.length++] = (char)(bits >> (16 - 8 * k) & 0xFF);
    }
    decoded.data[decoded.length] = '\0';
    *ret = decoded;
    decoded = (struct bytes)BYTES_NULL;
    return 0;
}

int base64_encode(const char *data, size_t n, struct bytes *ret)
{
    const unsigned char *bytes = (const unsigned char *)data;
    size_t length = (n + 2) / 3 * 4;
    char *text = malloc(length + 1), *out = text;
    if (!text)
        return -ENOMEM;
    for (size_t i = 0; i < n; i += 3) {
        uint32_t bits = (uint32_t)bytes[i] << 16;
        bits |= i + 1 < n ? (uint32_t)bytes[i + 1] << 8 : 0;
        bits |= i + 2 < n ? (uint32_t)bytes[i + 2] : 0;
        *out++ = alphabet[bits >> 18 & 63];
        *out++ = alphabet[bits >> 12 & 63];
        *out++ = i + 1 < n ? alphabet[bits >> 6 & 63] : '=';
        *out++ = i + 2 < n ? alphabet[bits & 63] : '=';
    }
    *out = '\0';
    *ret = (struct bytes){.data = text, .length = length};
    return 0;
}
