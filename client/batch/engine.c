/* SPDX-License-Identifier: MIT */
/* Theory of operation: one poll loop over the daemon, the input, the output and the signals.
 * A window of jobs is in flight; a line is read only when there is room for it, so that memory is
 * bounded by the window whatever the input holds. Nothing blocks: a slow input does not delay
 * results, a slow reader of the output does not keep Ctrl-C from being heard, and replies are read
 * while submissions wait for a daemon that has stopped reading. */
#include "engine_private.h"

#include <inttypes.h>
#include <poll.h>
#include <sched.h>
#include <string.h>

#define WINDOW_DEFAULT 256
#define RECONNECT_DEFAULT_S 60
#define CANCEL_TIMEOUT_MS 5000
/* With as many in flight nobody waits for the one result. */
#define NAP_IN_FLIGHT 64
#define NAP_MAX_MS 4
/* Ids that room is made for beforehand. */
#define RESERVE_MAX 50000000

/* --- signals ------------------------------------------------------------------------------ */

static bool cancel_one(struct pending_job *job, void *arg)
{
    struct engine *engine = arg;
    bool is_there = job->state == PENDING_QUEUED || job->state == PENDING_RUNNING;
    return !is_there || engine_cancel(engine, job);
}

/* The first signal: what has not been submitted is left alone. */
static void begin_to_drain(struct engine *engine)
{
    size_t n = pending_in_flight(&engine->pending);
    engine->interrupted_once = true;
    engine->stopped = true;
    engine->phase = PHASE_FINISHING;
    if (n > 0)
        engine_complain(engine,
                        "interrupted: nothing more is submitted; waiting for %zu job%s "
                        "in flight (once more cancels)",
                        n, text_plural(n));
}

static void cancel_all(struct engine *engine)
{
    size_t n = pending_in_flight(&engine->pending);
    engine_complain(engine, "cancelling %zu job%s", n, text_plural(n));
    engine->phase = PHASE_CANCELLING;
    engine->cancel_deadline_ms = monotonic_ms() + CANCEL_TIMEOUT_MS;
    pending_each(&engine->pending, cancel_one, engine);
}

static void take_signal(struct engine *engine)
{
    engine->ending.interrupted = true;
    if (engine->phase == PHASE_CANCELLING || engine->phase == PHASE_OVER)
        engine->phase = PHASE_ABORTED;
    else if (!engine_is_connected(engine))
        engine_lose_daemon(engine, "interrupted while rubricd was gone");
    else if (!engine->interrupted_once)
        begin_to_drain(engine);
    else
        cancel_all(engine);
}

/* --- the loop ----------------------------------------------------------------------------- */

static bool is_done(struct engine *engine)
{
    if (engine->phase == PHASE_ABORTED)
        return true;
    if (engine->phase == PHASE_CANCELLING && monotonic_ms() >= engine->cancel_deadline_ms)
        engine->phase = PHASE_OVER;
    size_t awaited =
        engine->stopped ? pending_in_flight(&engine->pending) : pending_count(&engine->pending);
    bool over = engine->phase == PHASE_OVER || (engine->phase != PHASE_SUBMITTING && awaited == 0);
    return over && output_unwritten(&engine->output) == 0;
}

/* Milliseconds until something has to be said or given up. */
static int next_timeout(const struct engine *engine, int64_t now)
{
    int64_t next = progress_due(&engine->progress);
    if (pending_count(&engine->pending) > 0 && engine->phase < PHASE_OVER)
        next = MIN(next, engine->progressed_ms + engine->stall_ms);
    if (engine->phase == PHASE_CANCELLING)
        next = MIN(next, engine->cancel_deadline_ms);
    next = MIN(next, reconnect_due(&engine->reconnect));
    next = MIN(next, engine->output.sync_ms);
    next = MIN(next, engine_next_attempt(engine));
    return next == INT64_MAX ? -1 : (int)MAX(next - now, 0);
}

/* Milliseconds in which the daemon is not listened to; 0: it is. To be woken for each result costs
 * the client and the daemon more than what they do with it, and takes a processor from the jobs,
 * which may run on this host. */
static int nap_ms(const struct engine *engine)
{
    bool has_many = engine_is_connected(engine) && engine->phase < PHASE_CANCELLING &&
                    pending_in_flight(&engine->pending) >= NAP_IN_FLIGHT;
    return has_many && engine->nap.answered > 0 ? engine->nap.ms : 0;
}

/* What was answered since the last look tells how long the next nap may be: neither is a slot to
 * wait for jobs, nor who has enough to do to sleep; nor is who has nothing to do to be woken. */
static void measure_nap(struct engine *engine)
{
    struct engine_nap *nap = &engine->nap;
    nap->answered = engine->answered - nap->answered_before;
    nap->answered_before = engine->answered;
    if (nap->answered > engine->window / 8)
        nap->ms = MAX(nap->ms - 1, 0);
    else if (nap->answered > 0 && nap->answered < engine->window / 16)
        nap->ms = MIN(nap->ms + 1, NAP_MAX_MS);
}

static int turn(struct engine *engine)
{
    enum { SIGNALS, DAEMON, INPUT, OUTPUT, FDS };
    struct input *input = engine->work.input;
    size_t unwritten = output_unwritten(&engine->output);
    bool with_daemon = engine->phase < PHASE_OVER;
    short of_daemon = session_events(&engine->session, unwritten > ENGINE_UNWRITTEN_MAX);
    int timeout = next_timeout(engine, monotonic_ms());
    int nap = of_daemon & POLLIN ? nap_ms(engine) : 0;
    struct pollfd fds[FDS] = {
        [SIGNALS] = {.fd = engine->interrupt.fd, .events = POLLIN},
        [DAEMON] = {.fd = with_daemon && nap == 0 ? engine->session.fd : -1, .events = of_daemon},
        [INPUT] = {.fd = input && engine_has_room(engine) ? input->fd : -1, .events = POLLIN},
        [OUTPUT] = {.fd = unwritten > 0 ? engine->output.fd : -1, .events = POLLOUT},
    };
    if (nap > 0)
        timeout = timeout < 0 ? nap : MIN(timeout, nap);
    if (poll(fds, FDS, timeout) < 0 && errno != EINTR)
        return -errno;
    if (nap > 0)
        fds[DAEMON].revents = of_daemon; /* it does not block */
    for (unsigned n = interrupt_count(&engine->interrupt); n > 0; n--)
        take_signal(engine);
    if (fds[DAEMON].revents) {
        int r = session_pump(&engine->session, fds[DAEMON].revents);
        if (r < 0)
            return r;
        if (engine_is_connected(engine))
            engine_take_messages(engine);
        measure_nap(engine);
    }
    if (!engine_is_connected(engine) && with_daemon)
        engine_go_on_connecting(engine);
    if (fds[INPUT].revents)
        input_read(input);
    engine_run_again(engine, monotonic_ms());
    engine_submit_jobs(engine);
    engine_write_output(engine);
    return 0;
}

void engine_run(struct engine *engine, const struct engine_work *work)
{
    engine->work = *work;
    /* All at once, rather than again and again while it runs; what a resumed run has are mostly the
     * same ids. */
    uint64_t ids = work->cases * MAX(work->samples, (uint64_t)1);
    if (idmap_reserve(&engine->ledger.ids, (size_t)MIN(ids, (uint64_t)RESERVE_MAX)) < 0)
        complain("out of memory");
    engine_watch_cost(engine);
    engine_submit_jobs(engine);
    while (!is_done(engine)) {
        int r = turn(engine);
        if (r < 0) {
            engine_lose_daemon(engine, strerror(-r));
            engine->phase = PHASE_ABORTED;
        }
        int64_t now = monotonic_ms();
        engine_notice_stall(engine, now);
        engine_show_progress(engine, now);
    }
    progress_clear(&engine->progress);
    engine_finish_output(engine);
    engine_conclude(engine);
    engine_tell_cost(engine);
}

/* --- opening and closing ------------------------------------------------------------------ */

/* Opens the file of results; what it has of a run that is resumed is read. */
static int open_output(struct engine *engine, const char *const *inputs, size_t n,
                       struct fault *fault)
{
    const struct engine_options *options = &engine->options;
    enum output_mode mode = options->resume  ? OUTPUT_CONTINUE
                            : options->force ? OUTPUT_OVERWRITE
                                             : OUTPUT_NEW;
    int r = output_open(&engine->output, options->output, mode, inputs, n, fault);
    return r == 0 && options->resume ? engine_resume(engine, fault) : r;
}

/* What the options ask for, in the form in which it is used. */
static int read_options(struct engine *engine, struct fault *fault)
{
    const struct engine_options *options = &engine->options;
    if (options->resume && options->force)
        return fault_set(fault, "--resume continues a file, --force overwrites it: not both");
    if (options->resume && (!options->output || strcmp(options->output, "-") == 0))
        return fault_set(fault, "--resume: the file to continue is missing (--output FILE)");
    int r = engine_read_retries(options->retries, &engine->retries, fault);
    if (r == 0)
        r = engine_read_cost_cap(options->cost_cap, &engine->cost_cap, fault);
    return r < 0 ? r
                 : selection_init(&engine->selection, &engine->options.filters,
                                  (uint64_t)options->limit, fault);
}

/* Nobody waits for a result the moment it comes: being woken for each is not to take the processor
 * from the jobs, which may run on this host. */
static void let_jobs_run_on(void)
{
    if (sched_getscheduler(0) == SCHED_OTHER)
        (void)sched_setscheduler(0, SCHED_BATCH, &(struct sched_param){0});
}

int engine_open(struct engine *engine, const struct engine_options *options,
                const char *const *inputs, size_t n)
{
    struct fault fault = FAULT_NULL;
    engine->options = *options;
    int r = read_options(engine, &fault);
    if (r == 0)
        r = open_output(engine, inputs, n, &fault);
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
    engine->cost_usd = engine->ledger.cost_usd;
    progress_init(&engine->progress, options->quiet, monotonic_ms());
    long patience_s = options->reconnect ? options->reconnect : RECONNECT_DEFAULT_S;
    bool waits = !options->no_reconnect && engine->session.daemon.pid <= 0;
    reconnect_init(&engine->reconnect, waits ? patience_s * 1000 : 0);
    engine->window = options->jobs > 0
                         ? (size_t)options->jobs
                         : (size_t)MIN(engine->session.jobs_per_client, WINDOW_DEFAULT);
    engine->started_ms = engine->progressed_ms = monotonic_ms();
    engine->stall_ms = ENGINE_STALL_FIRST_MS;
    let_jobs_run_on();
    return 0;
}

void engine_deinit(struct engine *engine)
{
    output_close(&engine->output);
    pending_deinit(&engine->pending);
    ledger_deinit(&engine->ledger);
    summary_deinit(&engine->summary);
    session_deinit(&engine->session);
    interrupt_deinit(&engine->interrupt);
}

uint64_t engine_unanswered(const struct engine *engine)
{
    return pending_count(&engine->pending) + engine->withdrawn;
}

void engine_put_summary(const struct engine *engine)
{
    const struct summary_run run = {
        .wall_ms = engine->ended_ms - engine->started_ms,
        .answered = engine->answered,
        .kept = engine->ledger.kept,
        .unanswered = engine_unanswered(engine),
    };
    if (engine->reader_gone)
        return;
    summary_put(stderr, &engine->summary, &run);
    if (engine->flakiness)
        flakiness_put(stderr, engine->flakiness);
}

void engine_job_deinit(struct engine_job *job)
{
    submission_deinit(&job->submission);
    json_decref(job->note);
    *job = (struct engine_job)ENGINE_JOB_NULL;
}
