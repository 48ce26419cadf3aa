/* SPDX-License-Identifier: MIT */
#include "screen.h"

#include "proto/util.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>

/* Alternate screen, no cursor, long lines cut instead of wrapped. */
#define ALTERNATE "\033[?1049h\033[?25l\033[?7l"
#define ORDINARY "\033[0m\033[?7h\033[?25h\033[?1049l"
#define HOME "\033[H"
/* Written before a line: after a line that fills the row, the cursor is on its last character. */
#define CLEAR_LINE "\033[2K"
#define REST_OF_SCREEN "\033[J"

bool screen_is_possible(void)
{
    const char *term = getenv("TERM");
    return isatty(STDOUT_FILENO) && term && *term && strcmp(term, "dumb") != 0;
}

bool screen_wants_colour(void)
{
    const char *no_colour = getenv("NO_COLOR");
    return screen_is_possible() && !(no_colour && *no_colour);
}

void screen_size(size_t *columns, size_t *rows)
{
    struct winsize size;
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) < 0 || size.ws_col == 0 || size.ws_row == 0)
        return;
    *columns = size.ws_col;
    *rows = size.ws_row;
}

/* Avoids stdio, which would keep in its buffer what it could not write. Waits for a terminal that
 * is stopped (^S), as any program does. */
static void write_all(const char *text, size_t n)
{
    while (n > 0) {
        ssize_t written = write(STDOUT_FILENO, text, n);
        if (written < 0 && errno == EAGAIN) {
            struct pollfd fd = {.fd = STDOUT_FILENO, .events = POLLOUT};
            (void)poll(&fd, 1, -1);
        } else if (written < 0 && errno != EINTR) {
            return;
        }
        if (written > 0) {
            text += written;
            n -= (size_t)written;
        }
    }
}

void screen_open(struct screen *screen)
{
    if (screen->active)
        return;
    screen->active = true;
    screen->keys = tcgetattr(STDIN_FILENO, &screen->saved) == 0;
    if (screen->keys) {
        struct termios silent = screen->saved;
        silent.c_lflag &= (tcflag_t) ~(ICANON | ECHO);
        silent.c_cc[VMIN] = 1;
        silent.c_cc[VTIME] = 0;
        (void)tcsetattr(STDIN_FILENO, TCSADRAIN, &silent);
    }
    write_all(ALTERNATE, strlen(ALTERNATE));
}

void screen_close(struct screen *screen)
{
    if (!screen->active)
        return;
    screen->active = false;
    write_all(ORDINARY, strlen(ORDINARY));
    if (screen->keys)
        (void)tcsetattr(STDIN_FILENO, TCSADRAIN, &screen->saved);
}

static size_t count_lines(const char *text)
{
    size_t n = 0;
    for (; (text = strchr(text, '\n')); text++)
        n++;
    return n;
}

void screen_draw(const char *page, size_t rows)
{
    char *frame = NULL;
    size_t length = 0, lines = count_lines(page), shown = MIN(lines, rows);
    FILE *out = open_memstream(&frame, &length);
    if (!out)
        return;
    if (lines > rows && shown > 0)
        shown--; /* the last row says how many more there are */
    (void)fputs(HOME, out);
    for (size_t i = 0; i < shown; i++) {
        size_t n = strcspn(page, "\n");
        /* A line feed after the last row would scroll. */
        (void)fprintf(out, CLEAR_LINE "%.*s%s", (int)n, page, i + 1 < rows ? "\r\n" : "");
        page += n + 1;
    }
    if (lines > rows)
        (void)fprintf(out, CLEAR_LINE "\033[0m(%zu more lines)", lines - shown);
    (void)fputs(lines < rows ? REST_OF_SCREEN : "", out);
    if (fclose(out) == 0)
        write_all(frame, length);
    free(frame);
}
