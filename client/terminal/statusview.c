/* SPDX-License-Identifier: MIT */
#include "statusview.h"
#include "member.h"
#include "statusview_languages.h"
#include "table.h"
#include "text.h"

#include <inttypes.h>
#include <string.h>

#define LABEL_COLUMNS 9
#define CLIENTS_SHOWN 20
/* Lines of a page with one kind of job and no list. */
#define LINES_OF_THE_REST 18
/* A page with fewer rows is short: it leaves out what a higher terminal shows. */
#define SHORT_PAGE 30
#define SHORT_RECENT 4
#define HIGH_PAGE 40
#define FAILURES_OF_A_PAGE 3

#define BOLD "1"
#define DIM "2"
#define RED "31"
#define GREEN "32"
#define YELLOW "33"

struct page {
    FILE *out;
    const struct statusview *view;
    size_t slots_max, failures_max, clients_max;
};

/* --- pieces ------------------------------------------------------------------------------- */

static const char *duration(const json_t *object, const char *name, char out[TEXT_QUANTITY_MAX])
{
    return text_duration(MAX(member_integer(object, name), 0), out);
}

static const char *brief(const json_t *object, const char *name, char out[TEXT_QUANTITY_MAX])
{
    return text_brief_duration((double)MAX(member_integer(object, name), 0), out);
}

static const char *count(const json_t *object, const char *name, char out[TEXT_QUANTITY_MAX])
{
    return text_brief_count((double)MAX(member_integer(object, name), 0), out);
}

static const char *size(const json_t *object, const char *name, char out[TEXT_QUANTITY_MAX])
{
    return text_size(MAX(member_integer(object, name), 0), out);
}

static const char *colour(const struct page *page, const char *code)
{
    return page->view->colour ? code : NULL;
}

static void put_coloured(const struct page *page, const char *code, const char *text)
{
    text_put_coloured(page->out, colour(page, code), text);
}

static void put_label(const struct page *page, const char *label)
{
    (void)fprintf(page->out, "%-*s", LABEL_COLUMNS, label);
}

/* Writes LABEL and beside it the text, wrapped into a column of its own. */
_printf_(3, 4) static void put_line(const struct page *page, const char *label, const char *format,
                                    ...)
{
    va_list args;
    put_label(page, label);
    va_start(args, format);
    text_vput_wrapped(page->out, LABEL_COLUMNS, page->view->columns, format, args);
    va_end(args);
}

/* Writes an empty line and the headings of a table. */
static void put_headings(const struct page *page, const struct table *table)
{
    (void)fputs(page->view->colour ? "\n\033[" BOLD "m" : "\n", page->out);
    table_put_headings(table);
    if (page->view->colour)
        (void)fputs("\033[0m", page->out);
}

/* --- head --------------------------------------------------------------------------------- */

static void put_head(const struct page *page, const json_t *status)
{
    char up[TEXT_QUANTITY_MAX], memory[TEXT_QUANTITY_MAX], line[128];
    const char *state = member_text(status, "state");
    put_coloured(page, BOLD, "rubricd ");
    put_coloured(page, BOLD, member_text(status, "version"));
    (void)fputs(": ", page->out);
    put_coloured(page, strcmp(state, "running") == 0 ? GREEN : YELLOW, state);
    size_t used = strlen("rubricd : ") + strlen(member_text(status, "version")) + strlen(state);
    (void)snprintf(line, sizeof(line), ", up %s, pid %" PRId64 ", %s",
                   duration(status, "uptime_ms", up), member_integer(status, "pid"),
                   size(json_object_get(status, "memory"), "rss_bytes", memory));
    text_put_wrapped(page->out, line, used, LABEL_COLUMNS, page->view->columns);
}

struct slot_counts {
    size_t busy, idle, starting, broken, all;
};

static struct slot_counts count_slots(const json_t *slots)
{
    struct slot_counts counts = {.all = json_array_size(slots)};
    for (size_t i = 0; i < counts.all; i++) {
        const char *state = member_text(json_array_get(slots, i), "state");
        counts.busy += strcmp(state, "busy") == 0;
        counts.idle += strcmp(state, "idle") == 0;
        counts.starting += strcmp(state, "starting") == 0;
        counts.broken += strcmp(state, "broken") == 0;
    }
    return counts;
}

/* Why a slot has no jail; NULL if none says so. */
static const char *find_trouble(const json_t *slots)
{
    for (size_t i = 0; i < json_array_size(slots); i++) {
        const json_t *trouble = json_object_get(json_array_get(slots, i), "trouble");
        if (json_is_string(trouble))
            return json_string_value(trouble);
    }
    return NULL;
}

static bool queue_is_full(const json_t *queue)
{
    return json_is_object(queue) &&
           ((member_integer(queue, "jobs") > 0 &&
             member_integer(queue, "jobs") >= member_integer(queue, "jobs_max")) ||
            (member_integer(queue, "bytes") > 0 &&
             member_integer(queue, "bytes") >= member_integer(queue, "bytes_max")));
}

_printf_(3, 4) static void put_notice(const struct page *page, const char *code, const char *format,
                                      ...)
{
    va_list args;
    put_coloured(page, code, "! ");
    va_start(args, format);
    text_vput_wrapped(page->out, 2, page->view->columns, format, args);
    va_end(args);
}

/* Writes what an operator needs to know first. */
static void put_notices(const struct page *page, const json_t *status)
{
    struct slot_counts slots = count_slots(json_object_get(status, "slots"));
    const char *trouble = find_trouble(json_object_get(status, "slots"));
    int64_t dropped = member_integer(json_object_get(status, "log"), "dropped");
    if (strcmp(member_text(status, "state"), "draining") == 0)
        put_notice(page, YELLOW,
                   "rubricd is draining: it takes no new jobs and exits after the last one");
    if (slots.broken > 0)
        put_notice(page, RED,
                   "%zu of %zu slots broken: being replaced (journalctl -u rubricd -p warning)",
                   slots.broken, slots.all);
    if (trouble)
        put_notice(page, RED, "a slot cannot start its jail: %s", trouble);
    if (queue_is_full(json_object_get(status, "queue")))
        put_notice(page, YELLOW, "the queue is full: clients that submit more wait");
    if (dropped > 0)
        put_notice(page, YELLOW,
                   "%" PRId64 " log entries were dropped: the log's reader is too slow", dropped);
}

static void put_slot_counts(const struct page *page, const json_t *slots)
{
    struct slot_counts counts = count_slots(slots);
    char starting[32] = "", broken[32] = "";
    if (counts.starting > 0)
        (void)snprintf(starting, sizeof(starting), ", %zu starting", counts.starting);
    if (counts.broken > 0)
        (void)snprintf(broken, sizeof(broken), ", %zu broken", counts.broken);
    put_line(page, "slots", "%zu of %zu busy%s%s", counts.busy, counts.all, starting, broken);
}

static void put_queue(const struct page *page, const json_t *queue)
{
    char bytes[TEXT_QUANTITY_MAX], most[TEXT_QUANTITY_MAX];
    put_line(page, "queue", "%" PRId64 " of %" PRId64 " jobs, %s of %s",
             member_integer(queue, "jobs"), member_integer(queue, "jobs_max"),
             size(queue, "bytes", bytes), size(queue, "bytes_max", most));
}

/* Nothing where there was none. */
static void put_sessions(const struct page *page, const json_t *sessions)
{
    if (member_integer(sessions, "opened") > 0)
        put_line(page, "sessions", "%" PRId64 " of %" PRId64 " open",
                 member_integer(sessions, "open"), member_integer(sessions, "max"));
}

static int64_t sum(json_t *errors)
{
    int64_t total = 0;
    for (void *i = json_object_iter(errors); i; i = json_object_iter_next(errors, i))
        total += json_integer_value(json_object_iter_value(i));
    return total;
}

/* "12 draining, 8 cancelled" */
static void name_errors(json_t *errors, char *text, size_t room)
{
    size_t used = 0;
    *text = '\0';
    for (void *i = json_object_iter(errors); i; i = json_object_iter_next(errors, i)) {
        int64_t n = json_integer_value(json_object_iter_value(i));
        if (n > 0 && used < room)
            used += (size_t)snprintf(text + used, room - used, "%s%" PRId64 " %.32s",
                                     used > 0 ? ", " : "", n, json_object_iter_key(i));
    }
}

static void put_counters(const struct page *page, const json_t *counters)
{
    json_t *errors = json_object_get(counters, "errors");
    char named[384];
    name_errors(errors, named, sizeof(named));
    put_line(page, "jobs",
             "%" PRId64 " submitted: %" PRId64 " passed, %" PRId64 " failed, %" PRId64
             " errors%s%s%s",
             member_integer(counters, "submitted"), member_integer(counters, "passed"),
             member_integer(counters, "failed"), sum(errors), *named ? " (" : "", named,
             *named ? ")" : "");
}

/* --- rates and latencies ------------------------------------------------------------------ */

static const struct table_column recent_columns[] = {
    {.heading = "kind", .width = 9},
    {.heading = "last", .width = 4, .right = true},
    {.heading = "jobs/s", .width = 6, .right = true},
    {.heading = "passed", .width = 6, .right = true, .rank = 3},
    {.heading = "failed", .width = 6, .right = true, .rank = 2},
    {.heading = "errors", .width = 6, .right = true, .rank = 1},
    {.heading = "p50", .width = 6, .right = true},
    {.heading = "p90", .width = 6, .right = true, .rank = 4},
    {.heading = "p99", .width = 6, .right = true, .rank = 1},
    {.heading = "queued", .width = 6, .right = true, .rank = 2},
};

static const char *quantile(const json_t *quantiles, const char *name, char out[TEXT_QUANTITY_MAX])
{
    const json_t *value = json_object_get(quantiles, name);
    return json_is_number(value) ? text_brief_duration(json_number_value(value), out) : "-";
}

static void put_recent(const struct table *table, const char *kind, const json_t *recent)
{
    char last[TEXT_QUANTITY_MAX], rate[TEXT_QUANTITY_MAX], passed[TEXT_QUANTITY_MAX],
        failed[TEXT_QUANTITY_MAX], errors[TEXT_QUANTITY_MAX], p50[TEXT_QUANTITY_MAX],
        p90[TEXT_QUANTITY_MAX], p99[TEXT_QUANTITY_MAX], queued[TEXT_QUANTITY_MAX];
    const json_t *ran = json_object_get(recent, "wall_clock_ms");
    double per_second = json_number_value(json_object_get(recent, "per_second"));
    (void)snprintf(last, sizeof(last), "%" PRId64 "m", member_integer(recent, "seconds") / 60);
    if (per_second < 99.95)
        (void)snprintf(rate, sizeof(rate), "%.*f", per_second < 9.995 ? 2 : 1, per_second);
    else
        (void)text_brief_count(per_second, rate);
    const char *const cells[] = {
        kind,
        last,
        rate,
        count(recent, "passed", passed),
        count(recent, "failed", failed),
        count(recent, "errors", errors),
        quantile(ran, "p50", p50),
        quantile(ran, "p90", p90),
        quantile(ran, "p99", p99),
        quantile(json_object_get(recent, "queue_ms"), "p90", queued),
    };
    table_put_row(table, cells, NULL);
}

/* Whether there were jobs of this kind: lately, or ever if the page may have any length. */
static bool is_of_interest(const struct page *page, const json_t *kind)
{
    const json_t *recent = json_object_get(kind, "recent");
    const json_t *longest = json_array_get(recent, json_array_size(recent) - 1);
    if (page->view->rows == 0)
        return member_integer(kind, "submitted") > 0;
    return member_integer(longest, "passed") + member_integer(longest, "failed") +
               member_integer(longest, "errors") >
           0;
}

static void put_kinds(const struct page *page, json_t *kinds)
{
    struct table table;
    size_t shown = 0, of_interest = 0;
    for (void *i = json_object_iter(kinds); i; i = json_object_iter_next(kinds, i))
        of_interest += is_of_interest(page, json_object_iter_value(i));
    bool all = page->view->rows == 0 || page->view->rows >= SHORT_PAGE || of_interest == 0;
    size_t windows = all ? SIZE_MAX : SHORT_RECENT / of_interest;
    table_init(&table, page->out, recent_columns, ARRAY_SIZE(recent_columns), page->view->columns);
    for (void *i = json_object_iter(kinds); i; i = json_object_iter_next(kinds, i)) {
        const json_t *kind = json_object_iter_value(i);
        const json_t *recent = json_object_get(kind, "recent");
        if (!is_of_interest(page, kind))
            continue;
        if (shown++ == 0)
            put_headings(page, &table);
        for (size_t k = 0; k < json_array_size(recent); k++)
            if (k == 0 || windows > 2 || (windows == 2 && k + 1 == json_array_size(recent)))
                put_recent(&table, k == 0 ? json_object_iter_key(i) : "",
                           json_array_get(recent, k));
    }
}

/* --- slots -------------------------------------------------------------------------------- */

static const struct table_column slot_columns[] = {
    {.heading = "slot", .width = 4, .right = true, .rank = 1},
    {.heading = "for", .width = 6, .right = true},
    {.heading = "left", .width = 6, .right = true, .rank = 6},
    {.heading = "until", .width = 8, .rank = 4},
    {.heading = "job", .width = 7, .rank = 3},
    {.heading = "kind", .width = 9, .rank = 5},
    {.heading = "what", .width = 12, .most = 18},
    {.heading = "id", .width = 16, .most = 64},
};

/* Returns the time of day in MS milliseconds; "" if the clock is unknown. */
static const char *time_in(const struct page *page, int64_t ms, char out[16])
{
    *out = '\0';
    if (page->view->clock && ms >= 0 && ms < INT64_C(1000) * 86400 * 365) {
        struct tm then = *page->view->clock;
        then.tm_sec += (int)(ms / 1000);
        if (mktime(&then) != (time_t)-1)
            (void)strftime(out, 16, "%H:%M:%S", &then);
    }
    return out;
}

static void put_busy_slot(const struct page *page, const struct table *table, const json_t *slot)
{
    char slot_no[24], job_no[24], running[TEXT_QUANTITY_MAX], left[TEXT_QUANTITY_MAX], until[16];
    const json_t *job = json_object_get(slot, "job");
    (void)snprintf(slot_no, sizeof(slot_no), "%" PRId64, member_integer(slot, "slot"));
    (void)snprintf(job_no, sizeof(job_no), "%" PRId64, member_integer(job, "job_no"));
    const char *const cells[] = {
        slot_no,
        brief(job, "running_ms", running),
        brief(job, "remaining_ms", left),
        time_in(page, member_integer(job, "remaining_ms"), until),
        job_no,
        member_text(job, "kind"),
        member_text(job, "label"),
        member_text(job, "id"),
    };
    table_put_row(table, cells, NULL);
}

/* Lists the numbers of the slots in STATE, as "1, 4-63"; false if there are none. */
static bool list_slots(const json_t *slots, const char *state, char *text, size_t room)
{
    int64_t first = 0, last = -2;
    size_t used = 0, n = json_array_size(slots);
    *text = '\0';
    for (size_t i = 0; i <= n; i++) {
        const json_t *slot = i < n ? json_array_get(slots, i) : NULL;
        if (slot && strcmp(member_text(slot, "state"), state) != 0)
            continue;
        if (slot && member_integer(slot, "slot") == last + 1) {
            last++;
            continue;
        }
        if (last >= 0 && used < room)
            used += (size_t)snprintf(text + used, room - used,
                                     first < last ? "%s%" PRId64 "-%" PRId64 : "%s%" PRId64,
                                     used > 0 ? ", " : "", first, last);
        if (slot)
            first = last = member_integer(slot, "slot");
    }
    return used > 0;
}

static void put_other_slots(const struct page *page, const json_t *slots)
{
    static const struct {
        const char *state, *colour;
    } states[] = {{"broken", RED}, {"starting", YELLOW}, {"idle", DIM}};
    char text[400];
    for (size_t i = 0; i < ARRAY_SIZE(states); i++) {
        if (!list_slots(slots, states[i].state, text, sizeof(text)))
            continue;
        put_coloured(page, states[i].colour, states[i].state);
        (void)fprintf(page->out, "%*s", (int)(LABEL_COLUMNS - strlen(states[i].state)), "");
        text_put_wrapped(page->out, text, LABEL_COLUMNS, LABEL_COLUMNS, page->view->columns);
    }
}

static void put_slots(const struct page *page, const json_t *slots)
{
    struct table table;
    size_t shown = 0, busy = 0;
    table_init(&table, page->out, slot_columns, ARRAY_SIZE(slot_columns), page->view->columns);
    for (size_t i = 0; i < json_array_size(slots); i++) {
        const json_t *slot = json_array_get(slots, i);
        if (!json_is_object(json_object_get(slot, "job")) || ++busy > page->slots_max)
            continue;
        if (shown++ == 0)
            put_headings(page, &table);
        put_busy_slot(page, &table, slot);
    }
    if (shown == 0)
        (void)fputc('\n', page->out);
    if (busy > shown)
        (void)fprintf(page->out, "      and %zu more busy\n", busy - shown);
    put_other_slots(page, slots);
}

/* --- failures ----------------------------------------------------------------------------- */

static const struct table_column failure_columns[] = {
    {.heading = "ago", .width = 6, .right = true},
    {.heading = "job", .width = 6, .rank = 2},
    {.heading = "what", .width = 8, .most = 14, .rank = 3},
    {.heading = "id", .width = 8, .most = 16, .rank = 1},
    {.heading = "why it failed", .width = 16, .most = 1000},
};

/* The reason may be a sentence: one that does not fit gets lines of its own. */
static void put_failure(const struct page *page, const struct table *table, const json_t *failure)
{
    char ago[TEXT_QUANTITY_MAX], job_no[24];
    const char *why = member_text(failure, "what");
    bool fits = text_columns(why, strlen(why)) <= table->widths[4];
    (void)snprintf(job_no, sizeof(job_no), "%" PRId64, member_integer(failure, "job_no"));
    const char *const cells[] = {
        brief(failure, "ago_ms", ago),           job_no,
        member_text(failure, "label"),           member_text(failure, "id"),
        fits || page->view->rows > 0 ? why : "",
    };
    table_put_row(table, cells, *cells[4] ? colour(page, RED) : NULL);
    if (!*cells[4]) {
        (void)fputs(page->view->colour ? "        \033[" RED "m" : "        ", page->out);
        text_put_wrapped(page->out, why, 8, 8, page->view->columns);
        if (page->view->colour)
            (void)fputs("\033[0m", page->out);
    }
}

static void put_failures(const struct page *page, const json_t *failures)
{
    struct table table;
    size_t n = json_array_size(failures);
    if (n == 0)
        return;
    table_init(&table, page->out, failure_columns, ARRAY_SIZE(failure_columns),
               page->view->columns);
    put_headings(page, &table);
    for (size_t i = 0; i < MIN(n, page->failures_max); i++)
        put_failure(page, &table, json_array_get(failures, i));
}

/* --- clients ------------------------------------------------------------------------------ */

static const struct table_column client_columns[] = {
    {.heading = "client", .width = 6, .right = true},
    {.heading = "uid", .width = 6, .right = true, .rank = 1},
    {.heading = "pid", .width = 7, .right = true, .rank = 1},
    {.heading = "queued", .width = 6, .right = true},
    {.heading = "running", .width = 7, .right = true},
    {.heading = "unread", .width = 9, .right = true, .rank = 2},
    {.heading = "", .width = 6},
};

static void put_client(const struct page *page, const struct table *table, const json_t *client)
{
    static const char *const names[] = {"client", "uid", "pid", "queued", "running"};
    char numbers[ARRAY_SIZE(names)][24], unread[TEXT_QUANTITY_MAX];
    for (size_t i = 0; i < ARRAY_SIZE(names); i++)
        (void)snprintf(numbers[i], sizeof(numbers[i]), "%" PRId64,
                       member_integer(client, names[i]));
    bool paused = json_is_true(json_object_get(client, "paused"));
    const char *const cells[] = {
        numbers[0],
        numbers[1],
        numbers[2],
        numbers[3],
        numbers[4],
        member_integer(client, "unsent_bytes") > 0 ? size(client, "unsent_bytes", unread) : "-",
        paused ? "paused" : "",
    };
    table_put_row(table, cells, paused ? colour(page, YELLOW) : NULL);
}

static void put_clients(const struct page *page, const json_t *status)
{
    const json_t *clients = json_object_get(status, "clients");
    int64_t total = MAX(member_integer(status, "clients_total"), (int64_t)json_array_size(clients));
    size_t shown = MIN(json_array_size(clients), page->clients_max);
    struct table table;
    table_init(&table, page->out, client_columns, ARRAY_SIZE(client_columns), page->view->columns);
    if (shown > 0)
        put_headings(page, &table);
    for (size_t i = 0; i < shown; i++)
        put_client(page, &table, json_array_get(clients, i));
    if (total > (int64_t)shown && shown > 0)
        (void)fprintf(page->out, "        and %" PRId64 " more (see --json)\n",
                      total - (int64_t)shown);
}

static void put_client_count(const struct page *page, const json_t *status)
{
    const json_t *clients = json_object_get(status, "clients");
    int64_t total = MAX(member_integer(status, "clients_total"), (int64_t)json_array_size(clients));
    size_t paused = 0;
    for (size_t i = 0; i < json_array_size(clients); i++)
        paused += json_is_true(json_object_get(json_array_get(clients, i), "paused"));
    char text[48] = "";
    if (paused > 0)
        (void)snprintf(text, sizeof(text), ", %zu paused", paused);
    put_line(page, "clients", "%" PRId64 " connected%s", total, text);
}

/* --- isolation ---------------------------------------------------------------------------- */

/* Joins the names of LAYERS into one line, which the caller frees. */
static char *join_layers(const json_t *layers)
{
    char *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);
    if (!out)
        return NULL;
    for (size_t i = 0; i < json_array_size(layers); i++) {
        const char *name = json_string_value(json_array_get(layers, i));
        (void)fprintf(out, "%s%s", i > 0 ? ", " : "", name ? name : "?");
    }
    (void)fclose(out);
    return text;
}

static void put_isolation(const struct page *page, const json_t *isolation)
{
    const json_t *missing = json_object_get(isolation, "missing");
    _cleanup_free_ char *layers = join_layers(json_object_get(isolation, "layers"));
    (void)fputc('\n', page->out);
    put_label(page, "layers");
    text_put_wrapped(page->out, layers && *layers ? layers : "nothing", LABEL_COLUMNS,
                     LABEL_COLUMNS, page->view->columns);
    for (size_t i = 0; i < json_array_size(missing); i++) {
        const json_t *layer = json_array_get(missing, i);
        char line[512];
        put_coloured(page, YELLOW, "missing");
        (void)fprintf(page->out, "%*s", LABEL_COLUMNS - 7, "");
        (void)snprintf(line, sizeof(line), "%s: %s", member_text(layer, "layer"),
                       member_text(layer, "reason"));
        text_put_wrapped(page->out, line, LABEL_COLUMNS, LABEL_COLUMNS, page->view->columns);
    }
    put_label(page, "digest");
    (void)text_put_fit(page->out, member_text(isolation, "digest"),
                       page->view->columns - LABEL_COLUMNS);
    (void)fputc('\n', page->out);
}

/* --- the page ----------------------------------------------------------------------------- */

void statusview_put(FILE *out, const json_t *status, const struct statusview *view)
{
    size_t rows = view->rows;
    struct page page = {
        .out = out,
        .view = view,
        .slots_max =
            rows == 0 ? SIZE_MAX : MAX(rows, (size_t)LINES_OF_THE_REST + 4) - LINES_OF_THE_REST,
        .failures_max = rows == 0 || rows >= HIGH_PAGE ? SIZE_MAX : FAILURES_OF_A_PAGE,
        .clients_max = rows == 0 ? CLIENTS_SHOWN : rows / 5,
    };
    put_head(&page, status);
    put_notices(&page, status);
    put_slot_counts(&page, json_object_get(status, "slots"));
    put_queue(&page, json_object_get(status, "queue"));
    put_sessions(&page, json_object_get(status, "sessions"));
    put_client_count(&page, status);
    put_counters(&page, json_object_get(status, "counters"));
    put_kinds(&page, json_object_get(status, "kinds"));
    put_slots(&page, json_object_get(status, "slots"));
    put_failures(&page, json_object_get(status, "last_failures"));
    put_clients(&page, status);
    if (rows == 0)
        statusview_put_languages(out, json_object_get(status, "languages"), view->columns);
    put_isolation(&page, json_object_get(status, "isolation"));
}
