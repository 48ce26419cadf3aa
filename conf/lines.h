/* SPDX-License-Identifier: MIT */
#pragma once
/* The lines of a text file, one at a time, each checked before anybody interprets it: length,
 * NUL and other control characters, UTF-8. Nothing is split and nothing is dropped silently. */

#include "proto/fault.h"

#include <stdio.h>

/* Bytes in a line, without its end. */
#define LINES_LINE_MAX 1024

/* Bytes in a file: a bound for what is no configuration at all (/dev/zero, a core dump). */
#define LINES_FILE_MAX (1u << 20)

struct lines {
    FILE *stream;
    unsigned number; /* of the line read last, from 1 */
    size_t total;    /* bytes read */
    size_t length;
    char text[LINES_LINE_MAX + 2]; /* the line read last: a CR and a NUL have room too */
};

/* STREAM stays the caller's. */
void lines_init(struct lines *lines, FILE *stream);

/* Reads the next line into lines->text, without its LF or CRLF and without a byte order mark at
 * the head of the file. Tabs are the only control characters in it. The last line may lack its
 * end. Returns 1; 0 at the end of the file; -EINVAL for a line that breaks a rule, WHY saying
 * which, after which reading goes on with the next line; any other error ends the file (-EFBIG
 * above LINES_FILE_MAX, or what the read failed with). */
int lines_next(struct lines *lines, struct fault *why);
