/* SPDX-License-Identifier: MIT */
#include "engine_private.h"
#include "runinfo.h"

#include <assert.h>
#include <string.h>

/* Refill a window when this part of it is free; keep a smaller one than the minimum full. */
#define SLACK_PART 4
#define SLACK_WINDOW_MIN 64
/* With more bytes than this unsent, take no further job from the input. */
#define UNSENT_MAX (1U << 20)

static void refuse_input(struct engine *engine, const char *why)
{
    engine_complain(engine, "%s", why);
    engine_note_unusable(engine, 1);
}

/* Sends a job, and its tests before it if the daemon does not have them. */
static int send_job(struct engine *engine, const struct tests *tests, const struct bytes *payload)
{
    int r = puts_send(&engine->puts, &engine->session, tests);
    return r < 0 ? r : session_send(&engine->session, payload->data, payload->length);
}

void engine_submit_again(struct engine *engine, struct pending_job *job)
{
    int r = send_job(engine, &job->tests, &job->payload);
    if (r < 0)
        engine_complain(engine, "cannot submit job %s again: %s", job->id.data, strerror(-r));
    pending_enter(&engine->pending, job, PENDING_QUEUED, monotonic_ms());
}

/* Tells of the first job that runs again although the file has its verdict: the summary, which
 * counts them, comes when they have all run. */
static void tell_changed(struct engine *engine, const char *id, enum ledger_fate fate)
{
    const struct ledger *ledger = &engine->ledger;
    bool of_rubric = fate == LEDGER_RUBRIC_CHANGED;
    if (!engine->options.quiet && (of_rubric ? ledger->rubric_changed : ledger->changed) == 1)
        engine_complain(engine,
                        "%s: the %s has changed since %s was written; this job and any others like "
                        "it run again",
                        id, of_rubric ? "rubric" : "job", engine->output.path);
}

/* Enters the job in the ledger. Returns whether to run it; negative with FAULT. */
static int is_wanted(struct engine *engine, const struct submission *submission,
                     struct fault *fault)
{
    int fate = ledger_take_job(&engine->ledger, submission->id.data, submission->id.length,
                               submission->run);
    if (fate < 0)
        return fate;
    if (fate == LEDGER_CHANGED || fate == LEDGER_RUBRIC_CHANGED)
        tell_changed(engine, submission->id.data, fate);
    if (fate != LEDGER_DUPLICATE) {
        engine->taken++;
        return fate != LEDGER_KEPT;
    }
    /* Only jobs in flight are remembered with their place. */
    const struct pending_job *first =
        pending_find(&engine->pending, submission->id.data, submission->id.length);
    const char *place = first && first->place ? first->place : "";
    return fault_set(fault, "id \"%s\" is that of %s%s%s", submission->id.data,
                     first ? "a job still in flight" : "an earlier job", *place ? ", " : "", place);
}

/* Submits JOB and takes over what it holds, unless an earlier run answered it. Negative errno;
 * FAULT may say why. */
static int submit(struct engine *engine, struct engine_job *job, struct fault *fault)
{
    struct submission *submission = &job->submission;
    int64_t now = monotonic_ms();
    bool was_idle = pending_count(&engine->pending) == 0;
    const struct bytes id = submission->id; /* stays where it is, whoever has it */
    int r = is_wanted(engine, submission, fault);
    if (r <= 0)
        return r;
    r = send_job(engine, &submission->tests, &submission->payload);
    if (r == 0)
        r = pending_add(&engine->pending, &submission->id, &submission->payload, &submission->tests,
                        job->note, submission->run, now);
    assert(pending_count(&engine->pending) <= engine->window);
    if (r == 0) /* without it a complaint names the id alone */
        pending_find(&engine->pending, id.data, id.length)->place = strdup(job->place.text);
    if (r == 0 && was_idle)
        engine->progressed_ms = now;
    return r;
}

/* Whether the job is to run, and the filters and the limit let it pass. */
static bool is_selected(struct engine *engine, const struct engine_job *job)
{
    const struct submission *submission = &job->submission;
    bool matches = selection_wants(&engine->selection, submission);
    if (!matches || job->left_out) {
        engine->left_out += matches;
        ledger_skip_job(&engine->ledger, submission->id.data, submission->id.length);
        return false;
    }
    if (selection_count(&engine->selection, submission))
        return true;
    engine_enter(engine, PHASE_FINISHING);
    return false;
}

static void take_job(struct engine *engine, struct engine_job *job)
{
    if (!is_selected(engine, job))
        return;
    if (engine->daemon_drains) {
        engine_complain(engine, "rubricd is draining: %s and what follows was not submitted",
                        job->place.text);
        engine_note_lost(engine);
        engine_enter(engine, PHASE_FINISHING);
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

/* Refills a full window when a part of it is free, not after each answer, so that both sides wake
 * up for many jobs at once. */
static bool window_is_open(struct engine *engine)
{
    size_t count = pending_count(&engine->pending);
    size_t slack = engine->window >= SLACK_WINDOW_MIN ? engine->window / SLACK_PART : 0;
    if (count >= engine->window)
        engine->window_full = true;
    else if (count + slack <= engine->window)
        engine->window_full = false;
    return !engine->window_full;
}

bool engine_has_room(struct engine *engine)
{
    bool waits =
        !engine_is_connected(engine) || (engine->daemon_drains && engine_waits_for_daemon(engine));
    return engine->phase == PHASE_SUBMITTING && !waits && !engine->alone &&
           window_is_open(engine) && session_unsent(&engine->session) < UNSENT_MAX &&
           output_unwritten(&engine->output) < ENGINE_UNWRITTEN_MAX;
}

void engine_submit_jobs(struct engine *engine)
{
    while (engine_has_room(engine)) {
        _cleanup_engine_job_ struct engine_job job = ENGINE_JOB_NULL;
        struct fault fault = FAULT_NULL;
        switch (engine->work.next(engine->work.arg, &job, &fault)) {
        case INPUT_LINE:
            take_job(engine, &job);
            break;
        case INPUT_WRONG:
            engine_complain(engine, "%s", fault.text);
            engine_note_unusable(engine, !job.is_counted);
            engine->summary.named += job.is_counted;
            break;
        case INPUT_WAIT:
            if (engine->work.input || pending_count(&engine->pending) > 0)
                return;
            __attribute__((fallthrough)); /* no answer will come */
        case INPUT_END:
            engine->exhausted = true;
            engine_enter(engine, PHASE_FINISHING);
            break;
        }
    }
}
