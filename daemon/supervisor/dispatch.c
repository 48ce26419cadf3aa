/* SPDX-License-Identifier: MIT */
#include "dispatch.h"
#include "rubrics.h"

#include "daemon/base/clock.h"
#include "daemon/base/reserve.h"
#include "daemon/jobs/answer.h"
#include "daemon/jobs/settings.h"
#include "daemon/kinds/kind.h"
#include "daemon/observe/joblog.h"

#include <assert.h>
#include <string.h>

/* A job of several steps has its slot for this long when others wait for one, and gives it back
 * between the two steps that follow. */
#define DISPATCH_TURN_MS UINT64_C(1000)

/* The isolation that JOB ran under, or would have. */
static const struct bytes *isolation_of(const struct job *job)
{
    const struct isolation *isolation = &job->settings->isolation;
    return job->spec->network ? &isolation->of_networked_jobs : &isolation->of_jobs;
}

static void log_answer(struct supervisor *supervisor, const struct job *job,
                       const struct answer *answer, const struct bytes *err)
{
    struct record record;
    if (!log_wants(&supervisor->log, joblog_level(answer)))
        return;
    const struct isolation *isolation = &job->settings->isolation;
    joblog_record(job, answer, job->spec->network ? isolation->networked_digest : isolation->digest,
                  err, &record);
    log_record(&supervisor->log, &record);
}

static void count_answer(struct stats *stats, enum job_kind_id kind, const struct answer *answer)
{
    const struct stats_result result = {
        .passed = answer->passed,
        .limit = answer->limit,
        .ran_ns = answer->ran_ns,
    };
    stats_count_moves(stats, kind, answer->deadline.moves);
    if (answer->is_result)
        stats_count_result(stats, kind, &result, clock_now_ns());
    else
        stats_count_error(stats, kind, answer->code, clock_now_ns());
}

/* Counts and logs the answer, and keeps it with the job. A negative R means that memory ran out
 * while the answer was made. */
static void settle(struct supervisor *supervisor, struct job *job, int r, struct answer *answer,
                   const struct bytes *err)
{
    assert(!job->steps.is_settled);
    if (r < 0)
        r = answer_error(job, ERROR_INTERNAL, "out of memory", answer);
    if (r < 0 && reserve_give_up())
        r = answer_error(job, ERROR_INTERNAL, "out of memory", answer);
    count_answer(&supervisor->stats, job->spec->kind, answer);
    if (answer->program_failed ||
        (!answer->is_result && answer->code != ERROR_CANCELLED && answer->code != ERROR_DRAINING))
        stats_add_failure(&supervisor->stats, job, answer->what);
    log_answer(supervisor, job, answer, err);
    job->steps.is_settled = true;
    job->steps.cannot_reply = r < 0;
    job->steps.reply = TAKE_STRUCT(answer->payload, BYTES_NULL);
}

/* Sends the answer, then frees the job. */
static void finish(struct supervisor *supervisor, struct job *job)
{
    struct conn *conn = job->conn;
    assert(job->steps.is_settled && job->steps.ended == job->steps.launched);
    job_enter(job, JOB_ENDED, NULL);
    if (conn) {
        job_set_remove(&conn->jobs, job);
        if (!job->steps.cannot_reply)
            conn_send(conn, &job->steps.reply);
        else
            conn_close(conn); /* each job is answered, or its client learns that it is not */
        conn_job_finished(conn);
    }
    job_free(job);
    event_active(supervisor->turn, 0, 0);
}

static void deliver(struct supervisor *supervisor, struct job *job, int r, struct answer *answer,
                    const struct bytes *err)
{
    settle(supervisor, job, r, answer, err);
    finish(supervisor, job);
}

void dispatch_answer_error(struct supervisor *supervisor, struct job *job, enum error_code code,
                           const char *message)
{
    _cleanup_answer_ struct answer answer = ANSWER_NULL;
    int r = answer_error(job, code, message, &answer);
    deliver(supervisor, job, r, &answer, NULL);
}

void dispatch_answer_sut(struct supervisor *supervisor, struct job *job)
{
    _cleanup_answer_ struct answer answer = ANSWER_NULL;
    int r = answer_from_sut(job, &job->settings->isolation.of_jobs, &answer);
    deliver(supervisor, job, r, &answer, NULL);
}

/* Ends the wait of JOB at BEGAN_NS: what clients see of a job counts its wait until then. */
static void end_wait(struct supervisor *supervisor, struct job *job, uint64_t began_ns)
{
    uint64_t waited_ns = began_ns - job->queued_ns;
    job_begin(job, began_ns);
    stats_count_wait(&supervisor->stats, job->spec->kind, waited_ns, began_ns);
}

static void answer_without_code(struct supervisor *supervisor, struct job *job)
{
    end_wait(supervisor, job, clock_now_ns());
    _cleanup_answer_ struct answer answer = ANSWER_NULL;
    int r = answer_no_code(job, isolation_of(job), &answer);
    deliver(supervisor, job, r, &answer, NULL);
}

/* Answers a job that was taken out of the queue and cannot be run, or cannot go on. */
static void refuse(struct supervisor *supervisor, struct job *job, enum error_code code,
                   const char *message)
{
    if (job->began_ns == 0)
        end_wait(supervisor, job, clock_now_ns());
    dispatch_answer_error(supervisor, job, code, message);
}

/* --- launches ------------------------------------------------------------------------------ */

/* Has SLOT run PLAN: the first step of a turn of JOB with slot_run(), others with slot_continue().
 * A command runs on the slot of its session, which SLOT is lent to. */
static int launch(struct pool *pool, struct slot *slot, struct job *job, struct kind_plan *plan)
{
    struct launch *what = &plan->launch;
    assert(what->argv && job->steps.launched < LAUNCH_STEPS_MAX);
    what->confinement = job->settings->confinement;
    what->cpu_percent = job->settings->config.cpu_percent;
    pool_settle_class(pool, slot, what, job->settings->config.warm_classes);
    what->step = job->steps.launched;
    what->more = plan->more && what->step + 1 < LAUNCH_STEPS_MAX;
    bool is_first = job->place != JOB_ON_SLOT;
    struct slot *turn = slot;
    if (job->session)
        slot = job->session->slot;
    int r = is_first && !job->session ? slot_run(slot, what, job->number, job)
                                      : slot_continue(slot, what, job->number, job);
    if (r < 0)
        return r;
    if (job->session)
        pool_lend(pool, turn, slot);
    job->steps.launched++;
    if (is_first)
        job_enter(job, JOB_ON_SLOT, slot);
    if (!what->more)
        job_drop_input(job);
    return 0;
}

static void describe_launch(int r, struct fault *fault)
{
    fault_set(fault, "the job could not be handed to its jail: %s", strerror(-r));
}

/* --- turns --------------------------------------------------------------------------------- */

/* Whether JOB, which is on a slot, is to give that back to others who wait. */
static bool is_turn_over(const struct pool *pool, const struct job *job)
{
    return job->conn && job->steps.turn_ns > 0 &&
           clock_now_ns() - job->steps.turn_ns >= DISPATCH_TURN_MS * NS_PER_MS &&
           pool_others_wait(pool, job->slot, &job->conn->lane);
}

/* Puts JOB, which would go on with PLAN (taken), back into the queue until its next turn. False: it
 * keeps its slot. */
static bool end_turn(struct pool *pool, struct job *job, struct kind_plan *plan)
{
    if (plan->uses_result || !is_turn_over(pool, job) || job_end_turn(job, plan) < 0)
        return false;
    queue_return(pool->queue, &job->conn->lane, &job->entry, job_kept_bytes(job));
    job_enter(job, JOB_QUEUED, NULL);
    return true;
}

/* --- one step after another ---------------------------------------------------------------- */

/* Has the slot, which runs a step of JOB, get the next one ahead: unless it is not quick enough for
 * that, or the next one depends on how this one ends. */
static void look_ahead(struct pool *pool, struct job *job)
{
    const struct kind_ops *kind = kind_ops_get(job->spec->kind);
    _cleanup_kind_plan_ struct kind_plan plan = KIND_PLAN_NULL;
    if (kind->ahead && !is_turn_over(pool, job) && slot_takes_step(job->slot, job) &&
        kind->ahead(&plan, job->spec, job->kept, &job->settings->kind_host) > 0)
        job->steps.ahead_error = launch(pool, job->slot, job, &plan);
}

/* Has JOB go on after a step that ended with RESULT: on its slot at once, or at its next turn.
 * Returns 1 if it does, 0 if that was the last step; or a negative errno, *ret_code and FAULT. */
static int go_on(struct pool *pool, struct job *job, const struct slot_result *result,
                 enum error_code *ret_code, struct fault *fault)
{
    const struct kind_ops *kind = kind_ops_get(job->spec->kind);
    _cleanup_kind_plan_ struct kind_plan plan = KIND_PLAN_NULL;
    bool is_ahead = job->steps.launched > job->steps.ended || job->steps.ahead_error < 0;
    assert(kind->next);
    int r = kind->next(is_ahead ? NULL : &plan, job->spec, job->kept, &job->settings->kind_host,
                       result, ret_code, fault);
    if (r <= 0)
        return r;
    job_count_step(job, result);
    if (!is_ahead && end_turn(pool, job, &plan))
        return 1;
    r = is_ahead ? job->steps.ahead_error : launch(pool, job->slot, job, &plan);
    if (r < 0) {
        describe_launch(r, fault);
        *ret_code = ERROR_SANDBOX_FAILED;
        return r;
    }
    look_ahead(pool, job);
    return 1;
}

/* --- the pool's callbacks ------------------------------------------------------------------ */

/* Begins a turn of JOB with PLAN. */
static void begin_turn(struct supervisor *supervisor, struct slot *slot, struct job *job,
                       struct kind_plan *plan)
{
    struct fault fault = FAULT_NULL;
    int r = launch(&supervisor->pool, slot, job, plan);
    if (r < 0) {
        describe_launch(r, &fault);
        refuse(supervisor, job, ERROR_SANDBOX_FAILED, fault.text);
        return;
    }
    look_ahead(&supervisor->pool, job);
}

static void launch_first(struct supervisor *supervisor, struct slot *slot, struct job *job)
{
    struct fault fault = FAULT_NULL;
    enum error_code code = ERROR_INTERNAL;
    _cleanup_kind_plan_ struct kind_plan plan = KIND_PLAN_NULL;
    int r = kind_ops_get(job->spec->kind)
                ->plan(&plan, job->spec, &job->settings->kind_host, &code, &fault);
    job->kept = TAKE_PTR(plan.kept);
    rubrics_go_on(supervisor);
    assert(r < 0 || plan.no_code || plan.launch.argv);
    if (r < 0)
        refuse(supervisor, job, code, fault.text);
    else if (plan.no_code)
        answer_without_code(supervisor, job);
    else
        begin_turn(supervisor, slot, job, &plan);
}

static void on_launch(struct slot *slot, struct queue_entry *entry, void *userdata)
{
    struct supervisor *supervisor = userdata;
    struct job *job = container_of(entry, struct job, entry);
    if (job_is_between_turns(job)) {
        _cleanup_kind_plan_ struct kind_plan plan = job_begin_turn(job);
        begin_turn(supervisor, slot, job, &plan);
    } else {
        launch_first(supervisor, slot, job);
    }
    event_active(supervisor->turn, 0, 0); /* there is room in the queue */
}

static void on_moved(struct slot *slot, void *owner, void *userdata)
{
    struct job *job = owner;
    (void)userdata;
    job_enter(job, JOB_ON_SLOT, slot);
}

static void on_started(struct slot *slot, void *owner, uint64_t started_ns, void *userdata)
{
    struct job *job = owner;
    _cleanup_bytes_ struct bytes payload = BYTES_NULL;
    /* Not at the launch: on its slot it may have waited behind another job. */
    assert(job->place == JOB_ON_SLOT && job->slot == slot);
    if (job->spec->streams && job->conn && conn_is_choked(job->conn))
        slot_pause_output(slot, job, true);
    if (job->steps.turn_ns == 0)
        job->steps.turn_ns = started_ns;
    if (job->began_ns > 0)
        return; /* with an earlier step */
    end_wait(userdata, job, started_ns);
    if (job->conn && reply_started(&job->id, job->number, slot_index(slot), &payload) == 0)
        conn_send(job->conn, &payload);
}

/* Answers JOB, whose step ended with RESULT, or has its slot go on with it: returns 1 then. */
static int answer_or_go_on(struct pool *pool, struct job *job, const struct slot_result *result,
                           struct answer *ret)
{
    struct fault fault = FAULT_NULL;
    enum error_code code = ERROR_INTERNAL;
    int r = answer_from_interruption(job, result, ret);
    if (r <= 0)
        return r;
    r = result->more ? go_on(pool, job, result, &code, &fault) : 0;
    if (r > 0)
        return r;
    return r < 0 ? answer_error(job, code, fault.text, ret)
                 : answer_from_slot(job, result, isolation_of(job), ret);
}

/* Whether the slot has given back all of a job. */
static bool is_off_slot(const struct job *job)
{
    return job->steps.launched == job->steps.ended;
}

static void on_done(struct slot *slot, void *owner, const struct slot_result *result,
                    void *userdata)
{
    struct supervisor *supervisor = userdata;
    struct job *job = owner;
    _cleanup_answer_ struct answer answer = ANSWER_NULL;
    (void)slot;
    if (!job->steps.is_settled && result->step > job->steps.ended) {
        job->steps.launched--; /* it was ahead, and cancelled together with the one before it */
        return;
    }
    job->steps.ended++;
    pool_note_class(&supervisor->pool, result);
    if (!job->steps.is_settled) {
        if (job->began_ns == 0)
            end_wait(supervisor, job, result->started_ns ? result->started_ns : result->ended_ns);
        int r = answer_or_go_on(&supervisor->pool, job, result, &answer);
        if (r > 0)
            return;
        settle(supervisor, job, r, &answer, result->err);
        if (!is_off_slot(job)) {
            slot_cancel(job->slot, job); /* the step ahead is not wanted; it may end at once */
            return;
        }
    }
    if (is_off_slot(job))
        finish(supervisor, job);
}

static void on_output(struct slot *slot, void *owner, bool is_stderr, const char *data, size_t n,
                      void *userdata)
{
    struct job *job = owner;
    _cleanup_bytes_ struct bytes payload = BYTES_NULL;
    const struct kind_ops *kind = kind_ops_get(job->spec->kind);
    bool has_steps = kind->has_steps && kind->has_steps(job->spec);
    const struct reply_output output = {
        .id = &job->id,
        .job_no = job->number,
        .stream = is_stderr ? "stderr" : "stdout",
        .step = has_steps ? (int)job->steps.ended : -1,
        .data = data,
        .length = n,
    };
    (void)slot;
    (void)userdata;
    if (!job->conn)
        return;
    if (reply_output(&output, &payload) == 0)
        conn_send(job->conn, &payload);
    else
        conn_close(job->conn); /* its client must not take what it has for all */
}

static void on_taken(struct slot *slot, void *owner, size_t n, void *userdata)
{
    struct job *job = owner;
    _cleanup_bytes_ struct bytes payload = BYTES_NULL;
    (void)slot;
    (void)userdata;
    if (!job->conn)
        return;
    if (reply_input_taken(&job->id, job->number, n, &payload) == 0)
        conn_send(job->conn, &payload);
    else
        conn_close(job->conn); /* it would wait for room for ever */
}

static void on_turn_due(void *userdata)
{
    struct supervisor *supervisor = userdata;
    event_active(supervisor->turn, 0, 0);
}

const struct pool_ops dispatch_pool_ops = {
    .launch = on_launch,
    .moved = on_moved,
    .started = on_started,
    .done = on_done,
    .output = on_output,
    .taken = on_taken,
    .idle = on_turn_due,
    .stopped = on_turn_due,
};
