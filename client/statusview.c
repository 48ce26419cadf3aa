/* SPDX-License-Identifier: MIT */
#include "statusview.h"
#include "text.h"

#include <inttypes.h>
#include <string.h>

#define COLUMNS 80
#define LABEL_COLUMNS 11
#define CLIENTS_SHOWN 20

#define BOLD "1"
#define RED "31"
#define GREEN "32"
#define YELLOW "33"
#define DIM "2"

struct view {
    FILE *out;
    bool colour;
};

/* --- pieces ------------------------------------------------------------------------------- */

static int64_t number(const json_t *object, const char *name)
{
    return json_integer_value(json_object_get(object, name));
}

static const char *string(const json_t *object, const char *name)
{
    const char *value = json_string_value(json_object_get(object, name));
    return value ? value : "?";
}

static const char *duration(const json_t *object, const char *name, char out[TEXT_QUANTITY_MAX])
{
    return text_duration(MAX(number(object, name), 0), out);
}

static const char *size(const json_t *object, const char *name, char out[TEXT_QUANTITY_MAX])
{
    return text_size(MAX(number(object, name), 0), out);
}

static void put_colour(const struct view *view, const char *code)
{
    if (view->colour)
        (void)fprintf(view->out, "\033[%sm", code);
}

static void put_plain(const struct view *view)
{
    if (view->colour)
        (void)fputs("\033[0m", view->out);
}

static void put_coloured(const struct view *view, const char *code, const char *text)
{
    put_colour(view, code);
    text_put(view->out, text, strlen(text));
    put_plain(view);
}

static void put_label(const struct view *view, const char *label)
{
    (void)fprintf(view->out, "%-*s", LABEL_COLUMNS, label);
}

static void put_heading(const struct view *view, const char *heading)
{
    (void)fputc('\n', view->out);
    put_coloured(view, BOLD, heading);
    (void)fputc('\n', view->out);
}

/* --- head --------------------------------------------------------------------------------- */

static void put_head(const struct view *view, const json_t *status)
{
    char up[TEXT_QUANTITY_MAX];
    const char *state = string(status, "state");
    put_coloured(view, BOLD, "rubricd ");
    put_coloured(view, BOLD, string(status, "version"));
    (void)fputs(": ", view->out);
    put_coloured(view, strcmp(state, "running") == 0 ? GREEN : YELLOW, state);
    (void)fprintf(view->out, ", pid %" PRId64 ", up %s\n", number(status, "pid"),
                  duration(status, "uptime_ms", up));
}

static void put_memory(const struct view *view, const json_t *memory)
{
    char now[TEXT_QUANTITY_MAX], peak[TEXT_QUANTITY_MAX];
    put_label(view, "memory");
    (void)fprintf(view->out, "%s, at most %s so far\n", size(memory, "rss_bytes", now),
                  size(memory, "max_rss_bytes", peak));
}

static void put_queue(const struct view *view, const json_t *queue)
{
    char bytes[TEXT_QUANTITY_MAX], most[TEXT_QUANTITY_MAX];
    put_label(view, "queue");
    (void)fprintf(view->out, "%" PRId64 " of %" PRId64 " jobs, %s of %s\n", number(queue, "jobs"),
                  number(queue, "jobs_max"), size(queue, "bytes", bytes),
                  size(queue, "bytes_max", most));
}

static int64_t sum(json_t *errors)
{
    int64_t total = 0;
    for (void *i = json_object_iter(errors); i; i = json_object_iter_next(errors, i))
        total += json_integer_value(json_object_iter_value(i));
    return total;
}

static void put_counters(const struct view *view, const json_t *counters)
{
    json_t *errors = json_object_get(counters, "errors");
    put_label(view, "jobs");
    (void)fprintf(view->out,
                  "%" PRId64 " submitted: %" PRId64 " passed, %" PRId64 " failed, %" PRId64
                  " errors\n",
                  number(counters, "submitted"), number(counters, "passed"),
                  number(counters, "failed"), sum(errors));
    if (sum(errors) == 0)
        return;
    put_label(view, "errors");
    const char *between = "";
    for (void *i = json_object_iter(errors); i; i = json_object_iter_next(errors, i)) {
        int64_t n = json_integer_value(json_object_iter_value(i));
        if (n == 0)
            continue;
        (void)fputs(between, view->out);
        (void)text_put_fit(view->out, json_object_iter_key(i), 40);
        (void)fprintf(view->out, " %" PRId64, n);
        between = ", ";
    }
    (void)fputc('\n', view->out);
}

/* --- slots -------------------------------------------------------------------------------- */

static const char *slot_colour(const char *state)
{
    if (strcmp(state, "busy") == 0)
        return GREEN;
    return strcmp(state, "broken") == 0 ? RED : strcmp(state, "idle") == 0 ? DIM : YELLOW;
}

/* "job 1201  sql-answer  a1", then when it began and when it will be ended. */
static void put_job(const struct view *view, const json_t *job)
{
    char running[TEXT_QUANTITY_MAX], left[TEXT_QUANTITY_MAX];
    (void)fprintf(view->out, "job %-6" PRId64 " ", number(job, "job_no"));
    text_put_cell(view->out, string(job, "label"), 14);
    (void)fputc(' ', view->out);
    text_put_cell(view->out, string(job, "id"), 11);
    (void)fprintf(view->out, " %s, %s left\n", duration(job, "running_ms", running),
                  duration(job, "remaining_ms", left));
}

static void put_slot(const struct view *view, const json_t *slot)
{
    const char *state = string(slot, "state");
    const json_t *job = json_object_get(slot, "job");
    (void)fprintf(view->out, "%4" PRId64 "  ", number(slot, "slot"));
    put_colour(view, slot_colour(state));
    size_t used = text_put_fit(view->out, state, 8);
    put_plain(view);
    if (json_is_object(job)) {
        (void)fprintf(view->out, "%*s", (int)(9 - used), "");
        put_job(view, job);
    } else {
        (void)fputc('\n', view->out);
    }
}

static void put_slots(const struct view *view, const json_t *slots)
{
    size_t busy = 0;
    for (size_t i = 0; i < json_array_size(slots); i++)
        busy += strcmp(string(json_array_get(slots, i), "state"), "busy") == 0;
    char heading[64];
    (void)snprintf(heading, sizeof(heading), "slots: %zu of %zu busy", busy,
                   json_array_size(slots));
    put_heading(view, heading);
    for (size_t i = 0; i < json_array_size(slots); i++)
        put_slot(view, json_array_get(slots, i));
}

/* --- clients, failures, isolation --------------------------------------------------------- */

static void put_client(const struct view *view, const json_t *client)
{
    char unsent[TEXT_QUANTITY_MAX];
    (void)fprintf(view->out,
                  "%4" PRId64 "  uid %-6" PRId64 " pid %-8" PRId64 " %4" PRId64 " queued %4" PRId64
                  " running",
                  number(client, "client"), number(client, "uid"), number(client, "pid"),
                  number(client, "queued"), number(client, "running"));
    if (number(client, "unsent_bytes") > 0)
        (void)fprintf(view->out, "  %s unread", size(client, "unsent_bytes", unsent));
    if (json_is_true(json_object_get(client, "paused"))) {
        (void)fputs("  ", view->out);
        put_coloured(view, YELLOW, "paused");
    }
    (void)fputc('\n', view->out);
}

static void put_clients(const struct view *view, const json_t *status)
{
    const json_t *clients = json_object_get(status, "clients");
    int64_t total = MAX(number(status, "clients_total"), (int64_t)json_array_size(clients));
    size_t shown = MIN(json_array_size(clients), CLIENTS_SHOWN);
    char heading[64];
    (void)snprintf(heading, sizeof(heading), "clients: %" PRId64, total);
    put_heading(view, heading);
    for (size_t i = 0; i < shown; i++)
        put_client(view, json_array_get(clients, i));
    if (total > (int64_t)shown)
        (void)fprintf(view->out, "      and %" PRId64 " more (--json lists up to 100)\n",
                      total - (int64_t)shown);
}

/* What went wrong may be a sentence: it has a line of its own. */
static void put_failure(const struct view *view, const json_t *failure)
{
    char ago[TEXT_QUANTITY_MAX];
    (void)fprintf(view->out, "  %s ago  job %" PRId64 "  ", duration(failure, "ago_ms", ago),
                  number(failure, "job_no"));
    (void)text_put_fit(view->out, string(failure, "label"), 20);
    (void)fputs("  ", view->out);
    (void)text_put_fit(view->out, string(failure, "id"), 20);
    (void)fputs("\n    ", view->out);
    put_colour(view, RED);
    (void)text_put_fit(view->out, string(failure, "what"), COLUMNS - 4);
    put_plain(view);
    (void)fputc('\n', view->out);
}

static void put_failures(const struct view *view, const json_t *failures)
{
    if (json_array_size(failures) == 0)
        return;
    put_heading(view, "last failures");
    for (size_t i = 0; i < json_array_size(failures); i++)
        put_failure(view, json_array_get(failures, i));
}

/* The names of LAYERS in one line, to be freed. */
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

static void put_isolation(const struct view *view, const json_t *isolation)
{
    const json_t *missing = json_object_get(isolation, "missing");
    _cleanup_free_ char *layers = join_layers(json_object_get(isolation, "layers"));
    put_heading(view, "isolation");
    put_label(view, "  class");
    text_put_fit(view->out, string(isolation, "class"), 40);
    (void)fputs("\n", view->out);
    put_label(view, "  digest");
    text_put_fit(view->out, string(isolation, "digest"), 68);
    (void)fputs("\n", view->out);
    put_label(view, "  in force");
    text_put_wrapped(view->out, layers && *layers ? layers : "nothing", LABEL_COLUMNS,
                     LABEL_COLUMNS, COLUMNS);
    for (size_t i = 0; i < json_array_size(missing); i++) {
        const json_t *layer = json_array_get(missing, i);
        char line[256];
        put_colour(view, YELLOW);
        put_label(view, "  missing");
        put_plain(view);
        (void)snprintf(line, sizeof(line), "%s: %s", string(layer, "layer"),
                       string(layer, "reason"));
        text_put_wrapped(view->out, line, LABEL_COLUMNS, LABEL_COLUMNS, COLUMNS);
    }
}

void statusview_put(FILE *out, const json_t *status, bool colour)
{
    const struct view view = {.out = out, .colour = colour};
    put_head(&view, status);
    put_memory(&view, json_object_get(status, "memory"));
    put_queue(&view, json_object_get(status, "queue"));
    put_counters(&view, json_object_get(status, "counters"));
    put_slots(&view, json_object_get(status, "slots"));
    put_clients(&view, status);
    put_failures(&view, json_object_get(status, "last_failures"));
    put_isolation(&view, json_object_get(status, "isolation"));
}
