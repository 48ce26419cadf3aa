/* SPDX-License-Identifier: MIT */
#pragma once
/* Copies bytes of jobs from one descriptor to another, and leaves none of them in this process,
 * which later jobs may be copies of. The kernel could move them by itself (splice, sendfile), but
 * the filter refuses that to everybody: see confine/filter.c. */

#include <stdint.h>
#include <sys/types.h>

/* Copies up to MOST bytes of FROM, from *AT on, which it advances, or from its offset on if AT is
 * NULL, to TO. Returns how many there were, or a negative errno. */
int64_t move_bytes(int from, off_t *at, int to, uint64_t most);

/* Reads once from FROM, and forgets what came. Returns the number of bytes, or a negative errno. */
ssize_t move_away(int from);

/* Reads once from FROM, at most as much as a pipe takes at once if it takes anything, and writes
 * that to the pipe TO, which must be non-blocking. If TO is not the only end of its pipe, waits up
 * to WAIT_MS milliseconds for it to have room. Returns the number of bytes, 0 if FROM has ended, or
 * a negative errno; -ENOBUFS: TO had no room in time, and what was read is lost. */
ssize_t move_to_pipe(int from, int to, int wait_ms);
