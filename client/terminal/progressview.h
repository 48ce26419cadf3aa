/* SPDX-License-Identifier: MIT */
#pragma once
/* How far a batch has got, as a few lines for a terminal of any width. Pure. */

#include "proto/util.h"

#include <stdbool.h>
#include <stdint.h>

#define PROGRESS_ROWS 3
#define PROGRESS_COLUMNS_MAX 160
/* Bytes of a row: a character may take four. */
#define PROGRESS_ROW_SIZE (4 * PROGRESS_COLUMNS_MAX + 1)
#define PROGRESS_SLOW_MAX 8

struct progress_job {
    const char *id; /* foreign: it is shown and never obeyed */
    int64_t ms;     /* how long it runs */
};

struct progress_view {
    uint64_t done;
    uint64_t total; /* 0: not known */
    bool about;     /* the total is an estimate */
    uint64_t passed;
    uint64_t failed;
    uint64_t errors;
    size_t in_flight;
    size_t waiting; /* for another attempt */
    double rate;    /* jobs/s */
    double cost_usd;
    int64_t elapsed_ms;
    const char *state; /* what is unusual, in a word or two; NULL: nothing */
    struct progress_job slow[PROGRESS_SLOW_MAX]; /* the slowest first */
    size_t n_slow;
};

struct progress_rows {
    char text[PROGRESS_ROWS][PROGRESS_ROW_SIZE];
    size_t columns[PROGRESS_ROWS]; /* that they take at most */
    size_t n;
};

/* No row takes more than COLUMNS, which is at least 1; not more than PROGRESS_COLUMNS_MAX are used.
 */
void progress_render(const struct progress_view *view, size_t columns, struct progress_rows *ret);

/* One line for a log, without a newline, at most SIZE bytes with the NUL. */
void progress_render_plain(const struct progress_view *view, char *ret, size_t size);
