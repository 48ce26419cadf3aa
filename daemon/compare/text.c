/* SPDX-License-Identifier: MIT */
#include "text.h"

#include "proto/utf8.h"
#include "proto/util.h"

bool text_next_line(struct lines *lines, struct span *ret)
{
    if (lines->done)
        return false;
    *ret = lines->rest;
    const char *feed = span_length(lines->rest) > 0
                           ? memchr(lines->rest.at, '\n', span_length(lines->rest))
                           : NULL;
    if (feed) {
        ret->end = feed;
        lines->rest.at = feed + 1;
    } else {
        lines->done = true;
    }
    return true;
}

/* --- Python's idea of characters ---------------------------------------------------------------
 */

/* Returns the code point at AT with its length; a length of 0 if the bytes are no UTF-8. */
static unsigned read_point(const char *at, const char *end, size_t *ret_length)
{
    int length = utf8_sequence(at, (size_t)(end - at));
    *ret_length = length > 0 ? (size_t)length : 0;
    return length > 0 ? utf8_code_point(at, (size_t)length) : 0;
}

size_t text_blank(const char *at, const char *end)
{
    unsigned char c = (unsigned char)*at;
    if (c < 0x80)
        return c == ' ' || (c >= '\t' && c <= '\r') || (c >= 0x1C && c <= 0x1F);
    size_t length;
    unsigned point = read_point(at, end, &length);
    bool blank = point == 0x85 || point == 0xA0 || point == 0x1680 ||
                 (point >= 0x2000 && point <= 0x200A) || point == 0x2028 || point == 0x2029 ||
                 point == 0x202F || point == 0x205F || point == 0x3000;
    return blank ? length : 0;
}

size_t text_break(const char *at, const char *end)
{
    unsigned char c = (unsigned char)*at;
    if (c == '\r')
        return end - at > 1 && at[1] == '\n' ? 2 : 1;
    if (c < 0x80)
        return (c >= '\n' && c <= '\f') || (c >= 0x1C && c <= 0x1E);
    size_t length;
    unsigned point = read_point(at, end, &length);
    return point == 0x85 || point == 0x2028 || point == 0x2029 ? length : 0;
}

/* Returns the length of the blank that ends TEXT, which is not empty; 0: none does. */
static size_t blank_before(struct span text)
{
    for (size_t back = 1; back <= MIN(span_length(text), 3); back++) {
        const char *at = text.end - back;
        if (((unsigned char)*at & 0xC0) != 0x80)
            return text_blank(at, text.end) == back ? back : 0;
    }
    return 0;
}

struct span text_strip(struct span text)
{
    for (size_t n; text.at < text.end && (n = text_blank(text.at, text.end)) > 0;)
        text.at += n;
    for (size_t n; text.at < text.end && (n = blank_before(text)) > 0;)
        text.end -= n;
    return text;
}

static bool is_plain(char c)
{
    return c > ' ' && c <= '~';
}

bool text_token(struct span *rest, struct span *ret)
{
    const char *at = rest->at, *end = rest->end;
    for (size_t n; at < end && !is_plain(*at) && (n = text_blank(at, end)) > 0;)
        at += n;
    ret->at = at;
    while (at < end && (is_plain(*at) || text_blank(at, end) == 0))
        at++;
    ret->end = rest->at = at;
    return ret->at < ret->end;
}

bool text_token_between(struct span *rest, const char *blanks, struct span *ret)
{
    bool is_blank[256] = {false};
    for (; *blanks; blanks++)
        is_blank[(unsigned char)*blanks] = true;
    const char *at = rest->at, *end = rest->end;
    while (at < end && is_blank[(unsigned char)*at])
        at++;
    ret->at = at;
    while (at < end && !is_blank[(unsigned char)*at])
        at++;
    ret->end = rest->at = at;
    return ret->at < ret->end;
}

size_t text_digit(const char *at, const char *end, int *ret_value)
{
    /* The zeros; the other nine digits of a script follow its zero. */
    static const unsigned zeros[] = {
        0x30,    0x660,   0x6f0,   0x7c0,   0x966,   0x9e6,   0xa66,   0xae6,   0xb66,   0xbe6,
        0xc66,   0xce6,   0xd66,   0xde6,   0xe50,   0xed0,   0xf20,   0x1040,  0x1090,  0x17e0,
        0x1810,  0x1946,  0x19d0,  0x1a80,  0x1a90,  0x1b50,  0x1bb0,  0x1c40,  0x1c50,  0xa620,
        0xa8d0,  0xa900,  0xa9d0,  0xa9f0,  0xaa50,  0xabf0,  0xff10,  0x104a0, 0x10d30, 0x11066,
        0x110f0, 0x11136, 0x111d0, 0x112f0, 0x11450, 0x114d0, 0x11650, 0x116c0, 0x11730, 0x118e0,
        0x11950, 0x11c50, 0x11d50, 0x11da0, 0x16a60, 0x16ac0, 0x16b50, 0x1d7ce, 0x1d7d8, 0x1d7e2,
        0x1d7ec, 0x1d7f6, 0x1e140, 0x1e2f0, 0x1e950, 0x1fbf0,
    };
    size_t length;
    unsigned point = read_point(at, end, &length);
    for (size_t i = 0; length > 0 && i < ARRAY_SIZE(zeros) && zeros[i] <= point; i++) {
        if (point - zeros[i] <= 9) {
            *ret_value = (int)(point - zeros[i]);
            return length;
        }
    }
    return 0;
}
