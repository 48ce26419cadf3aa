/* SPDX-License-Identifier: MIT */
#pragma once
/* Rows of cells, laid out for a terminal of any width. Foreign text in them is shown and never
 * obeyed. */

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#define TABLE_COLUMNS_MAX 12

struct table_column {
    const char *heading;
    size_t width;  /* at least */
    size_t most;   /* up to this it takes what is left; 0: nothing */
    unsigned rank; /* where there is no room the highest goes first; 0 never */
    bool right;
};

struct table {
    FILE *out;
    const struct table_column *columns;
    size_t n;
    size_t widths[TABLE_COLUMNS_MAX]; /* 0: left out */
};

/* N COLUMNS, borrowed, for lines of at most WIDTH characters. */
void table_init(struct table *table, FILE *out, const struct table_column *columns, size_t n,
                size_t width);

void table_put_headings(const struct table *table);

/* The N CELLS and a line feed; NULL is an empty one. The last one has COLOUR, a parameter of SGR,
 * or NULL. */
void table_put_row(const struct table *table, const char *const *cells, const char *colour);
