/* SPDX-License-Identifier: MIT */
#include "utf8.h"
#include "util.h"

#include <stdbool.h>
#include <string.h>

int utf8_sequence(const char *text, size_t n)
{
    const unsigned char *s = (const unsigned char *)text;
    unsigned char lead = s[0], low = 0x80, high = 0xBF;
    int need;

    if (lead < 0x80)
        return 1;
    if (lead < 0xC2 || lead > 0xF4)
        return -1;
    need = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
    if (lead == 0xE0)
        low = 0xA0; /* no overlong forms */
    else if (lead == 0xED)
        high = 0x9F; /* no surrogates */
    else if (lead == 0xF0)
        low = 0x90; /* no overlong forms */
    else if (lead == 0xF4)
        high = 0x8F; /* nothing above U+10FFFF */

    for (int i = 1; i < need; i++) {
        if ((size_t)i >= n || s[i] < low || s[i] > high)
            return -i;
        low = 0x80;
        high = 0xBF;
    }
    return need;
}

unsigned utf8_code_point(const char *text, size_t n)
{
    static const unsigned char masks[] = {0, 0x7F, 0x1F, 0x0F, 0x07};
    const unsigned char *s = (const unsigned char *)text;
    unsigned point = s[0] & masks[n];
    for (size_t i = 1; i < n; i++)
        point = point << 6 | (s[i] & 0x3F);
    return point;
}

char *utf8_replace(const char *bytes, size_t n, size_t *ret_length)
{
    static const char replacement[3] = "\xEF\xBF\xBD";
    /* At worst each byte becomes the three bytes of U+FFFD. */
    char *out = n < SIZE_MAX / 3 - 1 ? malloc(n * 3 + 1) : NULL;
    if (!out)
        return NULL;

    size_t length = 0;
    for (size_t i = 0; i < n;) {
        int step = utf8_sequence(bytes + i, n - i);
        if (step > 0) {
            memcpy(out + length, bytes + i, (size_t)step);
            length += (size_t)step;
        } else {
            memcpy(out + length, replacement, sizeof(replacement));
            length += sizeof(replacement);
            step = -step;
        }
        i += (size_t)step;
    }
    out[length] = '\0';
    *ret_length = length;

    char *fitted = realloc(out, length + 1);
    return fitted ? fitted : out;
}

size_t utf8_cut(const char *text, size_t n, size_t max)
{
    if (n <= max)
        return n;
    while (max > 0 && ((unsigned char)text[max] & 0xC0) == 0x80)
        max--;
    return max;
}
