/* SPDX-License-Identifier: MIT */
#include "dispatch.h"

#include "daemon/base/clock.h"
#include "daemon/base/reserve.h"
#include "daemon/jobs/answer.h"
#include "daemon/jobs/settings.h"
#include "daemon/kinds/kind.h"
#include "daemon/observe/joblog.h"

#include <assert.h>
#include <string.h>

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

/* Counts, logs and sends the answer, then frees the job. A negative R means that memory ran out
 * while the answer was made. */
static void deliver(struct supervisor *supervisor, struct job *job, int r, struct answer *answer,
                    const struct bytes *err)
{
    if (r < 0)
        r = answer_error(job, ERROR_INTERNAL, "out of memory", answer);
    if (r < 0 && reserve_give_up())
        r = answer_error(job, ERROR_INTERNAL, "out of memory", answer);
    count_answer(&supervisor->stats, job->spec->kind, answer);
    if (answer->program_failed ||
        (!answer->is_result && answer->code != ERROR_CANCELLED && answer->code != ERROR_DRAINING))
        stats_add_failure(&supervisor->stats, job, answer->what);
    log_answer(supervisor, job, answer, err);

    struct conn *conn = job->conn;
    job_enter(job, JOB_ENDED, NULL);
    if (conn) {
        job_set_remove(&conn->jobs, job);
        if (r == 0)
            conn_send(conn, &answer->payload);
        else
            conn_close(conn); /* each job is answered, or its client learns that it is not */
        conn_job_finished(conn);
    }
    job_free(job);
    event_active(supervisor->turn, 0, 0);
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

/* Answers a job that was taken out of the queue and cannot be run. */
static void refuse(struct supervisor *supervisor, struct job *job, enum error_code code,
                   const char *message)
{
    end_wait(supervisor, job, clock_now_ns());
    dispatch_answer_error(supervisor, job, code, message);
}

/* --- the pool's callbacks ------------------------------------------------------------------ */

static void launch(struct supervisor *supervisor, struct slot *slot, struct job *job,
                   struct launch *what)
{
    what->confinement = job->settings->confinement;
    what->cpu_percent = job->settings->config.cpu_percent;
    char message[160];
    int r = slot_run(slot, what, job->number, job);
    if (r < 0) {
        (void)snprintf(message, sizeof(message), "the job could not be handed to its jail: %s",
                       strerror(-r));
        refuse(supervisor, job, ERROR_SANDBOX_FAILED, message);
        return;
    }
    job_enter(job, JOB_ON_SLOT, slot);
    job_drop_input(job);
}

static void on_launch(struct slot *slot, struct queue_entry *entry, void *userdata)
{
    struct supervisor *supervisor = userdata;
    struct job *job = container_of(entry, struct job, entry);
    struct fault fault = FAULT_NULL;
    enum error_code code = ERROR_INTERNAL;
    _cleanup_kind_plan_ struct kind_plan plan = KIND_PLAN_NULL;
    int r = kind_ops_get(job->spec->kind)
                ->plan(&plan, job->spec, &job->settings->kind_host, &code, &fault);
    job->kept = TAKE_PTR(plan.kept);
    assert(r < 0 || plan.no_code || plan.launch.argv);
    if (r < 0)
        refuse(supervisor, job, code, fault.text);
    else if (plan.no_code)
        answer_without_code(supervisor, job);
    else
        launch(supervisor, slot, job, &plan.launch);
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
    end_wait(userdata, job, started_ns);
    if (job->conn && reply_started(&job->id, job->number, slot_index(slot), &payload) == 0)
        conn_send(job->conn, &payload);
}

static void on_done(struct slot *slot, void *owner, const struct slot_result *result,
                    void *userdata)
{
    struct supervisor *supervisor = userdata;
    struct job *job = owner;
    _cleanup_answer_ struct answer answer = ANSWER_NULL;
    (void)slot;
    if (job->began_ns == 0)
        end_wait(supervisor, job, result->started_ns ? result->started_ns : result->ended_ns);
    int r = answer_from_slot(job, result, isolation_of(job), &answer);
    deliver(supervisor, job, r, &answer, result->err);
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
    .idle = on_turn_due,
    .stopped = on_turn_due,
};
