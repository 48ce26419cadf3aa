/* SPDX-License-Identifier: MIT */
#pragma once
/* Lays out --help, and other text for people, in the columns of a terminal. */

#include "optionspec.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* Returns the columns that help may use on OUT: those of the terminal, at least 32 and at most 80;
 * 80 if OUT is no terminal. */
size_t layout_columns(FILE *out);

/* Breaks TEXT at its spaces into lines of at most COLUMNS and ends with a newline. The cursor is at
 * column FIRST already; every further line is indented by INDENT. A word wider than a line gets a
 * line of its own. */
void layout_words(FILE *out, const char *text, size_t first, size_t indent, size_t columns);

/* How the words of a text are measured and written; layout_words() takes them byte for byte. */
struct layout_writer {
    size_t (*columns)(const char *word, size_t n);
    void (*put)(FILE *out, const char *word, size_t n);
};

/* Does what layout_words() does, with the words measured and written by WRITER. */
void layout_words_with(FILE *out, const char *text, size_t first, size_t indent, size_t columns,
                       const struct layout_writer *writer);

/* Writes TEXT in COLUMNS.
 *
 * Lines that begin in the first column form paragraphs, which are filled anew. An indented line
 * whose first word has two spaces behind it, "  130  interrupted", is an item: its text is filled
 * to the right of the word, together with the following lines that are indented as far. Any other
 * indented line is an example and is kept as it is; with PROSE it forms paragraphs too. */
void layout_put(FILE *out, const char *text, bool prose, size_t columns);

/* How a program shows an option with a value: the column at which explanations begin, and what
 * separates the name from the value. On a narrow terminal explanations go below the option. */
struct layout_style {
    size_t column;
    char separator; /* '=' or ' ' */
};

/* Writes each of the N options of SPECS with its explanation. */
void layout_put_options(FILE *out, const struct option_spec *specs, size_t n,
                        const struct layout_style *style, size_t columns);
