/* SPDX-License-Identifier: MIT */
/* Theory of operation: one poll loop serves the daemon, the input, the output and the signals.
 * A window of jobs is in flight. The engine reads a line only when the window has room for it, so
 * the window bounds the memory whatever the input holds. Nothing blocks: a slow input does not
 * delay results, a slow reader of the output does not delay Ctrl-C, and the engine reads replies
 * while submissions wait for a daemon that has stopped reading.
 *
 * The phase says how far the run is; it only goes forward. Beside it stand facts about others: the
 * connection (struct reconnect), whether the daemon drains, whether the input has ended. */
#include "engine_private.h"

#include <assert.h>
#include <poll.h>
#include <sched.h>
#include <string.h>

#define WINDOW_DEFAULT 256
#define RECONNECT_DEFAULT_S 60
/* Nap only with this many jobs in flight: with fewer, somebody may wait for the one result. */
#define NAP_IN_FLIGHT 64
#define NAP_MAX_MS 4
/* Reserve room for at most this many ids. */
#define RESERVE_MAX 50000000

/* --- phases ------------------------------------------------------------------------------- */

/* Whether a run may move from one phase to another. */
_unused_ static bool may_follow(enum engine_phase from, enum engine_phase to)
{
#define TO(phase) (1U << (phase))
    static const unsigned next[ENGINE_PHASES] = {
        [PHASE_SUBMITTING] =
            TO(PHASE_FINISHING) | TO(PHASE_STOPPING) | TO(PHASE_FLUSHING) | TO(PHASE_ABORTED),
        [PHASE_FINISHING] = TO(PHASE_STOPPING) | TO(PHASE_FLUSHING) | TO(PHASE_ABORTED),
        [PHASE_STOPPING] = TO(PHASE_CANCELLING) | TO(PHASE_FLUSHING) | TO(PHASE_ABORTED),
        [PHASE_CANCELLING] = TO(PHASE_FLUSHING) | TO(PHASE_ABORTED),
        [PHASE_FLUSHING] = TO(PHASE_ABORTED),
        /* Several failures may end a run. */
        [PHASE_ABORTED] = TO(PHASE_ABORTED),
    };
#undef TO
    return next[from] >> to & 1;
}

void engine_enter(struct engine *engine, enum engine_phase phase)
{
    assert(may_follow(engine->phase, phase));
    engine->phase = phase;
}

/* --- what happened ------------------------------------------------------------------------ */

void engine_note_failed_job(struct engine *engine)
{
    engine->ending.failed = true;
}

void engine_note_job_error(struct engine *engine)
{
    engine->ending.errors = true;
}

void engine_note_lost(struct engine *engine)
{
    engine->ending.lost = true;
}

void engine_note_unwritten(struct engine *engine)
{
    engine->ending.unwritten = true;
}

void engine_note_interrupt(struct engine *engine)
{
    engine->ending.interrupted = true;
}

void engine_note_cost_cap(struct engine *engine)
{
    engine->ending.cost_capped = true;
}

void engine_note_empty(struct engine *engine)
{
    engine->ending.bad_input = true;
}

void engine_note_recount(struct engine *engine)
{
    engine->ending.failed = engine->summary.failed > 0;
    engine->ending.errors = engine->summary.errors > 0;
}

void engine_note_unusable(struct engine *engine, uint64_t n)
{
    engine->summary.unusable += n;
    engine->ending.bad_input |= n > 0;
}

void engine_note_draining(struct engine *engine)
{
    engine->daemon_drains = true;
}

void engine_note_daemon_back(struct engine *engine)
{
    engine->daemon_drains = false;
    engine->progressed_ms = monotonic_ms();
}

/* --- the loop ----------------------------------------------------------------------------- */

static bool is_done(const struct engine *engine)
{
    bool has_answers = engine->phase == PHASE_FLUSHING;
    if (engine->phase == PHASE_ABORTED)
        return true;
    if (engine->phase == PHASE_FINISHING)
        has_answers = pending_count(&engine->pending) == 0;
    else if (engine->phase == PHASE_STOPPING || engine->phase == PHASE_CANCELLING)
        has_answers = pending_in_flight(&engine->pending) == 0;
    return has_answers && output_unwritten(&engine->output) == 0;
}

/* Returns the milliseconds until the engine has to say, try or give up something; -1: none. */
static int next_timeout(const struct engine *engine, int64_t now)
{
    int64_t next = progress_due(&engine->progress);
    if (engine_expects_answers(engine)) {
        if (pending_count(&engine->pending) > 0)
            next = MIN(next, engine->progressed_ms + engine->stall_ms);
        next = MIN(next, reconnect_due(&engine->reconnect));
    }
    if (engine->phase == PHASE_CANCELLING)
        next = MIN(next, engine->cancel_deadline_ms);
    next = MIN(next, engine->output.sync_ms);
    next = MIN(next, engine_next_attempt(engine));
    return next == INT64_MAX ? -1 : (int)MAX(next - now, 0);
}

/* Returns for how many milliseconds not to listen to the daemon. Waking up for each result costs
 * client and daemon more than handling it, and takes a processor from the jobs, which may run on
 * this host. */
static int nap_ms(const struct engine *engine)
{
    bool has_many = engine_is_connected(engine) && engine->phase < PHASE_CANCELLING &&
                    pending_in_flight(&engine->pending) >= NAP_IN_FLIGHT;
    return has_many && engine->nap.answered > 0 ? engine->nap.ms : 0;
}

/* Naps longer when few answers arrive and shorter when many do, so that slots never starve and an
 * idle client is not woken. */
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
    bool with_daemon = engine_expects_answers(engine);
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
        fds[DAEMON].revents = of_daemon; /* the session does not block */
    for (unsigned n = interrupt_count(&engine->interrupt); n > 0; n--)
        engine_take_signal(engine);
    if (fds[DAEMON].revents) {
        int r = session_pump(&engine->session, fds[DAEMON].revents);
        if (r < 0)
            return r;
        if (engine_is_connected(engine))
            engine_take_messages(engine);
        measure_nap(engine);
    }
    if (!engine_is_connected(engine) && engine_expects_answers(engine))
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
    engine->started_ms = engine->progressed_ms = monotonic_ms();
    engine->stall_ms = ENGINE_STALL_FIRST_MS;
    progress_init(&engine->progress, engine->options.quiet, engine->started_ms);
    /* Grow the map once, not again and again while jobs run. A resumed run has mostly the same
     * ids. */
    uint64_t ids = work->cases * MAX(work->samples, (uint64_t)1);
    if (idmap_reserve(&engine->ledger.ids, (size_t)MIN(ids, (uint64_t)RESERVE_MAX)) < 0)
        complain("out of memory");
    engine_check_cost(engine);
    engine_submit_jobs(engine);
    while (!is_done(engine)) {
        int r = turn(engine);
        if (r < 0) {
            engine_lose_daemon(engine, strerror(-r));
            engine_enter(engine, PHASE_ABORTED);
        }
        int64_t now = monotonic_ms();
        engine_check_cancelling(engine, now);
        engine_notice_stall(engine, now);
        engine_show_progress(engine, now);
    }
    assert(engine->phase != PHASE_SUBMITTING);
    progress_clear(&engine->progress);
    engine_finish_output(engine);
    engine_conclude(engine);
    engine_tell_cost(engine);
    engine_tell_withdrawn(engine);
}

/* --- opening and closing ------------------------------------------------------------------ */

/* Opens the file of results, and reads it if the run is resumed. */
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

/* Checks the options and parses those that are text. */
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
    if (r == 0)
        r = selection_init(&engine->selection, &engine->options.filters, (uint64_t)options->limit,
                           fault);
    engine->selection.numbered = options->numbered;
    return r;
}

/* Nobody waits for a result the moment it comes, so waking up for one need not preempt the jobs,
 * which may run on this host. */
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
    long patience_s = options->reconnect ? options->reconnect : RECONNECT_DEFAULT_S;
    bool waits = !options->no_reconnect && engine->session.daemon.pid <= 0;
    reconnect_init(&engine->reconnect, waits ? patience_s * 1000 : 0);
    engine->window = options->jobs > 0
                         ? (size_t)options->jobs
                         : (size_t)MIN(engine->session.jobs_per_client,
                                       MAX(WINDOW_DEFAULT, 2 * engine->session.slots));
    let_jobs_run_on();
    return 0;
}

void engine_deinit(struct engine *engine)
{
    output_close(&engine->output);
    pending_deinit(&engine->pending);
    puts_deinit(&engine->puts);
    ledger_deinit(&engine->ledger);
    summary_deinit(&engine->summary);
    session_deinit(&engine->session);
    interrupt_deinit(&engine->interrupt);
    json_decref(engine->unread_error);
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
        .changed = engine->ledger.changed,
        .rubric_changed = engine->ledger.rubric_changed,
        .unanswered = engine_unanswered(engine),
    };
    if (engine->reader_gone)
        return;
    if (engine->options.quiet) {
        summary_put_problems(stderr, &engine->summary);
        return;
    }
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
