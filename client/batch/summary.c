/* SPDX-License-Identifier: MIT */
#include "summary.h"

#include "client/terminal/text.h"
#include "proto/util.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#define NAME_MAX_SHOWN 100
#define MESSAGE_MAX_SHOWN 300
#define OTHERS "(others)"
#define CRASH "rubric.malformed_output"
/* Show this many lines of a list. */
#define CODES_SHOWN 20

int summary_init(struct summary *ret)
{
    _cleanup_summary_ struct summary summary = {
        .failure_modes = json_object(),
        .error_codes = json_object(),
        .messages = json_object(),
    };
    if (!summary.failure_modes || !summary.error_codes || !summary.messages)
        return -ENOMEM;
    *ret = TAKE_STRUCT(summary, SUMMARY_NULL);
    return 0;
}

void summary_deinit(struct summary *summary)
{
    json_decref(summary->failure_modes);
    json_decref(summary->error_codes);
    json_decref(summary->messages);
    json_decref(summary->crash);
    *summary = (struct summary)SUMMARY_NULL;
}

/* Counts NAME, or "(others)" if there are too many names; returns which. */
static const char *count(json_t *counts, const char *name)
{
    json_t *found = json_object_get(counts, name);
    if (!found && json_object_size(counts) >= SUMMARY_CODES_MAX) {
        name = OTHERS;
        found = json_object_get(counts, name);
    }
    if (found)
        (void)json_integer_set(found, json_integer_value(found) + 1);
    else
        (void)json_object_set_new(counts, name, json_integer(1));
    return name;
}

static void count_failure_mode(json_t *counts, const json_t *mode)
{
    char name[256];
    const char *code = json_string_value(json_object_get(mode, "code"));
    const char *severity = json_string_value(json_object_get(mode, "severity"));
    if (!severity || strcmp(severity, "block") == 0) {
        (void)count(counts, code);
        return;
    }
    int n = snprintf(name, sizeof(name), "%s (%s)", code, severity);
    (void)count(counts, n < (int)sizeof(name) ? name : OTHERS);
}

void summary_add_result(struct summary *summary, const struct score_parts *parts)
{
    if (parts->passed)
        summary->passed++;
    else
        summary->failed++;
    if (!isnan(parts->score)) {
        summary->scored++;
        summary->score_sum += parts->score;
    }
    summary->cost_usd += parts->cost_usd;
    if (parts->reason)
        (void)count(summary->failure_modes, parts->reason);
    for (size_t i = 0; i < json_array_size(parts->failure_modes); i++)
        count_failure_mode(summary->failure_modes, json_array_get(parts->failure_modes, i));
}

void summary_explain(struct summary *summary, const char *code, const char *name,
                     const char *message)
{
    json_t *messages = json_object_get(summary->messages, code);
    if (!messages) {
        messages = json_object();
        (void)json_object_set_new(summary->messages, code, messages);
    }
    if (json_object_size(messages) <= SUMMARY_MESSAGES_MAX && !json_object_get(messages, message))
        (void)json_object_set_new(messages, message, json_string(name ? name : ""));
}

void summary_add_error(struct summary *summary, const char *code, const char *name,
                       const char *message)
{
    summary->errors++;
    const char *counted = count(summary->error_codes, code);
    if (message)
        summary_explain(summary, counted, name, message);
}

void summary_add_crash(struct summary *summary, const char *name, const char *why)
{
    if (summary->crashed++ == 0)
        summary->crash = json_sprintf("%s%s%s", name ? name : "", name ? ": " : "", why);
}

uint64_t summary_answered(const struct summary *summary)
{
    return summary->passed + summary->failed + summary->errors;
}

/* --- rendering ---------------------------------------------------------------------------- */

struct counted {
    const char *name;
    json_int_t n;
};

/* Orders by count, largest first, then by name. */
static int compare_counted(const void *a, const void *b)
{
    const struct counted *x = a, *y = b;
    if (x->n != y->n)
        return x->n < y->n ? 1 : -1;
    return strcmp(x->name, y->name);
}

/* Writes each message of a code with the name of the first job that has it. */
static void put_messages(FILE *out, json_t *messages)
{
    size_t shown = 0;
    const char *message;
    json_t *id;
    json_object_foreach(messages, message, id)
    {
        if (shown++ == SUMMARY_MESSAGES_MAX)
            break;
        (void)fprintf(out, "%8s  ", "");
        if (json_string_length(id) > 0) {
            (void)text_put_fit(out, json_string_value(id), NAME_MAX_SHOWN);
            (void)fputs(": ", out);
        }
        (void)text_put_fit(out, message, MESSAGE_MAX_SHOWN);
        (void)fputc('\n', out);
    }
    if (json_object_size(messages) > SUMMARY_MESSAGES_MAX)
        (void)fprintf(out, "%8s  further messages are in the results\n", "");
}

/* Writes TITLE and the counts. EXAMPLES has the messages of each name; NULL: none. */
static void put_counts(FILE *out, const char *title, json_t *counts, const json_t *examples)
{
    struct counted sorted[SUMMARY_CODES_MAX + 1];
    size_t n = 0;
    for (void *i = json_object_iter(counts); i && n < ARRAY_SIZE(sorted);
         i = json_object_iter_next(counts, i))
        sorted[n++] = (struct counted){
            .name = json_object_iter_key(i),
            .n = json_integer_value(json_object_iter_value(i)),
        };
    if (n == 0)
        return;
    qsort(sorted, n, sizeof(sorted[0]), compare_counted);
    (void)fprintf(out, "%s\n", title);
    for (size_t i = 0; i < MIN(n, CODES_SHOWN); i++) {
        (void)fprintf(out, "%8" JSON_INTEGER_FORMAT "  ", sorted[i].n);
        (void)text_put_fit(out, sorted[i].name, NAME_MAX_SHOWN);
        (void)fputc('\n', out);
        put_messages(out, json_object_get(examples, sorted[i].name));
    }
    if (n > CODES_SHOWN)
        (void)fprintf(out, "%8s  and %zu more\n", "", n - CODES_SHOWN);
}

/* A rubric that crashed is the bench's fault, and its score of 0 looks like an answer's. */
static void put_crashes(FILE *out, const struct summary *summary)
{
    uint64_t n = summary->crashed;
    if (n == 0)
        return;
    (void)fprintf(out, "%" PRIu64 " of the failed: the rubric crashed, so the score of 0 says ", n);
    (void)fprintf(out, "nothing of the answer%s\n%8s  ", text_plural(n), "");
    (void)text_put_fit(out, json_string_value(summary->crash), MESSAGE_MAX_SHOWN);
    (void)fputs(n > 1 ? " (the first)\n" : "\n", out);
}

/* Says how many jobs the file of results had a verdict on that did not count. */
static void put_changed(FILE *out, uint64_t n, const char *what)
{
    if (n > 0)
        (void)fprintf(out, "%" PRIu64 " job%s again: %s has changed\n", n,
                      n == 1 ? " ran" : "s ran", what);
}

static void put_head(FILE *out, const struct summary *summary, const struct summary_run *run)
{
    char wall[TEXT_QUANTITY_MAX];
    uint64_t n = summary_answered(summary);
    if (n == 0) {
        (void)fputs("no job was graded\n", out);
        return;
    }
    (void)fprintf(
        out, "%" PRIu64 " job%s: %" PRIu64 " passed, %" PRIu64 " failed, %" PRIu64 " error%s\n", n,
        text_plural(n), summary->passed, summary->failed, summary->errors,
        text_plural(summary->errors));
    put_crashes(out, summary);
    if (summary->scored > 0)
        (void)fprintf(out, "mean score %.4f over %" PRIu64 " verdict%s, cost $%.4f\n",
                      summary->score_sum / (double)summary->scored, summary->scored,
                      text_plural(summary->scored), summary->cost_usd);
    double seconds = (double)MAX(run->wall_ms, 1) / 1000;
    (void)fprintf(out, "took %s", text_duration(run->wall_ms, wall));
    if (run->answered > 0)
        (void)fprintf(out, ", %.1f jobs/s", (double)run->answered / seconds);
    if (run->kept > 0)
        (void)fprintf(out, "; %" PRIu64 " job%s answered before", run->kept,
                      run->kept == 1 ? " was" : "s were");
    (void)fputc('\n', out);
    put_changed(out, run->rubric_changed, "the rubric");
    put_changed(out, run->changed, "the job");
}

static void put_errors(FILE *out, const struct summary *summary)
{
    put_counts(out, "errors (these jobs have no verdict):", summary->error_codes,
               summary->messages);
}

void summary_put(FILE *out, const struct summary *summary, const struct summary_run *run)
{
    put_head(out, summary, run);
    put_counts(out, "failure modes:", summary->failure_modes, summary->messages);
    if (json_object_get(summary->messages, CRASH))
        (void)fputs(
            "to see what a rubric wrote to stderr: rubricctl check-rubric, or outcome.stderr "
            "in the results\n",
            out);
    put_errors(out, summary);
    if (run->unanswered > 0)
        (void)fprintf(out, "%" PRIu64 " job%s unanswered\n", run->unanswered,
                      run->unanswered == 1 ? " is" : "s are");
    if (summary->unusable == 0)
        return;
    (void)fprintf(out, "%" PRIu64 " input line%s could not be used", summary->unusable,
                  text_plural(summary->unusable));
    if (summary->named > 0)
        (void)fprintf(out, ", so neither could %" PRIu64 " that depend%s on %s", summary->named,
                      summary->named == 1 ? "s" : "", summary->unusable == 1 ? "it" : "them");
    (void)fputs(" (named above)\n", out);
}

void summary_put_problems(FILE *out, const struct summary *summary)
{
    put_crashes(out, summary);
    put_errors(out, summary);
}
