/* SPDX-License-Identifier: MIT */
#pragma once
/* One live line on a terminal's stderr; nothing anywhere else. */

#include "proto/util.h"

#include <stdbool.h>
#include <stdint.h>

struct progress {
    bool live;
    size_t shown; /* columns on the screen */
    int64_t next_ms;
};

/* With OFF it is never live. */
void progress_init(struct progress *progress, bool off);

/* Milliseconds until the line may be written again; -1 where it is not live. */
int progress_wait(const struct progress *progress, int64_t now_ms);

/* Writes the line over the last one, cut to the terminal's width. */
_printf_(3, 4) void progress_show(struct progress *progress, int64_t now_ms, const char *format,
                                  ...);

/* Takes the line away, so that something else can be written. */
void progress_clear(struct progress *progress);
