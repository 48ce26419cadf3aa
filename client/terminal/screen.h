/* SPDX-License-Identifier: MIT */
#pragma once
/* The whole terminal, for pages that are drawn again and again in place, and given back as it was.
 */

#include <stdbool.h>
#include <stddef.h>
#include <termios.h>

struct screen {
    bool active;
    bool keys; /* stdin gives keys at once, and `saved` is how it was */
    struct termios saved;
};

#define SCREEN_NULL     \
    {                   \
        .active = false \
    }

/* Whether standard output is a terminal that can be drawn on: one that TERM does not call dumb. */
bool screen_is_possible(void);

/* Whether colours are wanted on standard output: it is a terminal that is not dumb, and NO_COLOR
 * (see no-color.org) is not set, or empty. */
bool screen_wants_colour(void);

/* Columns and rows of standard output where it is a terminal that tells; else they stay. */
void screen_size(size_t *columns, size_t *rows);

/* Takes the terminal over: its alternate screen, no cursor, keys that are not shown. */
void screen_open(struct screen *screen);

/* Gives it back. Does nothing to one that is not open. */
void screen_close(struct screen *screen);
#define _cleanup_screen_ _cleanup_(screen_close)

/* Draws PAGE, lines of text with nothing but SGR sequences in them, from the top: ROWS lines at
 * most, and says so on the last one where there are more. In one write, so that nothing flickers.
 */
void screen_draw(const char *page, size_t rows);
