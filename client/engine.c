/* SPDX-License-Identifier: MIT */
/* Theory of operation: one poll loop over the daemon, the input, the output and the signals.
 * A window of jobs is in flight; a line is read only when there is room for it, so that memory is
 * bounded by the window whatever the input holds. Nothing blocks: a slow input does not delay
 * results, a slow reader of the output does not keep Ctrl-C from being heard, and replies are read
 * while submissions wait for a daemon that has stopped reading. */
#include "engine.h"
#include "text.h"

#include <inttypes.h>
#include <poll.h>
#include <string.h>

#define WINDOW_DEFAULT 256
#define RECONNECT_DEFAULT_S 60
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

/* --- what is said while it runs ----------------------------------------------------------- */

/* A message on a line of its own, under or over the live one. */
#define engine_complain(engine, ...)         \
    do {                                     \
        progress_clear(&(engine)->progress); \
        complain(__VA_ARGS__);               \
    } while (0)

/* The first few ids in flight, to be freed; NULL when memory runs out. */
static char *name_pending(const struct engine *engine)
{
    char *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);
    if (!out)
        return NULL;
    pending_put(out, &engine->pending, IDS_NAMED);
    (void)fclose(out);
    return text;
}

static void show_progress(struct engine *engine, int64_t now)
{
    const struct summary *summary = &engine->summary;
    int64_t ms = MAX(now - engine->started_ms, 1);
    char wall[TEXT_QUANTITY_MAX];
    progress_show(&engine->progress, now,
                  "%" PRIu64 " done: %" PRIu64 " passed, %" PRIu64 " failed, %" PRIu64
                  " errors; %zu in flight; %.0f jobs/s; %s",
                  summary_answered(summary), summary->passed, summary->failed, summary->errors,
                  pending_count(&engine->pending),
                  (double)summary_answered(summary) * 1000 / (double)ms, text_duration(ms, wall));
}

/* Each notice comes after twice the silence of the last. */
static void notice_stall(struct engine *engine, int64_t now)
{
    size_t n = pending_count(&engine->pending);
    if (n == 0 || engine->phase > PHASE_CANCELLING ||
        now - engine->progressed_ms < engine->stall_ms)
        return;
    char silence[TEXT_QUANTITY_MAX];
    char *names = name_pending(engine);
    engine_complain(engine, "nothing has finished for %s; still waiting for %zu job%s: %s",
                    text_duration(now - engine->progressed_ms, silence), n, text_plural(n),
                    names ? names : "");
    free(names);
    engine->stall_ms *= 2;
}

/* A private daemon does not come back, and who has asked twice to end does not wait for one. */
static bool waits_for_daemon(const struct engine *engine)
{
    return engine->reconnect.patience_ms > 0 && engine->phase < PHASE_CANCELLING;
}

static bool is_connected(const struct engine *engine)
{
    return engine->reconnect.state == RECONNECT_NONE;
}

/* No word comes from the daemon any more. */
static void lose_daemon(struct engine *engine, const char *why)
{
    size_t n = pending_count(&engine->pending);
    bool unread = engine->phase == PHASE_SUBMITTING;
    engine->phase = PHASE_OVER;
    if (n == 0 && !unread)
        return; /* it has done all that it was asked */
    engine->ending.lost = true;
    char *names = name_pending(engine);
    engine_complain(engine, "%s; %zu job%s unanswered%s%s%s", why, n, n == 1 ? " is" : "s are",
                    n > 0 ? ": " : "", names ? names : "",
                    unread ? "; not all input was submitted" : "");
    free(names);
}

/* What the daemon has not answered it gets again when it is back. */
static void lose_connection(struct engine *engine, const char *why)
{
    size_t n = pending_count(&engine->pending);
    if (!waits_for_daemon(engine) || (n == 0 && engine->phase != PHASE_SUBMITTING)) {
        lose_daemon(engine, why);
        return;
    }
    engine_complain(engine,
                    "%s; waiting %" PRId64 " s at most for it to come back (%zu job%s in flight)",
                    why, engine->reconnect.patience_ms / 1000, n, text_plural(n));
    reconnect_begin(&engine->reconnect, &engine->session, monotonic_ms());
}

static bool submit_again(const char *id, _unused_ size_t n, const struct bytes *payload, void *arg)
{
    struct engine *engine = arg;
    int r = session_send(&engine->session, payload->data, payload->length);
    if (r < 0)
        engine_complain(engine, "job %s cannot be submitted again: %s", id, strerror(-r));
    return r != -ENOMEM;
}

static void go_on_connecting(struct engine *engine)
{
    struct reconnect *reconnect = &engine->reconnect;
    size_t n = pending_count(&engine->pending);
    switch (reconnect_go_on(reconnect, &engine->session, monotonic_ms())) {
    case RECONNECT_GOES_ON:
        break;
    case RECONNECT_GIVEN_UP:
        reconnect->state = RECONNECT_NONE;
        session_disconnect(&engine->session);
        lose_daemon(engine, *reconnect->why.text ? reconnect->why.text : "rubricd is gone");
        break;
    case RECONNECT_BACK:
        engine_complain(engine, "rubricd %s is back: submitting %zu job%s again",
                        engine->session.version, n, text_plural(n));
        engine->draining = false;
        engine->progressed_ms = monotonic_ms();
        pending_each(&engine->pending, submit_again, engine);
        break;
    }
}

/* --- from the input to the daemon --------------------------------------------------------- */

static void refuse_input(struct engine *engine, const char *why)
{
    engine_complain(engine, "%s", why);
    engine->summary.unusable++;
    engine->ending.bad_input = true;
}

/* Takes over what JOB holds once it is in flight. */
static int submit(struct engine *engine, struct engine_job *job, struct fault *fault)
{
    const struct submission *submission = &job->submission;
    bool was_idle = pending_count(&engine->pending) == 0;
    int r = pending_add(&engine->pending, &submission->id, job->note, &submission->payload);
    if (r == -EEXIST)
        (void)fault_set(fault, "id \"%s\" is that of a job still in flight", submission->id.data);
    if (r < 0)
        return r;
    r = session_send(&engine->session, submission->payload.data, submission->payload.length);
    if (r < 0)
        json_decref(pending_take(&engine->pending, submission->id.data, submission->id.length));
    else if (was_idle)
        engine->progressed_ms = monotonic_ms();
    return r;
}

static void take_job(struct engine *engine, struct engine_job *job)
{
    if (engine->draining) {
        engine_complain(engine, "rubricd is draining: %s and what follows was not submitted",
                        job->place.text);
        engine->ending.lost = true;
        engine->phase = PHASE_FINISHING;
        return;
    }
    struct fault why = FAULT_NULL;
    int r = submit(engine, job, &why);
    if (r < 0) {
        struct fault where;
        (void)fault_set(&where, "%s: %s", job->place.text, why.text[0] ? why.text : strerror(-r));
        refuse_input(engine, where.text);
    }
}

/* A full window is filled up again when a part of it is free, not with each job that comes back:
 * both sides then wake up for many jobs at once. */
static bool window_is_open(struct engine *engine)
{
    size_t count = pending_count(&engine->pending);
    size_t slack = engine->window >= SLACK_WINDOW_MIN ? engine->window / SLACK_PART : 0;
    if (count >= engine->window)
        engine->full = true;
    else if (count + slack <= engine->window)
        engine->full = false;
    return !engine->full;
}

static bool has_room(struct engine *engine)
{
    bool waits = !is_connected(engine) || (engine->draining && waits_for_daemon(engine));
    return engine->phase == PHASE_SUBMITTING && !waits && window_is_open(engine) &&
           session_unsent(&engine->session) < UNSENT_MAX &&
           output_unwritten(&engine->output) < UNWRITTEN_MAX;
}

/* Submits what has been read. Afterwards either there is no room, or input has to be read. */
static void submit_jobs(struct engine *engine)
{
    while (has_room(engine)) {
        _cleanup_engine_job_ struct engine_job job = ENGINE_JOB_NULL;
        struct fault fault = FAULT_NULL;
        switch (engine->work.next(engine->work.arg, &job, &fault)) {
        case INPUT_LINE:
            take_job(engine, &job);
            break;
        case INPUT_WRONG:
            refuse_input(engine, fault.text);
            break;
        case INPUT_WAIT:
            return;
        case INPUT_END:
            engine->exhausted = true;
            engine->phase = PHASE_FINISHING;
            break;
        }
    }
}

/* --- from the daemon to the output -------------------------------------------------------- */

static void count(struct engine *engine, const struct message *message)
{
    if (message->type == MESSAGE_RESULT) {
        struct verdict verdict = message_verdict(message);
        summary_add_verdict(&engine->summary, &verdict);
        engine->ending.failed |= !verdict.passed;
    } else {
        const char *code = message_text(message, "code");
        summary_add_error(&engine->summary, code, message_text(message, "message"));
        engine->ending.errors = true;
        engine->draining |= strcmp(code, "draining") == 0;
    }
    engine->progressed_ms = monotonic_ms();
    engine->stall_ms = STALL_FIRST_MS;
}

static void record(struct engine *engine, struct message *message, json_t *note)
{
    _cleanup_bytes_ struct bytes line = BYTES_NULL;
    count(engine, message);
    if (engine->work.answer(engine->work.arg, message, note, &line) < 0 ||
        output_line(&engine->output, line.data, line.length) < 0) {
        engine_complain(engine, "out of memory");
        engine->ending.lost = true;
        engine->phase = PHASE_ABORTED;
    }
}

/* A daemon that ends has not begun this job, or not finished it: the next one gets it. */
static bool is_put_off(struct engine *engine, const struct message *message, const json_t *id)
{
    if (message->type != MESSAGE_ERROR || !waits_for_daemon(engine) ||
        strcmp(message_text(message, "code"), "draining") != 0 || !json_is_string(id) ||
        !pending_has(&engine->pending, json_string_value(id), json_string_length(id)))
        return false;
    engine->draining = true;
    return true;
}

static void take_answer(struct engine *engine, struct message *message)
{
    const json_t *id = json_object_get(message->object, "id");
    _cleanup_json_ json_t *note = NULL;
    if (is_put_off(engine, message, id))
        return;
    if (json_is_string(id))
        note = pending_take(&engine->pending, json_string_value(id), json_string_length(id));
    if (note) {
        record(engine, message, note);
        return;
    }
    /* A cancel may cross the answer of its job: the daemon then knows no such job. */
    if (message->type == MESSAGE_ERROR && engine->phase == PHASE_CANCELLING)
        return;
    progress_clear(&engine->progress);
    if (message->type == MESSAGE_ERROR)
        complain("rubricd: %s: %s", message_text(message, "code"),
                 message_text(message, "message"));
    else
        session_unexpected(message);
}

static void take_messages(struct engine *engine)
{
    while (engine->phase < PHASE_OVER) {
        _cleanup_message_ struct message message = MESSAGE_NULL;
        struct fault fault = FAULT_NULL;
        int r = session_next(&engine->session, &message, &fault);
        if (r == 0)
            return;
        if (r == -ECONNRESET) {
            lose_connection(engine, fault.text);
            return;
        }
        if (r < 0) {
            lose_daemon(engine, fault.text);
            return;
        }
        if (message.type == MESSAGE_RESULT || message.type == MESSAGE_ERROR) {
            take_answer(engine, &message);
        } else if (message.type != MESSAGE_STARTED) {
            progress_clear(&engine->progress);
            session_unexpected(&message);
        }
    }
}

static void write_output(struct engine *engine)
{
    if (output_unwritten(&engine->output) == 0)
        return;
    if (engine->progress.live && isatty(engine->output.fd))
        progress_clear(&engine->progress);
    int r = output_flush(&engine->output);
    if (r == -EPIPE) {
        engine->reader_gone = true;
        engine->ending.interrupted = true;
        engine->phase = PHASE_ABORTED;
    } else if (r < 0) {
        engine_complain(engine, "cannot write the output: %s", strerror(-r));
        engine->ending.bad_input = true;
        engine->phase = PHASE_ABORTED;
    }
}

/* --- signals ------------------------------------------------------------------------------ */

static bool cancel_one(const char *id, size_t n, _unused_ const struct bytes *request, void *arg)
{
    struct engine *engine = arg;
    _cleanup_bytes_ struct bytes payload = BYTES_NULL;
    _cleanup_json_ json_t *cancel = json_pack("{s:s,s:s%}", "type", "cancel", "id", id, n);
    return cancel && json_print(cancel, &payload) == 0 &&
           session_send(&engine->session, payload.data, payload.length) == 0;
}

static void take_signal(struct engine *engine)
{
    size_t n = pending_count(&engine->pending);
    engine->ending.interrupted = true;
    if (engine->phase == PHASE_CANCELLING || engine->phase == PHASE_OVER) {
        engine->phase = PHASE_ABORTED;
    } else if (!is_connected(engine)) {
        lose_daemon(engine, "interrupted while rubricd was gone");
    } else if (engine->cancel_deadline_ms == 0) {
        /* The first one: what has not been submitted is left alone. */
        engine->cancel_deadline_ms = -1;
        engine->phase = PHASE_FINISHING;
        if (n > 0)
            engine_complain(engine,
                            "interrupted: nothing more is submitted; waiting for %zu job%s "
                            "in flight (once more cancels)",
                            n, text_plural(n));
    } else {
        engine_complain(engine, "cancelling %zu job%s", n, text_plural(n));
        engine->phase = PHASE_CANCELLING;
        engine->cancel_deadline_ms = monotonic_ms() + CANCEL_TIMEOUT_MS;
        pending_each(&engine->pending, cancel_one, engine);
    }
}

/* --- the loop ----------------------------------------------------------------------------- */

static bool is_done(struct engine *engine)
{
    if (engine->phase == PHASE_ABORTED)
        return true;
    if (engine->phase == PHASE_CANCELLING && monotonic_ms() >= engine->cancel_deadline_ms)
        engine->phase = PHASE_OVER;
    bool over = engine->phase == PHASE_OVER ||
                (engine->phase != PHASE_SUBMITTING && pending_count(&engine->pending) == 0);
    return over && output_unwritten(&engine->output) == 0;
}

/* Milliseconds until something has to be said or given up. */
static int next_timeout(const struct engine *engine, int64_t now)
{
    int64_t next = INT64_MAX;
    int wait = progress_wait(&engine->progress, now);
    if (wait >= 0)
        next = now + wait;
    if (pending_count(&engine->pending) > 0 && engine->phase < PHASE_OVER)
        next = MIN(next, engine->progressed_ms + engine->stall_ms);
    if (engine->phase == PHASE_CANCELLING)
        next = MIN(next, engine->cancel_deadline_ms);
    next = MIN(next, reconnect_due(&engine->reconnect));
    return next == INT64_MAX ? -1 : (int)MAX(next - now, 0);
}

static int turn(struct engine *engine)
{
    enum { SIGNALS, DAEMON, INPUT, OUTPUT, FDS };
    struct input *input = engine->work.input;
    size_t unwritten = output_unwritten(&engine->output);
    bool with_daemon = engine->phase < PHASE_OVER;
    struct pollfd fds[FDS] = {
        [SIGNALS] = {.fd = engine->interrupt.fd, .events = POLLIN},
        [DAEMON] = {.fd = with_daemon ? engine->session.fd : -1,
                    .events = session_events(&engine->session, unwritten > UNWRITTEN_MAX)},
        [INPUT] = {.fd = input && has_room(engine) ? input->fd : -1, .events = POLLIN},
        [OUTPUT] = {.fd = unwritten > 0 ? engine->output.fd : -1, .events = POLLOUT},
    };
    if (poll(fds, FDS, next_timeout(engine, monotonic_ms())) < 0 && errno != EINTR)
        return -errno;
    for (unsigned n = interrupt_count(&engine->interrupt); n > 0; n--)
        take_signal(engine);
    if (fds[DAEMON].revents) {
        int r = session_pump(&engine->session, fds[DAEMON].revents);
        if (r < 0)
            return r;
        if (is_connected(engine))
            take_messages(engine);
    }
    if (!is_connected(engine) && with_daemon)
        go_on_connecting(engine);
    if (fds[INPUT].revents)
        input_read(input);
    submit_jobs(engine);
    write_output(engine);
    return 0;
}

void engine_run(struct engine *engine, const struct engine_work *work)
{
    engine->work = *work;
    submit_jobs(engine);
    while (!is_done(engine)) {
        int r = turn(engine);
        if (r < 0) {
            lose_daemon(engine, strerror(-r));
            engine->phase = PHASE_ABORTED;
        }
        int64_t now = monotonic_ms();
        notice_stall(engine, now);
        show_progress(engine, now);
    }
    progress_clear(&engine->progress);
}

/* --- opening and closing ------------------------------------------------------------------ */

int engine_open(struct engine *engine, const struct engine_options *options,
                const char *const *inputs, size_t n)
{
    struct fault fault = FAULT_NULL;
    int r = output_open(&engine->output, options->output, options->force, inputs, n, &fault);
    if (r == 0)
        r = pending_init(&engine->pending);
    if (r == 0)
        r = summary_init(&engine->summary);
    if (r == 0)
        r = interrupt_init(&engine->interrupt);
    if (r < 0) {
        complain("%s", fault.text[0] ? fault.text : strerror(-r));
        return r;
    }
    progress_init(&engine->progress, options->quiet);
    long patience_s = options->reconnect ? options->reconnect : RECONNECT_DEFAULT_S;
    bool waits = !options->no_reconnect && engine->session.daemon.pid <= 0;
    reconnect_init(&engine->reconnect, waits ? patience_s * 1000 : 0);
    engine->window = options->jobs > 0
                         ? (size_t)options->jobs
                         : (size_t)MIN(engine->session.jobs_per_client, WINDOW_DEFAULT);
    engine->started_ms = engine->progressed_ms = monotonic_ms();
    engine->stall_ms = STALL_FIRST_MS;
    return 0;
}

void engine_deinit(struct engine *engine)
{
    output_close(&engine->output);
    pending_deinit(&engine->pending);
    summary_deinit(&engine->summary);
    session_deinit(&engine->session);
    interrupt_deinit(&engine->interrupt);
}

void engine_put_summary(const struct engine *engine)
{
    const struct summary_run run = {
        .wall_ms = monotonic_ms() - engine->started_ms,
        .unanswered = pending_count(&engine->pending),
    };
    if (!engine->reader_gone)
        summary_put(stderr, &engine->summary, &run);
}

void engine_job_deinit(struct engine_job *job)
{
    submission_deinit(&job->submission);
    json_decref(job->note);
    *job = (struct engine_job)ENGINE_JOB_NULL;
}
