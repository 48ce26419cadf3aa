/* SPDX-License-Identifier: MIT */
#pragma once
/* Time for fuzz targets that run the daemon's event loop: it stands still unless the target moves
 * it. The linker puts these in the place of clock_gettime(), of daemon/base/timer.h, and of the
 * functions of libevent that add and free events with a timeout (`wrap` in meson.build). */

#include <stdint.h>

/* From now on time stands still, until fake_time_end(). */
void fake_time_begin(void);
void fake_time_end(void);

/* Moves time by MS and calls TURN after each timer that goes off on the way. */
void fake_time_pass(uint64_t ms, void (*turn)(void *userdata), void *userdata);

/* Moves time to the next timer; returns 0 if there is none. */
int fake_time_pass_to_next(void (*turn)(void *userdata), void *userdata);
