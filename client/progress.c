/* SPDX-License-Identifier: MIT */
#include "progress.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>

#define INTERVAL_MS 100
#define COLUMNS_MAX 200

void progress_init(struct progress *progress, bool off)
{
    *progress = (struct progress){.live = !off && isatty(STDERR_FILENO)};
}

int progress_wait(const struct progress *progress, int64_t now_ms)
{
    return progress->live ? (int)MAX(progress->next_ms - now_ms, 0) : -1;
}

static size_t terminal_columns(void)
{
    struct winsize size;
    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) < 0 || size.ws_col < 2)
        return 79;
    return MIN((size_t)size.ws_col - 1, COLUMNS_MAX);
}

void progress_show(struct progress *progress, int64_t now_ms, const char *format, ...)
{
    if (!progress->live || now_ms < progress->next_ms)
        return;
    char line[COLUMNS_MAX + 1];
    size_t room = terminal_columns() + 1;
    va_list args;
    va_start(args, format);
    int n = vsnprintf(line, MIN(sizeof(line), room), format, args);
    va_end(args);
    if (n < 0)
        return;
    size_t columns = strlen(line);
    /* Blanks over what the last line had more. */
    size_t rest = progress->shown > columns ? progress->shown - columns : 0;
    (void)fprintf(stderr, "\r%s%*s", line, (int)rest, "");
    (void)fflush(stderr);
    progress->shown = columns;
    progress->next_ms = now_ms + INTERVAL_MS;
}

void progress_clear(struct progress *progress)
{
    if (progress->shown > 0)
        (void)fprintf(stderr, "\r%*s\r", (int)progress->shown, "");
    progress->shown = 0;
}
