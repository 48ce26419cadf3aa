/* SPDX-License-Identifier: MIT */
#pragma once
/* Renders a batch's progress as a few rows for a terminal of any width. Pure. */

#include "proto/util.h"

#include <stdbool.h>
#include <stdint.h>

#define PROGRESS_ROWS 3
#define PROGRESS_COLUMNS_MAX 160
/* Bytes of a row; a character may take four. */
#define PROGRESS_ROW_SIZE (4 * PROGRESS_COLUMNS_MAX + 1)
#define PROGRESS_SLOW_MAX 8

struct progress_job {
    const char *id; /* foreign text */
    int64_t ms;     /* how long it has run */
};

struct progress_view {
    uint64_t done;
    uint64_t total; /* 0: unknown */
    bool about;     /* the total is an estimate */
    uint64_t passed;
    uint64_t failed;
    uint64_t errors;
    size_t in_flight;
    size_t waiting; /* jobs that wait for another attempt */
    double rate;    /* jobs/s */
    double cost_usd;
    int64_t elapsed_ms;
    const char *state; /* a word or two about an unusual state; NULL: none */
    struct progress_job slow[PROGRESS_SLOW_MAX]; /* slowest first */
    size_t n_slow;
};

struct progress_rows {
    char text[PROGRESS_ROWS][PROGRESS_ROW_SIZE];
    size_t columns[PROGRESS_ROWS]; /* upper bound of what each row takes */
    size_t n;
};

/* Renders rows of at most COLUMNS, which is at least 1, and at most PROGRESS_COLUMNS_MAX. */
void progress_render(const struct progress_view *view, size_t columns, struct progress_rows *ret);

/* Renders one line for a log, without a newline, in at most SIZE bytes including the NUL. */
void progress_render_plain(const struct progress_view *view, char *ret, size_t size);
