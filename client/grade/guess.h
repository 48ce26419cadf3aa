/* SPDX-License-Identifier: MIT */
#pragma once
/* What files and records that cannot be read were meant to be: for messages. Pure. */

#include "proto/fault.h"

#include <jansson.h>
#include <stdbool.h>

/* Refuses the N bytes of TEXT, the beginning of a file, if they are not text in UTF-8: compressed,
 * of another encoding, Parquet; and if they are an object that has several lines, or, if the file
 * is to have LINES, one JSON array. -EINVAL with FAULT, which says what it is. */
int guess_check_text(const char *text, size_t n, bool lines, struct fault *fault);

/* Says in FAULT why RECORD is of no known format. -EINVAL. */
int guess_record(const json_t *record, struct fault *fault);

/* Whether NAME is MEANT, misspelled: with other separators or capitals, or a letter or two wrong.
 */
bool guess_is_near(const char *name, const char *meant);

/* The first member of OBJECT that is MEANT, misspelled; NULL: there is none. */
const char *guess_member(const json_t *object, const char *meant);
