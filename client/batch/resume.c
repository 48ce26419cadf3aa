/* SPDX-License-Identifier: MIT */
/* Theory of operation: the file of results is all that a run leaves behind and all that the next
 * run reads. The ledger takes in its lines, and then tells for each job of the input whether the
 * file answers it. While jobs run, only the torn line at the end of the file is removed: a job that
 * runs again adds a line, and the last line of an id counts. At the end of the run a copy without
 * the earlier lines replaces the file. */
#include "engine_private.h"
#include "explain.h"

#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

#define LEFT_OVER_NAMED 5
/* While counting a long file, look for a signal after this many lines. */
#define SIGNALS_EVERY 1024
/* Announce the reading of a file of this many bytes: it takes a second or more. */
#define LONG_FILE ((off_t)16 << 20)

static int add_line(const struct result_line *line, void *arg)
{
    return ledger_add_line(arg, line);
}

static void tell_of_long_file(const struct engine *engine)
{
    const struct output *output = &engine->output;
    char size[TEXT_QUANTITY_MAX];
    struct stat st;
    if (!engine->options.quiet && fstat(output->fd, &st) == 0 && st.st_size >= LONG_FILE)
        complain("%s: reading %s of results", output->path, text_size(st.st_size, size));
}

/* Cuts off what an interrupted write left of a line. END is the end of the last whole line. */
static int cut_torn_line(const struct engine *engine, off_t end, struct fault *fault)
{
    const struct output *output = &engine->output;
    struct stat st;
    if (fstat(output->fd, &st) < 0 || (st.st_size > end && ftruncate(output->fd, end) < 0))
        return fault_set(fault, "%s: %s", output->path, strerror(errno));
    if (st.st_size > end)
        complain("%s: cut off an incomplete last line of %" PRId64 " bytes", output->path,
                 (int64_t)(st.st_size - end));
    return 0;
}

int engine_resume(struct engine *engine, struct fault *fault)
{
    struct ledger *ledger = &engine->ledger;
    off_t end;
    tell_of_long_file(engine);
    int r = resultfile_read(engine->output.path, false, add_line, ledger, &end, fault);
    if (r == 0)
        r = cut_torn_line(engine, end, fault);
    if (r < 0)
        return r;
    uint64_t passed = ledger->lines[LEDGER_PASSED], failed = ledger->lines[LEDGER_FAILED];
    uint64_t errors = ledger->lines[LEDGER_ERROR], n = passed + failed + errors;
    if (engine->options.quiet)
        return 0;
    if (n == 0)
        complain("%s has no results yet: nothing to continue", engine->output.path);
    else
        complain(
            "%s has %" PRIu64 " job%s: %" PRIu64 " passed, %" PRIu64 " failed, %" PRIu64 " error%s",
            engine->output.path, n, text_plural(n), passed, failed, errors, text_plural(errors));
    return 0;
}

/* --- at the end --------------------------------------------------------------------------- */

struct counting {
    struct engine *engine;
    FILE *left_over; /* the first few ids that the input lacks */
    uint64_t n_left_over;
};

static void count_message(const struct result_line *line, struct summary *summary)
{
    const struct message message = {
        .type = line->answered ? MESSAGE_RESULT : MESSAGE_ERROR,
        .object = line->object,
    };
    if (line->answered) {
        struct score_parts parts = message_score(&message);
        summary_add_result(summary, &parts);
        explain_to_summary(&message, json_string_value(json_object_get(line->object, "id")),
                           summary);
    } else {
        const char *code = message_text(&message, "code");
        summary_add_error(summary, code ? code : "?", message_text(&message, "id"),
                          message_text(&message, "message"));
    }
}

static void name_left_over(struct counting *counting, const struct result_line *line)
{
    if (!counting->left_over ||
        ledger_has_job(&counting->engine->ledger, line->id, line->id_length))
        return;
    if (counting->n_left_over++ < LEFT_OVER_NAMED) {
        (void)fputs(counting->n_left_over > 1 ? ", " : "", counting->left_over);
        text_put(counting->left_over, line->id, line->id_length);
    }
}

static int count_flakiness(struct flakiness *flakiness, const struct result_line *line)
{
    const json_t *id = json_object_get(line->run, "case_id");
    return json_is_string(id) ? flakiness_add(flakiness, json_string_value(id),
                                              json_string_length(id), line->passed)
                              : 0;
}

static int count_line(const struct result_line *line, void *arg)
{
    struct counting *counting = arg;
    struct engine *engine = counting->engine;
    if (line->number % SIGNALS_EVERY == 0 && interrupt_count(&engine->interrupt) > 0)
        return -EINTR;
    if (engine->work.recounted)
        engine->work.recounted(engine->work.arg, line, &engine->summary);
    else
        count_message(line, &engine->summary);
    name_left_over(counting, line);
    return line->answered && engine->flakiness ? count_flakiness(engine->flakiness, line) : 0;
}

/* Empties the summary but for the count of unusable input. */
static int forget_counts(struct engine *engine)
{
    struct summary empty;
    int r = summary_init(&empty);
    if (r < 0)
        return r;
    empty.unusable = engine->summary.unusable;
    empty.named = engine->summary.named;
    summary_deinit(&engine->summary);
    engine->summary = empty;
    if (engine->flakiness) {
        flakiness_deinit(engine->flakiness);
        r = flakiness_init(engine->flakiness);
    }
    if (engine->work.recount)
        engine->work.recount(engine->work.arg);
    return r;
}

/* Counts the file anew. What was counted on the way lacks the jobs of earlier runs, and includes
 * lines that could not be written. */
static void count_file(struct engine *engine)
{
    char *names = NULL;
    size_t length = 0;
    off_t end;
    struct fault fault = FAULT_NULL;
    /* The rest of an input that was not read to its end might name any id. */
    struct counting counting = {
        .engine = engine,
        .left_over = engine->exhausted ? open_memstream(&names, &length) : NULL,
    };
    tell_of_long_file(engine);
    int r = forget_counts(engine);
    if (r == 0)
        r = resultfile_read(engine->output.path, engine->ledger.superseded > 0, count_line,
                            &counting, &end, &fault);
    if (counting.left_over)
        (void)fclose(counting.left_over);
    if (r == -EINTR) {
        engine_note_interrupt(engine);
        complain("interrupted while counting %s: the summary has only part of it",
                 engine->output.path);
    } else if (r < 0) {
        complain("%s", fault.text[0] ? fault.text : strerror(-r));
    }
    uint64_t n = engine->not_in_input = counting.n_left_over;
    if (n > 0)
        complain("%s: %" PRIu64 " id%s no longer in the input; the file keeps the results: %s%s",
                 engine->output.path, n, n == 1 ? " is" : "s are", names,
                 n > LEFT_OVER_NAMED ? ", ..." : "");
    free(names);
    engine_note_recount(engine);
}

/* An input that has nothing to grade is a mistake, and a CI job that waits for the exit status must
 * not pass by it. Jobs that were left out or could not be used have been named before. */
static void refuse_empty_run(struct engine *engine)
{
    bool is_empty = engine->exhausted && engine->taken == 0 && !engine->work.aside;
    if (!is_empty || engine->left_out > 0 || engine->summary.unusable > 0)
        return;
    complain("%s%s%s",
             engine->options.filters.n > 0 ? "no job of the input passes --filter"
                                           : "the input has no jobs",
             engine->output.replaces ? "; the results of an earlier run stay in " : "",
             engine->output.replaces ? engine->output.path : "");
    engine_note_empty(engine);
}

void engine_conclude(struct engine *engine)
{
    struct fault fault = FAULT_NULL;
    bool resumed = engine->options.resume;
    engine->ended_ms = monotonic_ms();
    refuse_empty_run(engine);
    if (!engine->output.ours || (!resumed && !engine->ending.unwritten))
        return;
    if (engine->ledger.superseded > 0 && !engine->ending.unwritten && !engine->ending.interrupted) {
        if (resultfile_compact(engine->output.path, &fault) == 0)
            engine->ledger.superseded = 0;
        else
            complain("cannot remove lines of results that later ones replace: %s", fault.text);
    }
    count_file(engine);
}
