/* SPDX-License-Identifier: MIT */
#pragma once
/* Parts of an output: lines, tokens, blanks, as C and as Python see them. Pure. */

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* A part of somebody else's text. */
struct span {
    const char *at, *end;
};

static inline size_t span_length(struct span span)
{
    return (size_t)(span.end - span.at);
}

static inline bool span_equal(struct span a, struct span b)
{
    return span_length(a) == span_length(b) &&
           (span_length(a) == 0 || memcmp(a.at, b.at, span_length(a)) == 0);
}

/* Goes through the lines of a text as Python's text.split("\n") gives them: an empty text has one
 * line, and behind a last line feed comes an empty one. */
struct lines {
    struct span rest;
    bool done;
};

bool text_next_line(struct lines *lines, struct span *ret);

/* Returns the bytes of the blank at AT, or 0 if there is no blank. Knows the blanks of Unicode, as
 * Python's str.isspace() does. AT < END. */
size_t text_blank(const char *at, const char *end);

/* Returns the bytes of the line break at AT, or 0 if there is none. Knows the breaks of Python's
 * str.splitlines(), for which a carriage return and a line feed are one. AT < END. */
size_t text_break(const char *at, const char *end);

/* Returns TEXT without the blanks around it, as Python's str.strip(). */
struct span text_strip(struct span text);

/* Takes the next token of *rest, as Python's str.split() finds them. */
bool text_token(struct span *rest, struct span *ret);

/* Takes the next token of *rest between bytes of BLANKS. */
bool text_token_between(struct span *rest, const char *blanks, struct span *ret);

/* Returns the bytes of the decimal digit at AT in UTF-8, and its value as Python's
 * unicodedata.decimal() gives it in Unicode 14; 0 if there is no digit. AT < END. */
size_t text_digit(const char *at, const char *end, int *ret_value);
