/* SPDX-License-Identifier: MIT */
#pragma once
/* Reads a text file line by line and checks each line before anything interprets it: its length,
 * control characters, UTF-8. Never splits a line and never drops one silently. */

#include "proto/fault.h"

#include <stdio.h>

/* The most bytes in a line, without its end. */
#define LINES_LINE_MAX 1024

/* The most bytes in a file; ends the reading of what is no configuration (/dev/zero, a core dump).
 */
#define LINES_FILE_MAX (1u << 20)

struct lines {
    FILE *stream;
    unsigned number; /* of the last line, from 1 */
    size_t total;    /* bytes read */
    size_t length;
    char text[LINES_LINE_MAX + 2]; /* the last line, with room for a CR and a NUL */
};

/* STREAM stays the caller's. */
void lines_init(struct lines *lines, FILE *stream);

/* Reads the next line into lines->text, without its LF or CRLF and without a byte order mark at
 * the head of the file; tabs are the only control characters in it. The last line may lack its
 * end. Returns 1; 0 at the end of the file; -EINVAL with WHY for a line that breaks a rule, after
 * which the next call reads the next line. Any other error ends the file: -EFBIG above
 * LINES_FILE_MAX, or the errno of the read. */
int lines_next(struct lines *lines, struct fault *why);

/* Checks the characters of a line of N bytes, as lines_next() does: 0; -EINVAL with WHY; -ENOMEM.
 */
int lines_check(const char *text, size_t n, struct fault *why);
