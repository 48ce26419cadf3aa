/* SPDX-License-Identifier: MIT */
#pragma once
/* Memory for jansson's parser that cannot run out.
 *
 * The lexer of jansson 2.14 saves each byte of a token in a buffer, and ignores that the buffer
 * could not grow. The token then lacks bytes: a number has another value, and behind a string that
 * lacks its closing quote the lexer reads and writes on beyond the buffer (upstream issue 362). So
 * the parser must never see an allocation fail.
 *
 * A bound of what a text can take is known before it is parsed (json.c). A block of that size is at
 * hand while the parser runs. The parser's memory comes from the usual allocator, and from the
 * block once that has none. A text for which the block was needed is refused as a shortage, so that
 * nothing outlives the block. The pages of the block are not touched unless they are needed. */

#include <stdbool.h>
#include <stddef.h>

/* Keeps SIZE bytes ready until json_guard_end(). Parses do not nest. 0 or -ENOMEM. */
int json_guard_begin(size_t size);

/* Whether an allocation has failed since json_guard_begin(). What was parsed must be released
 * before json_guard_end() then. */
bool json_guard_was_needed(void);

void json_guard_end(void);
