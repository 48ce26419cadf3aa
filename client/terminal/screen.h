/* SPDX-License-Identifier: MIT */
#pragma once
/* Takes over the whole terminal, draws pages on it in place, and gives it back as it was. The
 * caller catches the signals that would end the program, and closes the screen. A terminal that
 * cannot be written to is no error. */

#include <stdbool.h>
#include <stddef.h>
#include <termios.h>

struct screen {
    bool active;
    bool keys; /* stdin gives keys at once; `saved` holds how it was */
    struct termios saved;
};

#define SCREEN_NULL     \
    {                   \
        .active = false \
    }

/* Whether standard output is a terminal that TERM does not call dumb. */
bool screen_is_possible(void);

/* Whether to write colours to standard output: it is a terminal that is not dumb, and NO_COLOR (see
 * no-color.org) is unset or empty. */
bool screen_wants_colour(void);

/* Sets the columns and rows of standard output; leaves them if it does not tell its size. */
void screen_size(size_t *columns, size_t *rows);

/* Takes the terminal over: alternate screen, no cursor, no echo of keys. */
void screen_open(struct screen *screen);

/* Gives the terminal back. Does nothing if SCREEN is not open. */
void screen_close(struct screen *screen);
#define _cleanup_screen_ _cleanup_(screen_close)

/* Draws at most ROWS lines of PAGE, each of which ends in a newline, from the top, and says on the
 * last one how many more there are. The text may hold SGR sequences, no others. Draws in one write,
 * so that nothing flickers, or not at all if memory runs out. */
void screen_draw(const char *page, size_t rows);
