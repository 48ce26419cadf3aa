/* SPDX-License-Identifier: MIT */
#include "progressview.h"
#include "text.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

#define BAR_MIN 10
#define BAR_MAX 30
/* Columns of an id that a row shows at most. */
#define ID_COLUMNS_MAX 32
/* Columns kept free beside an id, for "slow: " and " 12 min 13 s". */
#define ID_BESIDE 18
#define SECOND_MS INT64_C(1000)
#define DAY_MS (SECOND_MS * 3600 * 24)

/* --- rows --------------------------------------------------------------------------------- */

/* The row being written. */
struct row {
    char *text;
    size_t used;    /* bytes */
    size_t columns; /* taken so far */
    size_t room;    /* columns */
};

/* Returns the columns that TEXT takes at most: a character outside ASCII may be two wide. */
static size_t columns_of(const char *text)
{
    size_t columns = 0;
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;
        columns += c < 0x80 ? 1 : c >= 0xC0 ? 2 : 0;
    }
    return columns;
}

/* Appends TEXT if the row has room for all of it; returns whether it had. */
static bool put(struct row *row, const char *text)
{
    size_t columns = columns_of(text), n = strlen(text);
    if (row->columns + columns > row->room || row->used + n >= PROGRESS_ROW_SIZE)
        return false;
    memcpy(row->text + row->used, text, n + 1);
    row->used += n;
    row->columns += columns;
    return true;
}

/* Appends as much of TEXT as has room. */
static void put_cut(struct row *row, const char *text)
{
    while (*text) {
        char character[8];
        size_t n = 1;
        while (((unsigned char)text[n] & 0xC0) == 0x80 && n < sizeof(character) - 1)
            n++;
        memcpy(character, text, n);
        character[n] = '\0';
        if (!put(row, character))
            return;
        text += n;
    }
}

/* --- their contents ----------------------------------------------------------------------- */

/* "1234/5000 24%", "1234/~5000 24%", or "1234 done". */
static void describe_done(const struct progress_view *view, char *ret, size_t size)
{
    uint64_t total = MAX(view->total, view->done);
    if (view->total == 0)
        (void)snprintf(ret, size, "%" PRIu64 " done", view->done);
    else
        (void)snprintf(ret, size, "%" PRIu64 "/%s%" PRIu64 " %d%%", view->done,
                       view->about ? "~" : "", total,
                       (int)((double)view->done / (double)total * 100));
}

/* " ETA 2 min 13 s"; nothing if it cannot be estimated. */
static void describe_eta(const struct progress_view *view, char *ret, size_t size)
{
    char text[TEXT_QUANTITY_MAX];
    *ret = '\0';
    if (view->total <= view->done || view->rate <= 0)
        return;
    double ms = (double)(view->total - view->done) / view->rate * 1000;
    if (ms < 100.0 * (double)DAY_MS)
        (void)snprintf(ret, size, "  ETA %s", text_duration(MAX((int64_t)ms, SECOND_MS), text));
}

static void put_bar(struct row *row, const struct progress_view *view, size_t width)
{
    char bar[BAR_MAX + 4];
    assert(width >= BAR_MIN && width <= BAR_MAX && view->total > 0);
    size_t inside = width - 3; /* without the brackets and the space */
    size_t filled =
        (size_t)((double)view->done / (double)MAX(view->total, view->done) * (double)inside);
    for (size_t i = 0; i < inside; i++)
        bar[1 + i] = i < filled ? '=' : i == filled ? '>' : ' ';
    bar[0] = '[';
    memcpy(bar + 1 + inside, "] ", sizeof("] "));
    (void)put(row, bar);
}

static void put_head(struct row *row, const struct progress_view *view)
{
    char done[80], eta[64], text[224], wall[TEXT_QUANTITY_MAX];
    describe_done(view, done, sizeof(done));
    describe_eta(view, eta, sizeof(eta));
    (void)snprintf(text, sizeof(text), "%s  %.*f/s%s", done, view->rate < 10 ? 1 : 0, view->rate,
                   eta);
    size_t left = row->room - MIN(row->room, columns_of(text));
    if (view->total > 0 && left >= BAR_MIN + 3)
        put_bar(row, view, MIN(left, (size_t)BAR_MAX));
    put_cut(row, text);
    if (!*eta && view->total == 0) {
        (void)snprintf(text, sizeof(text), "  %s", text_duration(view->elapsed_ms, wall));
        (void)put(row, text);
    }
}

static void put_counts(struct row *row, const struct progress_view *view)
{
    char text[256];
    (void)snprintf(text, sizeof(text),
                   "%" PRIu64 " passed, %" PRIu64 " failed, %" PRIu64 " error%s", view->passed,
                   view->failed, view->errors, text_plural(view->errors));
    if (!put(row, text)) {
        (void)snprintf(text, sizeof(text), "%" PRIu64 " ok %" PRIu64 " bad %" PRIu64 " err",
                       view->passed, view->failed, view->errors);
        put_cut(row, text);
    }
    (void)snprintf(text, sizeof(text), "  %zu in flight", view->in_flight);
    (void)put(row, text);
    if (view->waiting > 0) {
        (void)snprintf(text, sizeof(text), "  %zu to retry", view->waiting);
        (void)put(row, text);
    }
    if (view->cost_usd > 0) {
        (void)snprintf(text, sizeof(text), "  $%.4f", view->cost_usd);
        (void)put(row, text);
    }
}

/* "j17 12.3 s"; cuts a long id so that the time fits beside it. */
static void describe_slow(const struct progress_job *job, size_t room, char *ret, size_t size)
{
    size_t columns = MIN((size_t)ID_COLUMNS_MAX, MAX(room, (size_t)ID_BESIDE * 2) - ID_BESIDE);
    char wall[TEXT_QUANTITY_MAX];
    char *shown = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&shown, &length);
    if (out) {
        (void)text_put_fit(out, job->id, columns);
        (void)fclose(out);
    }
    (void)snprintf(ret, size, "%s %s", shown ? shown : "?", text_duration(job->ms, wall));
    free(shown);
}

static void put_slow(struct row *row, const struct progress_view *view)
{
    char text[256];
    if (view->state)
        put_cut(row, view->state);
    for (size_t i = 0; i < view->n_slow; i++) {
        size_t used = row->used, columns = row->columns;
        describe_slow(&view->slow[i], row->room, text, sizeof(text));
        bool fits = put(row, i > 0 ? ", " : view->state ? "; slow: " : "slow: ");
        if (fits && put(row, text))
            continue;
        if (fits && i == 0) {
            put_cut(row, text); /* part of one is better than none */
            return;
        }
        row->used = used;
        row->columns = columns;
        row->text[used] = '\0';
        return;
    }
}

void progress_render(const struct progress_view *view, size_t columns, struct progress_rows *ret)
{
    static void (*const writers[PROGRESS_ROWS])(struct row *, const struct progress_view *) = {
        put_head,
        put_counts,
        put_slow,
    };
    assert(columns > 0 && view->n_slow <= PROGRESS_SLOW_MAX);
    ret->n = 0;
    for (size_t i = 0; i < PROGRESS_ROWS; i++) {
        struct row row = {
            .text = ret->text[ret->n],
            .room = MIN(columns, (size_t)PROGRESS_COLUMNS_MAX),
        };
        row.text[0] = '\0';
        writers[i](&row, view);
        if (row.used > 0)
            ret->columns[ret->n++] = row.columns;
    }
}

void progress_render_plain(const struct progress_view *view, char *ret, size_t size)
{
    char done[80], eta[64];
    describe_done(view, done, sizeof(done));
    describe_eta(view, eta, sizeof(eta));
    (void)snprintf(ret, size,
                   "%s: %" PRIu64 " passed, %" PRIu64 " failed, %" PRIu64
                   " error%s; %zu in flight, "
                   "%.1f/s%s",
                   done, view->passed, view->failed, view->errors, text_plural(view->errors),
                   view->in_flight, view->rate, eta);
}
