/* SPDX-License-Identifier: MIT */
#pragma once
/* What extraction does before it looks for fences, and the characters that both steps tell apart.
 * extraction.h has the rules. */

#include "bytes.h"

#include <stdbool.h>
#include <string.h>

static inline bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

static inline bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static inline bool is_word(char c)
{
    return is_letter(c) || (c >= '0' && c <= '9') || (unsigned char)c >= 0x80;
}

static inline bool begins_with(const char *text, size_t n, const char *word)
{
    size_t length = strlen(word);
    return n >= length && memcmp(text, word, length) == 0;
}

/* Copies N bytes of TEXT without thoughts, byte order mark, the CR of each CRLF, and the end marks
 * that end it. Takes linear time. 0 or -ENOMEM; the caller owns *ret, which has room for N bytes.
 */
int extraction_clean(const char *text, size_t n, struct bytes *ret);

/* Returns the end of what stands between AT and END without the end marks and blanks that end it.
 */
size_t extraction_skip_end_marks(const char *text, size_t at, size_t end);
