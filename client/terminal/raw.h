/* SPDX-License-Identifier: MIT */
#pragma once
/* The user's terminal while a program elsewhere has it: each key is a byte for that program, and
 * none makes a signal here. */

#include <stdbool.h>
#include <termios.h>

struct raw {
    bool is_on;
    int fd; /* borrowed */
    struct termios saved;
};

#define RAW_NULL       \
    {                  \
        .is_on = false \
    }

/* Makes the terminal FD raw, and remembers how it was. Called again, makes it raw once more:
 * whoever has stopped this process and lets it go on (SIGCONT) may have changed it. 0 or a negative
 * errno. */
int raw_enter(struct raw *raw, int fd);

/* Gives the terminal back as it was. What was typed and not read is dropped: it may be an answer of
 * the terminal to what the program has printed, and would be a command to the user's shell. Does
 * nothing if it is not raw. */
void raw_leave(struct raw *raw);
#define _cleanup_raw_ _cleanup_(raw_leave)
