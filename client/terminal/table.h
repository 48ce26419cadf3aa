/* SPDX-License-Identifier: MIT */
#pragma once
/* Lays out rows of cells for a terminal of any width. Cells may hold foreign text. */

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#define TABLE_COLUMNS_MAX 12

struct table_column {
    const char *heading;
    size_t width;  /* minimum */
    size_t most;   /* grows up to this if there is room; 0: does not grow */
    unsigned rank; /* the highest is left out first if room is short; 0: never */
    bool right;
};

struct table {
    FILE *out;
    const struct table_column *columns;
    size_t n;
    size_t widths[TABLE_COLUMNS_MAX]; /* 0: left out */
};

/* Chooses the widths of N COLUMNS, borrowed, for lines of at most WIDTH characters. */
void table_init(struct table *table, FILE *out, const struct table_column *columns, size_t n,
                size_t width);

void table_put_headings(const struct table *table);

/* Writes the N CELLS and a line feed; NULL is an empty cell. Writes the last non-empty cell in
 * COLOUR, a parameter of SGR; NULL: none. */
void table_put_row(const struct table *table, const char *const *cells, const char *colour);
