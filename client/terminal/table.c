/* SPDX-License-Identifier: MIT */
#include "table.h"
#include "text.h"

#include <assert.h>
#include <string.h>

#define BETWEEN 2

static size_t total_width(const struct table *table)
{
    size_t total = 0;
    for (size_t i = 0; i < table->n; i++)
        if (table->widths[i] > 0)
            total += table->widths[i] + (total > 0 ? BETWEEN : 0);
    return total;
}

/* Leaves out the least needed column; false if all must stay. */
static bool leave_one_out(struct table *table)
{
    size_t worst = table->n;
    for (size_t i = 0; i < table->n; i++)
        if (table->widths[i] > 0 && table->columns[i].rank > 0 &&
            (worst == table->n || table->columns[i].rank > table->columns[worst].rank))
            worst = i;
    if (worst == table->n)
        return false;
    table->widths[worst] = 0;
    return true;
}

void table_init(struct table *table, FILE *out, const struct table_column *columns, size_t n,
                size_t width)
{
    assert(n <= TABLE_COLUMNS_MAX);
    *table = (struct table){.out = out, .columns = columns, .n = n};
    for (size_t i = 0; i < n; i++)
        table->widths[i] = columns[i].width;
    while (total_width(table) > width && leave_one_out(table))
        continue;
    bool grown = true;
    for (size_t left = width - MIN(width, total_width(table)); left > 0 && grown;) {
        grown = false;
        for (size_t i = 0; i < n && left > 0; i++) {
            if (table->widths[i] > 0 && table->widths[i] < columns[i].most) {
                table->widths[i]++;
                left--;
                grown = true;
            }
        }
    }
}

static size_t last_shown(const struct table *table)
{
    size_t last = 0;
    for (size_t i = 0; i < table->n; i++)
        if (table->widths[i] > 0)
            last = i;
    return last;
}

static void put_cell(const struct table *table, size_t i, const char *cell, bool last)
{
    size_t width = table->widths[i], used = MIN(text_columns(cell, strlen(cell)), width);
    if (table->columns[i].right)
        (void)fprintf(table->out, "%*s", (int)(width - used), "");
    used = text_put_fit(table->out, cell, width);
    if (!last && !table->columns[i].right)
        (void)fprintf(table->out, "%*s", (int)(width - used), "");
}

void table_put_row(const struct table *table, const char *const *cells, const char *colour)
{
    size_t last = last_shown(table);
    /* Empty cells at the end would be spaces at the end of the line. */
    while (last > 0 && (table->widths[last] == 0 || !cells[last] || !*cells[last]))
        last--;
    for (size_t i = 0; i <= last; i++) {
        if (table->widths[i] == 0)
            continue;
        if (i == last && colour)
            (void)fprintf(table->out, "\033[%sm", colour);
        put_cell(table, i, cells[i] ? cells[i] : "", i == last);
        if (i == last && colour)
            (void)fputs("\033[0m", table->out);
        if (i < last)
            (void)fprintf(table->out, "%*s", BETWEEN, "");
    }
    (void)fputc('\n', table->out);
}

void table_put_headings(const struct table *table)
{
    const char *cells[TABLE_COLUMNS_MAX] = {NULL};
    for (size_t i = 0; i < table->n; i++)
        cells[i] = table->columns[i].heading;
    table_put_row(table, cells, NULL);
}
