/* SPDX-License-Identifier: MIT */
#include "progress.h"

#include "client/terminal/text.h"

#include <string.h>
#include <sys/ioctl.h>

#define LIVE_INTERVAL_MS 250
#define PLAIN_INTERVAL_MS 60000
#define MARK_MS 10000
#define PLAIN_SIZE 512

/* Redrawing in place needs a terminal that can move its cursor. */
static bool is_live_terminal(void)
{
    const char *term = getenv("TERM");
    return isatty(STDERR_FILENO) && term && *term && strcmp(term, "dumb") != 0;
}

void progress_init(struct progress *progress, bool off, int64_t now_ms)
{
    *progress = (struct progress){.off = off, .live = !off && is_live_terminal()};
    progress->marks[0].ms = progress->marks[1].ms = now_ms;
    progress->next_ms = progress->live ? now_ms : now_ms + PLAIN_INTERVAL_MS;
}

int64_t progress_due(const struct progress *progress)
{
    return progress->off ? INT64_MAX : progress->next_ms;
}

double progress_rate(struct progress *progress, uint64_t done, int64_t now_ms)
{
    struct progress_mark *marks = progress->marks;
    if (now_ms - marks[1].ms >= MARK_MS) {
        marks[0] = marks[1];
        marks[1] = (struct progress_mark){.ms = now_ms, .done = done};
    }
    return (double)(done - marks[0].done) * 1000 / (double)MAX(now_ms - marks[0].ms, 1);
}

/* Leaves the last column free: writing to it may move a terminal to the next line. */
static size_t terminal_columns(void)
{
    struct winsize size;
    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) < 0 || size.ws_col < 2)
        return 79;
    return (size_t)size.ws_col - 1;
}

/* Moves to the beginning of what is shown. A terminal that became narrower may have wrapped the
 * rows. */
static void go_to_top(FILE *out, const struct progress_rows *shown)
{
    size_t columns = terminal_columns() + 1, rows = 0;
    for (size_t i = 0; i < shown->n; i++)
        rows += MAX((shown->columns[i] + columns - 1) / columns, (size_t)1);
    if (rows > 1)
        (void)fprintf(out, "\033[%zuA", rows - 1);
    (void)fputc('\r', out);
}

/* Writes in one piece, so that nothing appears half drawn. */
static void write_terminal(const char *text, size_t n)
{
    while (n > 0) {
        ssize_t written = write(STDERR_FILENO, text, n);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return;
        text += written;
        n -= (size_t)written;
    }
}

static void show_live(struct progress *progress, const struct progress_view *view)
{
    char *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);
    if (!out)
        return;
    if (progress->shown.n > 0)
        go_to_top(out, &progress->shown);
    progress_render(view, terminal_columns(), &progress->shown);
    for (size_t i = 0; i < progress->shown.n; i++)
        (void)fprintf(out, "%s%s\033[K", i > 0 ? "\r\n" : "", progress->shown.text[i]);
    (void)fputs("\033[J", out);
    (void)fclose(out);
    write_terminal(text, length);
    free(text);
}

void progress_show(struct progress *progress, const struct progress_view *view, int64_t now_ms)
{
    char line[PLAIN_SIZE];
    progress->next_ms = now_ms + (progress->live ? LIVE_INTERVAL_MS : PLAIN_INTERVAL_MS);
    if (progress->live) {
        show_live(progress, view);
        return;
    }
    progress_render_plain(view, line, sizeof(line));
    complain("%s", line);
}

void progress_clear(struct progress *progress)
{
    char *text = NULL;
    size_t length = 0;
    FILE *out = progress->shown.n > 0 ? open_memstream(&text, &length) : NULL;
    if (!out)
        return;
    go_to_top(out, &progress->shown);
    (void)fputs("\033[J", out);
    (void)fclose(out);
    write_terminal(text, length);
    free(text);
    progress->shown.n = 0;
}
