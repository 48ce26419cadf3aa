/* SPDX-License-Identifier: MIT */
#pragma once
/* Shows the progress of a batch on stderr: in place a few times a second on a terminal; elsewhere
 * (a pipe, a log, TERM=dumb) as a plain line once a minute. */

#include "client/terminal/progressview.h"

struct progress {
    bool off;
    bool live;
    struct progress_rows shown; /* on the screen; n == 0: nothing */
    int64_t next_ms;
    /* The rate is measured from the older of two marks, so it is that of the last 10 to 20 s. */
    struct progress_mark {
        int64_t ms;
        uint64_t done;
    } marks[2];
};

/* With OFF shows nothing, ever. */
void progress_init(struct progress *progress, bool off, int64_t now_ms);

/* Returns when to show progress next; INT64_MAX: never. */
int64_t progress_due(const struct progress *progress);

/* Returns the jobs per second lately, with DONE jobs so far in this run. */
double progress_rate(struct progress *progress, uint64_t done, int64_t now_ms);

/* Shows VIEW in place of the last one. */
void progress_show(struct progress *progress, const struct progress_view *view, int64_t now_ms);

/* Clears what is shown, so that something else can be written. */
void progress_clear(struct progress *progress);
