/* SPDX-License-Identifier: MIT */
#pragma once
/* Where the progress of a batch is shown: on a terminal in place, a few times a second; elsewhere
 * (a pipe, a log, TERM=dumb) as a plain line once a minute. On stderr. */

#include "client/terminal/progressview.h"

struct progress {
    bool off;
    bool live;
    struct progress_rows shown; /* on the screen; n is 0: nothing */
    int64_t next_ms;
    /* The speed is that of the last while, from the older of two marks. */
    struct progress_mark {
        int64_t ms;
        uint64_t done;
    } marks[2];
};

/* With OFF nothing is ever shown. */
void progress_init(struct progress *progress, bool off, int64_t now_ms);

/* When it may be shown again; INT64_MAX: never. */
int64_t progress_due(const struct progress *progress);

/* Jobs per second lately, with DONE of them so far in this run. */
double progress_rate(struct progress *progress, uint64_t done, int64_t now_ms);

/* Shows VIEW in place of what was shown last. */
void progress_show(struct progress *progress, const struct progress_view *view, int64_t now_ms);

/* Takes it away, so that something else can be written. */
void progress_clear(struct progress *progress);
