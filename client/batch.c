/* SPDX-License-Identifier: MIT */
/* Theory of operation: one poll loop over the daemon, the input, the output and the signals.
 * A window of jobs is in flight; a line is read only when there is room for it, so that memory is
 * bounded by the window whatever the input holds. Nothing blocks: a slow input does not delay
 * results, a slow reader of the output does not keep Ctrl-C from being heard, and replies are read
 * while submissions wait for a daemon that has stopped reading. */
#include "commands.h"
#include "connect.h"
#include "files.h"
#include "input.h"
#include "interrupt.h"
#include "jobline.h"
#include "output.h"
#include "pending.h"
#include "progress.h"
#include "summary.h"
#include "text.h"

#include <inttypes.h>
#include <poll.h>
#include <string.h>

#define WINDOW_DEFAULT 256
/* How much of a window is filled up at once; a small one is kept full. */
#define SLACK_PART 4
#define SLACK_WINDOW_MIN 64
/* With more than this unsent, no further job is taken from the input. */
#define UNSENT_MAX (1U << 20)
/* With more than this unwritten, the daemon's replies are left where they are. */
#define UNWRITTEN_MAX (4U << 20)
#define STALL_FIRST_MS 20000
#define CANCEL_TIMEOUT_MS 5000
#define IDS_NAMED 5

struct batch_options {
    const char *output;
    bool force;
    const char *bench_root;
    long jobs;
    bool quiet;
};

enum phase {
    PHASE_SUBMITTING,
    PHASE_FINISHING,  /* no more is submitted, what is in flight is awaited */
    PHASE_CANCELLING, /* what is in flight has been cancelled */
    PHASE_OVER,       /* nothing more comes from the daemon; what is unwritten is written */
    PHASE_ABORTED,    /* the loop ends now */
};

struct batch {
    struct session session;
    struct interrupt interrupt;
    struct input input;
    struct output output;
    struct pending pending;
    struct summary summary;
    struct progress progress;
    struct ending ending;
    struct jobline_policy policy;
    enum phase phase;
    size_t window;
    bool full;     /* it is not filled for now */
    bool draining; /* the daemon takes no more jobs */
    bool reader_gone;
    int64_t started_ms;
    int64_t progressed_ms; /* when something last finished, or the first job was sent */
    int64_t stall_ms;      /* without progress, until the next notice */
    int64_t cancel_deadline_ms;
};

/* --- what is said while it runs ----------------------------------------------------------- */

/* A message on a line of its own, under or over the live one. */
#define batch_complain(batch, ...)          \
    do {                                    \
        progress_clear(&(batch)->progress); \
        complain(__VA_ARGS__);              \
    } while (0)

/* The first few ids in flight, to be freed; NULL when memory runs out. */
static char *name_pending(const struct batch *batch)
{
    char *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);
    if (!out)
        return NULL;
    pending_put(out, &batch->pending, IDS_NAMED);
    (void)fclose(out);
    return text;
}

static void show_progress(struct batch *batch, int64_t now)
{
    const struct summary *summary = &batch->summary;
    int64_t ms = MAX(now - batch->started_ms, 1);
    char wall[TEXT_QUANTITY_MAX];
    progress_show(&batch->progress, now,
                  "%" PRIu64 " done: %" PRIu64 " passed, %" PRIu64 " failed, %" PRIu64
                  " errors; %zu in flight; %.0f jobs/s; %s",
                  summary_answered(summary), summary->passed, summary->failed, summary->errors,
                  pending_count(&batch->pending),
                  (double)summary_answered(summary) * 1000 / (double)ms, text_duration(ms, wall));
}

/* Each notice comes after twice the silence of the last. */
static void notice_stall(struct batch *batch, int64_t now)
{
    size_t n = pending_count(&batch->pending);
    if (n == 0 || batch->phase > PHASE_CANCELLING || now - batch->progressed_ms < batch->stall_ms)
        return;
    char silence[TEXT_QUANTITY_MAX];
    char *names = name_pending(batch);
    batch_complain(batch, "nothing has finished for %s; still waiting for %zu job%s: %s",
                   text_duration(now - batch->progressed_ms, silence), n, text_plural(n),
                   names ? names : "");
    free(names);
    batch->stall_ms *= 2;
}

static void lose_daemon(struct batch *batch, const char *why)
{
    size_t n = pending_count(&batch->pending);
    bool unread = batch->phase == PHASE_SUBMITTING;
    batch->phase = PHASE_OVER;
    if (n == 0 && !unread)
        return; /* it has done all that it was asked */
    batch->ending.lost = true;
    char *names = name_pending(batch);
    batch_complain(batch, "%s; %zu job%s unanswered%s%s%s", why, n, n == 1 ? " is" : "s are",
                   n > 0 ? ": " : "", names ? names : "",
                   unread ? "; not all input was submitted" : "");
    free(names);
}

/* --- from the input to the daemon --------------------------------------------------------- */

static void refuse_input(struct batch *batch, const char *why)
{
    batch_complain(batch, "%s", why);
    batch->summary.unusable++;
    batch->ending.bad_input = true;
}

static int submit(struct batch *batch, const char *line, size_t n, struct fault *fault)
{
    _cleanup_bytes_ struct bytes default_id = BYTES_NULL;
    _cleanup_submission_ struct submission job = SUBMISSION_NULL;
    int r = jobline_default_id(batch->input.name, batch->input.line_no, &default_id);
    if (r == 0)
        r = jobline_from_text(line, n, &default_id, &batch->policy, &job, fault);
    if (r < 0)
        return r;
    bool was_idle = pending_count(&batch->pending) == 0;
    r = pending_add(&batch->pending, &job.id);
    if (r == -EEXIST)
        (void)fault_set(fault, "id \"%s\" is that of a job still in flight", job.id.data);
    if (r < 0)
        return r;
    r = session_send(&batch->session, job.payload.data, job.payload.length);
    if (r < 0)
        (void)pending_remove(&batch->pending, job.id.data, job.id.length);
    else if (was_idle)
        batch->progressed_ms = monotonic_ms();
    return r;
}

static void take_line(struct batch *batch, const char *line, size_t n)
{
    const struct input *input = &batch->input;
    if (jobline_blank(line, n))
        return;
    if (batch->draining) {
        batch_complain(batch,
                       "rubricd is draining: %s:%" PRIu64 " and what follows was not "
                       "submitted",
                       input->name, input->line_no);
        batch->ending.lost = true;
        batch->phase = PHASE_FINISHING;
        return;
    }
    struct fault why = FAULT_NULL;
    int r = submit(batch, line, n, &why);
    if (r < 0) {
        struct fault where;
        (void)fault_set(&where, "%s:%" PRIu64 ": %s", input->name, input->line_no,
                        why.text[0] ? why.text : strerror(-r));
        refuse_input(batch, where.text);
    }
}

/* A full window is filled up again when a part of it is free, not with each job that comes back:
 * both sides then wake up for many jobs at once. */
static bool window_is_open(struct batch *batch)
{
    size_t count = pending_count(&batch->pending);
    size_t slack = batch->window >= SLACK_WINDOW_MIN ? batch->window / SLACK_PART : 0;
    if (count >= batch->window)
        batch->full = true;
    else if (count + slack <= batch->window)
        batch->full = false;
    return !batch->full;
}

static bool has_room(struct batch *batch)
{
    return batch->phase == PHASE_SUBMITTING && window_is_open(batch) &&
           session_unsent(&batch->session) < UNSENT_MAX &&
           output_unwritten(&batch->output) < UNWRITTEN_MAX;
}

/* Submits what has been read. Afterwards either there is no room, or input has to be read. */
static void submit_lines(struct batch *batch)
{
    while (has_room(batch)) {
        const char *line;
        size_t n;
        struct fault fault = FAULT_NULL;
        switch (input_next(&batch->input, &line, &n, &fault)) {
        case INPUT_LINE:
            take_line(batch, line, n);
            break;
        case INPUT_WRONG:
            refuse_input(batch, fault.text);
            break;
        case INPUT_WAIT:
            return;
        case INPUT_END:
            batch->phase = PHASE_FINISHING;
            break;
        }
    }
}

/* --- from the daemon to the output -------------------------------------------------------- */

static void record(struct batch *batch, struct message *message)
{
    /* JSON has newlines only between its tokens; a line of output has none. */
    char *text = message->payload.data;
    size_t n = message->payload.length;
    for (char *p = text; (p = memchr(p, '\n', n - (size_t)(p - text))) != NULL;)
        *p = ' ';

    if (message->type == MESSAGE_RESULT) {
        struct verdict verdict = message_verdict(message);
        summary_add_verdict(&batch->summary, &verdict);
        batch->ending.failed |= !verdict.passed;
    } else {
        const char *code = message_text(message, "code");
        summary_add_error(&batch->summary, code);
        batch->ending.errors = true;
        batch->draining |= strcmp(code, "draining") == 0;
    }
    batch->progressed_ms = monotonic_ms();
    batch->stall_ms = STALL_FIRST_MS;
    if (output_line(&batch->output, text, n) < 0) {
        batch_complain(batch, "out of memory");
        batch->ending.lost = true;
        batch->phase = PHASE_ABORTED;
    }
}

static void take_answer(struct batch *batch, struct message *message)
{
    const json_t *id = json_object_get(message->object, "id");
    if (json_is_string(id) &&
        pending_remove(&batch->pending, json_string_value(id), json_string_length(id))) {
        record(batch, message);
        return;
    }
    /* A cancel may cross the answer of its job: the daemon then knows no such job. */
    if (message->type == MESSAGE_ERROR && batch->phase == PHASE_CANCELLING)
        return;
    progress_clear(&batch->progress);
    if (message->type == MESSAGE_ERROR)
        complain("rubricd: %s: %s", message_text(message, "code"),
                 message_text(message, "message"));
    else
        session_unexpected(message);
}

static void take_messages(struct batch *batch)
{
    while (batch->phase < PHASE_OVER) {
        _cleanup_message_ struct message message = MESSAGE_NULL;
        struct fault fault = FAULT_NULL;
        int r = session_next(&batch->session, &message, &fault);
        if (r == 0)
            return;
        if (r < 0) {
            lose_daemon(batch, fault.text);
            return;
        }
        if (message.type == MESSAGE_RESULT || message.type == MESSAGE_ERROR) {
            take_answer(batch, &message);
        } else if (message.type != MESSAGE_STARTED) {
            progress_clear(&batch->progress);
            session_unexpected(&message);
        }
    }
}

static void write_output(struct batch *batch)
{
    if (output_unwritten(&batch->output) == 0)
        return;
    if (batch->progress.live && isatty(batch->output.fd))
        progress_clear(&batch->progress);
    int r = output_flush(&batch->output);
    if (r == -EPIPE) {
        batch->reader_gone = true;
        batch->ending.interrupted = true;
        batch->phase = PHASE_ABORTED;
    } else if (r < 0) {
        batch_complain(batch, "cannot write the output: %s", strerror(-r));
        batch->ending.bad_input = true;
        batch->phase = PHASE_ABORTED;
    }
}

/* --- signals ------------------------------------------------------------------------------ */

static bool cancel_one(const char *id, size_t n, void *arg)
{
    struct batch *batch = arg;
    _cleanup_bytes_ struct bytes payload = BYTES_NULL;
    _cleanup_json_ json_t *cancel = json_pack("{s:s,s:s%}", "type", "cancel", "id", id, n);
    return cancel && json_print(cancel, &payload) == 0 &&
           session_send(&batch->session, payload.data, payload.length) == 0;
}

static void take_signal(struct batch *batch)
{
    size_t n = pending_count(&batch->pending);
    batch->ending.interrupted = true;
    if (batch->phase == PHASE_CANCELLING || batch->phase == PHASE_OVER) {
        batch->phase = PHASE_ABORTED;
    } else if (batch->cancel_deadline_ms == 0) {
        /* The first one: what has not been submitted is left alone. */
        batch->cancel_deadline_ms = -1;
        batch->phase = PHASE_FINISHING;
        if (n > 0)
            batch_complain(batch,
                           "interrupted: nothing more is submitted; waiting for %zu job%s "
                           "in flight (once more cancels)",
                           n, text_plural(n));
    } else {
        batch_complain(batch, "cancelling %zu job%s", n, text_plural(n));
        batch->phase = PHASE_CANCELLING;
        batch->cancel_deadline_ms = monotonic_ms() + CANCEL_TIMEOUT_MS;
        pending_each(&batch->pending, cancel_one, batch);
    }
}

/* --- the loop ----------------------------------------------------------------------------- */

static bool is_done(struct batch *batch)
{
    if (batch->phase == PHASE_ABORTED)
        return true;
    if (batch->phase == PHASE_CANCELLING && monotonic_ms() >= batch->cancel_deadline_ms)
        batch->phase = PHASE_OVER;
    bool over = batch->phase == PHASE_OVER ||
                (batch->phase != PHASE_SUBMITTING && pending_count(&batch->pending) == 0);
    return over && output_unwritten(&batch->output) == 0;
}

/* Milliseconds until something has to be said or given up. */
static int next_timeout(const struct batch *batch, int64_t now)
{
    int64_t next = INT64_MAX;
    int wait = progress_wait(&batch->progress, now);
    if (wait >= 0)
        next = now + wait;
    if (pending_count(&batch->pending) > 0 && batch->phase < PHASE_OVER)
        next = MIN(next, batch->progressed_ms + batch->stall_ms);
    if (batch->phase == PHASE_CANCELLING)
        next = MIN(next, batch->cancel_deadline_ms);
    return next == INT64_MAX ? -1 : (int)MAX(next - now, 0);
}

static int turn(struct batch *batch)
{
    enum { SIGNALS, DAEMON, INPUT, OUTPUT, FDS };
    size_t unwritten = output_unwritten(&batch->output);
    bool with_daemon = batch->phase < PHASE_OVER;
    struct pollfd fds[FDS] = {
        [SIGNALS] = {.fd = batch->interrupt.fd, .events = POLLIN},
        [DAEMON] = {.fd = with_daemon ? batch->session.fd : -1,
                    .events = session_events(&batch->session, unwritten > UNWRITTEN_MAX)},
        [INPUT] = {.fd = has_room(batch) ? batch->input.fd : -1, .events = POLLIN},
        [OUTPUT] = {.fd = unwritten > 0 ? batch->output.fd : -1, .events = POLLOUT},
    };
    if (poll(fds, FDS, next_timeout(batch, monotonic_ms())) < 0 && errno != EINTR)
        return -errno;
    for (unsigned n = interrupt_count(&batch->interrupt); n > 0; n--)
        take_signal(batch);
    if (fds[DAEMON].revents) {
        int r = session_pump(&batch->session, fds[DAEMON].revents);
        if (r < 0)
            return r;
        take_messages(batch);
    }
    if (fds[INPUT].revents)
        input_read(&batch->input);
    submit_lines(batch);
    write_output(batch);
    return 0;
}

static void run_loop(struct batch *batch)
{
    submit_lines(batch);
    while (!is_done(batch)) {
        int r = turn(batch);
        if (r < 0) {
            lose_daemon(batch, strerror(-r));
            batch->phase = PHASE_ABORTED;
        }
        int64_t now = monotonic_ms();
        notice_stall(batch, now);
        show_progress(batch, now);
    }
    progress_clear(&batch->progress);
}

/* --- the command -------------------------------------------------------------------------- */

/* A file that cannot be read is better known before the first job has run. */
static int check_files(const struct text_list *files)
{
    for (size_t i = 0; i < files->n; i++) {
        if (strcmp(files->items[i], "-") != 0 && access(files->items[i], R_OK) < 0) {
            complain("%s: %s", files->items[i], strerror(errno));
            return -1;
        }
    }
    return 0;
}

static int batch_open(struct batch *batch, const struct batch_options *options,
                      const struct text_list *files)
{
    struct fault fault = FAULT_NULL;
    int r = output_open(&batch->output, options->output, options->force, files->items, files->n,
                        &fault);
    if (r == 0)
        r = input_init(&batch->input, files->items, files->n, batch->session.max_frame);
    if (r == 0)
        r = pending_init(&batch->pending);
    if (r == 0)
        r = summary_init(&batch->summary);
    if (r == 0)
        r = interrupt_init(&batch->interrupt);
    if (r < 0) {
        complain("%s", fault.text[0] ? fault.text : strerror(-r));
        return r;
    }
    progress_init(&batch->progress, options->quiet);
    batch->policy.max_frame = batch->session.max_frame;
    batch->window = options->jobs > 0 ? (size_t)options->jobs
                                      : (size_t)MIN(batch->session.jobs_per_client, WINDOW_DEFAULT);
    batch->started_ms = batch->progressed_ms = monotonic_ms();
    batch->stall_ms = STALL_FIRST_MS;
    return 0;
}

static void batch_deinit(struct batch *batch)
{
    output_close(&batch->output);
    input_deinit(&batch->input);
    pending_deinit(&batch->pending);
    summary_deinit(&batch->summary);
    session_deinit(&batch->session);
    interrupt_deinit(&batch->interrupt);
}

static void put_summary(const struct batch *batch)
{
    const struct summary_run run = {
        .wall_ms = monotonic_ms() - batch->started_ms,
        .unanswered = pending_count(&batch->pending),
    };
    summary_put(stderr, &batch->summary, &run);
}

static enum exit_status run_batch(const struct globals *globals, const void *options_,
                                  const struct text_list *files)
{
    const struct batch_options *options = options_;
    _cleanup_free_ char *bench_root = NULL;
    struct fault fault = FAULT_NULL;
    if (file_resolve_bench_root(options->bench_root, &bench_root, &fault) < 0) {
        complain("%s", fault.text);
        return STATUS_USAGE;
    }
    if (check_files(files) < 0)
        return STATUS_USAGE;

    _cleanup_(batch_deinit) struct batch batch = {
        .session = SESSION_NULL,
        .interrupt = INTERRUPT_NULL,
        .input = INPUT_NULL,
        .output = OUTPUT_NULL,
        .policy = {.bench_root = bench_root},
    };
    if (connect_session(globals, CONNECT_OR_START, &batch.session) < 0)
        return STATUS_NO_DAEMON;
    if (batch_open(&batch, options, files) < 0)
        return STATUS_USAGE;
    run_loop(&batch);
    if (!options->quiet && !batch.reader_gone)
        put_summary(&batch);
    return ending_status(&batch.ending, globals->no_fail);
}

static const struct option_spec batch_specs[] = {
    {
        .letter = 'o',
        .name = "output",
        .argument = "FILE",
        .kind = OPTION_TEXT,
        .offset = offsetof(struct batch_options, output),
        .help = "write the results to FILE instead of standard output",
    },
    {
        .letter = 'f',
        .name = "force",
        .kind = OPTION_FLAG,
        .offset = offsetof(struct batch_options, force),
        .help = "overwrite FILE if it is there already",
    },
    {
        .letter = 'b',
        .name = "bench-root",
        .argument = "DIR",
        .kind = OPTION_TEXT,
        .offset = offsetof(struct batch_options, bench_root),
        .help = "where the task classes are, for lines that name no bench_root",
    },
    {
        .letter = 'j',
        .name = "jobs",
        .argument = "N",
        .kind = OPTION_NUMBER,
        .offset = offsetof(struct batch_options, jobs),
        .min = 1,
        .max = 10000,
        .help = "jobs in flight (default: what the daemon queues for one client, at most 256)",
    },
    {
        .letter = 'q',
        .name = "quiet",
        .kind = OPTION_FLAG,
        .offset = offsetof(struct batch_options, quiet),
        .help = "no summary and no progress line; only trouble is told",
    },
};

const struct command command_batch = {
    .name = "batch",
    .arguments = "FILE...",
    .arguments_min = 1,
    .arguments_max = -1,
    .brief = "grade the jobs in JSONL files, many at a time",
    .description =
        "Each line of each FILE (\"-\": standard input) is one job, a JSON object:\n"
        "\n"
        "  {\"id\": \"a1\", \"kind\": \"rubric\", \"task_class\": \"exact-match\",\n"
        "   \"case\": {...}, \"harness_output\": {...}}\n"
        "\n"
        "or {\"kind\": \"sandbox\", \"argv\": [...]}, on one line. Optional: bench_root, sut,\n"
        "priority, limits; and for a sandbox files, stdin, env. A job without an id gets\n"
        "FILE:LINE. Blank lines are skipped. A line that cannot be used is named on\n"
        "standard error; the others go on.\n"
        "\n"
        "Each answer of the daemon, a `result` or an `error` message, is one line of\n"
        "output, written as soon as it comes: in order of completion, not of input. A\n"
        "summary for people goes to standard error at the end.\n"
        "\n"
        "The first Ctrl-C stops submitting and waits for the jobs in flight; the second\n"
        "cancels those.\n",
    .examples = "  rubricctl batch --bench-root tests/data/bench jobs.jsonl > scores.jsonl\n"
                "  make-jobs | rubricctl batch --embedded --slots 4 -o scores.jsonl -\n"
                "  rubricctl batch jobs.jsonl | jq -c 'select(.score.passed == false) | .id'\n",
    .exits = "  0    every job passed\n"
             "  1    a verdict failed (with --no-fail: 0)\n"
             "  2    wrong usage, or an input line that could not be used\n"
             "  3    no daemon, or it was lost before every job was answered\n"
             "  4    some jobs ended in an error instead of a verdict\n"
             "  130  interrupted, or the reader of the output went away\n"
             "  Where several apply: 130, then 3, 2, 4, 1.\n",
    .options = batch_specs,
    .n_options = ARRAY_SIZE(batch_specs),
    .options_size = sizeof(struct batch_options),
    .run = run_batch,
};
