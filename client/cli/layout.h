/* SPDX-License-Identifier: MIT */
#pragma once
/* Text of help, laid out for a terminal of any width.
 *
 * Lines that begin in the first column are paragraphs; they are broken anew. An indented line whose
 * first word has two blanks behind it, "  130  interrupted", is an item: what does not fit goes
 * below its text, and so does what follows with that indentation. */

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* The columns that help may use on OUT: those of the terminal, at most 80, where it is one,
 * otherwise 80. */
size_t layout_columns(FILE *out);

/* Writes TEXT in COLUMNS. Other indented lines are shown as they are, for they are examples, unless
 * PROSE is set: then they are paragraphs, too. */
void layout_put(FILE *out, const char *text, bool prose, size_t columns);
