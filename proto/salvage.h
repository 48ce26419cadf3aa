/* SPDX-License-Identifier: MIT */
#pragma once
/* What can be told of a message that json_read_object() refuses: whose answer the error is, and
 * which member is wrong. */

#include <jansson.h>
#include <stddef.h>

#define SALVAGE_PATH_MAX 160

struct salvage {
    json_t *id;                  /* a string; NULL: there is none, or which one it is is unsure */
    char path[SALVAGE_PATH_MAX]; /* "job.case.score[3]"; empty: unknown */
};

/* Looks through the N bytes at TEXT, which are refused for what stands just before offset AT.
 *
 * Words, numbers and the contents of strings may be wrong; brackets, colons, commas and quotes must
 * be where JSON has them, to the last byte. Otherwise nobody knows which string is a member of the
 * outermost object, and there is no id. Nor is there one if `id` stands there twice, is not a
 * string, or is not 1 to ID_MAX bytes of UTF-8 when decoded.
 *
 * Takes one pass and no memory but that of the id, which the caller owns. */
void salvage_read(const char *text, size_t n, size_t at, size_t id_max, struct salvage *ret);
