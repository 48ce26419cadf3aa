/* SPDX-License-Identifier: MIT */
#include "runjob.h"

#include "consumer.h"
#include "feeds.h"
#include "marks.h"

#include "client/terminal/text.h"
#include "proto/json.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>
#include <sys/random.h>

/* A job runs again so often because a part of its result was lost; because its result came from a
 * daemon with another isolation. */
#define LOST_MAX 3
#define FOREIGN_MAX 3

_unused_ static bool may_follow(enum runjob_state from, enum runjob_state to)
{
#define TO(state) (1U << (state))
    static const unsigned next[RUNJOB_STATES] = {
        [RUNJOB_NEW] = TO(RUNJOB_LOOKING) | TO(RUNJOB_CLEARING) | TO(RUNJOB_STORING) |
                       TO(RUNJOB_SENDING) | TO(RUNJOB_OVER),
        [RUNJOB_LOOKING] = TO(RUNJOB_CLEARING) | TO(RUNJOB_STORING) | TO(RUNJOB_SENDING) |
                           TO(RUNJOB_READING) | TO(RUNJOB_OVER),
        [RUNJOB_CLEARING] = TO(RUNJOB_STORING) | TO(RUNJOB_SENDING) | TO(RUNJOB_OVER),
        [RUNJOB_STORING] =
            TO(RUNJOB_SENDING) | TO(RUNJOB_READING) | TO(RUNJOB_CLEARING) | TO(RUNJOB_OVER),
        [RUNJOB_SENDING] =
            TO(RUNJOB_QUEUED) | TO(RUNJOB_READING) | TO(RUNJOB_CLEARING) | TO(RUNJOB_OVER),
        [RUNJOB_QUEUED] =
            TO(RUNJOB_LOOKING) | TO(RUNJOB_READING) | TO(RUNJOB_CLEARING) | TO(RUNJOB_OVER),
        [RUNJOB_READING] = TO(RUNJOB_CLEARING) | TO(RUNJOB_OVER),
    };
#undef TO
    return next[from] >> to & 1;
}

static void runjob_enter(struct runjob *job, enum runjob_state state)
{
    assert(may_follow(job->state, state));
    job->state = state;
}

static void fail(struct runjob *job, const char *code, const char *why)
{
    runjob_enter(job, RUNJOB_OVER);
    job->ops->failed(job, code, why);
}

/* Deletes the message SEQ of STREAM. Returns the request's number; see bus_request(). */
static uint64_t delete_message(struct runjob *job, enum fleet_stream stream, uint64_t seq,
                               bus_reply *reply, void *arg)
{
    char subject[API_SUBJECT_SIZE], text[64];
    api_subject("STREAM.MSG.DELETE", bus_fleet(job->bus), stream, NULL, subject, sizeof(subject));
    int n = snprintf(text, sizeof(text), "{\"seq\":%" PRIu64 ",\"no_erase\":true}", seq);
    return bus_request(job->bus, subject, NULL, text, (size_t)n, reply, arg);
}

/* --- a message that the queue keeps and delivers to nobody --------------------------------- */

/* A nats-server 2.9 that has lost its disk may keep messages that were acknowledged. Their numbers
 * are not above the floor of the consumer, which delivers them to nobody, and the queue takes no
 * other message of such a job. So if a job that has had no answer for long is refused because it is
 * there already, its message is looked up, and goes if nobody will get it. */

static void settle(struct runjob *job, uint64_t seq);
static void publish(struct runjob *job);

static bool on_removed(void *arg, natsMsg *reply)
{
    struct runjob *job = arg;
    struct api_answer answer;
    api_read(reply, &answer);
    if (answer.outcome == API_AGAIN)
        return true;
    job->request = 0;
    if (answer.outcome == API_OK || answer.outcome == API_GONE)
        publish(job);
    else
        settle(job, job->queued_seq);
    return false;
}

static bool on_floor(void *arg, natsMsg *reply)
{
    struct runjob *job = arg;
    _cleanup_json_ json_t *info = consumer_read(reply);
    job->floor = consumer_floor(info);
    if (job->queued_seq > job->floor) {
        settle(job, job->queued_seq);
        return false;
    }
    complain("run %s: %s is queued again: the NATS server has kept it, though it was acknowledged, "
             "and has lost its result",
             job->run, job->token);
    job->request = delete_message(job, STREAM_JOBS, job->queued_seq, on_removed, job);
    if (job->request == 0)
        fail(job, "internal", "out of memory");
    return false;
}

static bool on_place(void *arg, natsMsg *reply)
{
    struct runjob *job = arg;
    _cleanup_json_ json_t *found = NULL;
    struct fault fault = FAULT_NULL;
    (void)json_read_object(natsMsg_GetData(reply), (size_t)natsMsg_GetDataLength(reply), &found,
                           &fault);
    json_int_t seq = json_integer_value(json_object_get(json_object_get(found, "message"), "seq"));
    if (seq <= 0) { /* it has gone meanwhile, or the server cannot say; the next look hears again */
        settle(job, 0);
        return false;
    }
    job->queued_seq = (uint64_t)seq;
    job->request = consumer_ask(job->bus, job->run, job->priority, "CONSUMER.INFO", on_floor, job);
    if (job->request == 0)
        fail(job, "internal", "out of memory");
    return false;
}

static void find_message(struct runjob *job)
{
    char subject[API_SUBJECT_SIZE], of_job[NAMES_SUBJECT_SIZE], text[NAMES_SUBJECT_SIZE + 32];
    api_subject("STREAM.MSG.GET", bus_fleet(job->bus), STREAM_JOBS, NULL, subject, sizeof(subject));
    names_job(bus_fleet(job->bus), job->run, job->priority, job->token, of_job);
    int n = snprintf(text, sizeof(text), "{\"last_by_subj\":\"%s\"}", of_job);
    job->request = bus_request(job->bus, subject, NULL, text, (size_t)n, on_place, job);
    if (job->request == 0)
        fail(job, "internal", "out of memory");
}

/* --- into the queue ----------------------------------------------------------------------- */

static bool on_bound(void *arg, natsMsg *reply)
{
    struct runjob *job = arg;
    _cleanup_json_ json_t *info = NULL;
    struct api_answer answer;
    struct fault fault = FAULT_NULL;
    char stream[NAMES_SUBJECT_SIZE];
    api_read(reply, &answer);
    if (answer.outcome == API_AGAIN ||
        json_read_object(natsMsg_GetData(reply), (size_t)natsMsg_GetDataLength(reply), &info,
                         &fault) < 0)
        return true;
    job->request = 0;
    names_stream(bus_fleet(job->bus), STREAM_JOBS, stream);
    (void)fault_set(&fault,
                    "job: %zu bytes, and the stream %s of the NATS server takes at most %" PRId64
                    " in a message, headers included: send less, or raise its max_msg_size",
                    job->body.length, stream,
                    (int64_t)json_integer_value(
                        json_object_get(json_object_get(info, "config"), "max_msg_size")));
    fail(job, "bad_request", fault.text);
    return false;
}

/* The stream does not take the job. Which size it takes, the server says only if it is asked. */
static void ask_bound(struct runjob *job)
{
    char subject[API_SUBJECT_SIZE];
    api_subject("STREAM.INFO", bus_fleet(job->bus), STREAM_JOBS, NULL, subject, sizeof(subject));
    job->request = bus_request(job->bus, subject, NULL, "", 0, on_bound, job);
    if (job->request == 0)
        fail(job, "internal", "out of memory");
}

/* The queue has the job, as the message SEQ; 0: unknown. */
static void settle(struct runjob *job, uint64_t seq)
{
    job->request = 0;
    runjob_enter(job, RUNJOB_QUEUED);
    job->queued_ms = monotonic_ms();
    job->queued_seq = seq;
    job->is_again = job->is_displaced = false;
    job->floor = 0;
    if (job->is_cancelled)
        runjob_withdraw(job);
}

static bool on_sent(void *arg, natsMsg *reply)
{
    struct runjob *job = arg;
    struct api_answer answer;
    api_read(reply, &answer);
    if (answer.outcome == API_FULL || answer.outcome == API_AGAIN) {
        bus_complain(job->bus, "a job is not queued: %s; keeping it and trying again%s",
                     answer.text, api_remedy(&answer));
        (void)snprintf(job->why, sizeof(job->why), "%.127s", answer.text);
        return true;
    }
    /* The result of the other job has come, so that its message will go in a moment. */
    if (answer.outcome == API_EXISTS && job->is_displaced && !job->is_cancelled)
        return true;
    job->request = 0;
    if (answer.outcome == API_TOO_LARGE) {
        ask_bound(job);
        return false;
    }
    if (answer.outcome != API_OK && answer.outcome != API_EXISTS) {
        fail(job, "internal", answer.text);
        return false;
    }
    if (answer.outcome == API_OK && answer.seq <= job->floor)
        consumer_give_up(job->bus, job->run, job->priority);
    if (answer.outcome == API_OK)
        settle(job, answer.seq);
    else if (!job->is_again)
        settle(job, 0);
    else
        find_message(job);
    return false;
}

static uint64_t random_number(void)
{
    uint64_t number = 0;
    if (getrandom(&number, sizeof(number), 0) != (ssize_t)sizeof(number))
        number = (uint64_t)monotonic_ms() << 20 ^ (uint64_t)getpid();
    return MAX(number, UINT64_C(1));
}

static void publish(struct runjob *job)
{
    char subject[NAMES_SUBJECT_SIZE], id[NAMES_SUBJECT_SIZE], number[CANCEL_NUMBER_SIZE];
    struct header headers[8];
    size_t n = 0;
    /* Whenever the job is queued again its message has another id: the server would drop it as a
     * copy of the earlier one otherwise. */
    (void)snprintf(id, sizeof(id), "%s.%s.%016" PRIx64, job->run, job->token, random_number());
    cancel_print_number(job->submission, number);
    names_job(bus_fleet(job->bus), job->run, job->priority, job->token, subject);
    headers[n++] = (struct header){API_ID, id};
    headers[n++] = (struct header){API_DIGEST, job->digest};
    headers[n++] = (struct header){API_SUBMISSION, number};
    if (job->body_ref)
        headers[n++] = (struct header){API_BODY, job->body_ref};
    if (job->tests_ref)
        headers[n++] = (struct header){API_TESTS, job->tests_ref};
    if (*job->bench)
        headers[n++] = (struct header){API_BENCH, job->bench};
    if (job->keeps_starved)
        headers[n++] = (struct header){API_STARVED, "keep"};
    headers[n] = (struct header){NULL, NULL};
    job->request = bus_request(job->bus, subject, headers, job->body.data,
                               job->body_ref ? 0 : job->body.length, on_sent, job);
    if (job->request == 0)
        fail(job, "internal", "out of memory");
}

static void send_job(struct runjob *job)
{
    runjob_enter(job, RUNJOB_SENDING);
    publish(job);
}

static void on_stored(void *arg, _unused_ struct bytes *text, const char *why)
{
    struct runjob *job = arg;
    job->blob = blob_free(job->blob);
    if (why)
        fail(job, "internal", why);
    else
        send_job(job);
}

static void queue(struct runjob *job)
{
    char ref[BLOBS_REF_SIZE];
    _cleanup_bytes_ struct bytes copy = BYTES_NULL;
    if (job->body.length <= BLOBS_INLINE_MAX) {
        send_job(job);
        return;
    }
    runjob_enter(job, RUNJOB_STORING);
    blobs_ref(job->body.data, job->body.length, NULL, ref);
    free(job->body_ref);
    job->body_ref = strdup(ref);
    if (job->body_ref && bytes_copy(job->body.data, job->body.length, &copy) == 0)
        job->blob = blob_up(job->bus, &copy, ref, on_stored, job);
    if (!job->blob)
        fail(job, "internal", "out of memory");
}

/* --- a result that is there --------------------------------------------------------------- */

static bool on_cleared(void *arg, natsMsg *reply)
{
    struct runjob *job = arg;
    struct api_answer answer;
    api_read(reply, &answer);
    if (answer.outcome != API_OK && answer.outcome != API_GONE) {
        bus_complain(job->bus, "an old result is not deleted: %s; trying again", answer.text);
        return true;
    }
    job->request = 0;
    job->known_seq = 0;
    job->ops->cleared(job);
    queue(job);
    return false;
}

static bool on_mark_anew(void *arg, natsMsg *reply)
{
    struct runjob *job = arg;
    struct api_answer answer;
    api_read(reply, &answer);
    if (answer.outcome != API_OK) {
        bus_complain(job->bus, "the mark of an old result is not stored: %s; trying again%s",
                     answer.text, api_remedy(&answer));
        return true;
    }
    job->request = delete_message(job, STREAM_RESULTS, job->known_seq, on_cleared, job);
    if (job->request == 0)
        fail(job, "internal", "out of memory");
    return false;
}

/* Deletes the result that is there. The starts that have led to it no longer count. */
static void clear(struct runjob *job)
{
    char subject[NAMES_SUBJECT_SIZE];
    runjob_enter(job, RUNJOB_CLEARING);
    names_of_run(bus_fleet(job->bus), STREAM_MARKS, job->run, job->token, subject);
    job->request =
        bus_request(job->bus, subject, NULL, MARKS_ANEW, strlen(MARKS_ANEW), on_mark_anew, job);
    if (job->request == 0)
        fail(job, "internal", "out of memory");
}

static void on_read(void *arg, struct bytes *text, const char *why)
{
    struct runjob *job = arg;
    job->blob = blob_free(job->blob);
    if (why && job->lost++ < LOST_MAX) {
        complain("run %s: %s is queued again: the NATS server has lost a part of its result",
                 job->run, job->token);
        clear(job);
        return;
    }
    if (why) {
        fail(job, "internal", "the NATS server has lost a part of the result again and again");
        return;
    }
    runjob_enter(job, RUNJOB_OVER);
    job->ops->answered(job, text);
}

/* Passes the answer in MESSAGE on, which is number SEQ of the results. */
static void pass_on(struct runjob *job, natsMsg *message, uint64_t seq)
{
    const char *ref = api_header(message, API_BODY);
    if (ref) {
        runjob_enter(job, RUNJOB_READING);
        job->known_seq = seq;
        job->blob = blob_down(job->bus, ref, on_read, job);
        if (!job->blob)
            fail(job, "internal", "the reference of a result is malformed");
        return;
    }
    _cleanup_bytes_ struct bytes text = BYTES_NULL;
    if (bytes_copy(natsMsg_GetData(message), (size_t)natsMsg_GetDataLength(message), &text) < 0) {
        fail(job, "internal", "out of memory");
        return;
    }
    runjob_enter(job, RUNJOB_OVER);
    job->ops->answered(job, &text);
}

/* Whether MESSAGE answers a job with the same content. */
static bool is_of(const struct runjob *job, natsMsg *message)
{
    const char *digest = api_header(message, API_DIGEST);
    return digest && strcmp(digest, job->digest) == 0;
}

/* Whether MESSAGE comes from a daemon that confines jobs otherwise than the run wants it. */
static bool is_foreign(const struct runjob *job, natsMsg *message)
{
    const char *isolation = api_header(message, API_ISOLATION);
    return isolation && !feeds_allow(job->isolation, isolation);
}

/* Deletes the result SEQ, which is not for this job, and has the job run again. */
static void replace(struct runjob *job, natsMsg *message, uint64_t seq)
{
    if (is_of(job, message) && job->foreign++ == FOREIGN_MAX) {
        fail(job, "internal",
             "its results come from hosts with another isolation again and again: does another "
             "command use the run with --mix?");
        return;
    }
    job->known_seq = seq;
    clear(job);
}

static void complain_of(struct runjob *job, natsMsg *message)
{
    if (is_of(job, message))
        bus_complain(
            job->bus,
            "run %s: a result of %s came that ran with the isolation %.12s..., and the run "
            "wants %.12s...: it is deleted, and the job queued again",
            job->run, job->token, api_header(message, API_ISOLATION), job->isolation);
    else
        bus_complain(job->bus,
                     "run %s: a result of %s came that is of another job of that id; it is "
                     "deleted, and the job queued again. Either the other job was in the queue "
                     "before, or another command uses the run: give each a run of its own (--run)",
                     job->run, job->token);
}

static bool on_found(void *arg, natsMsg *reply)
{
    struct runjob *job = arg;
    if (api_sequence(reply) == 0 && api_status(reply) != 404)
        return true;
    job->request = 0;
    if (api_sequence(reply) == 0) {
        if (!job->is_again) { /* the one that was known has become too old, or was deleted */
            job->known_seq = 0;
            job->ops->cleared(job);
        }
        queue(job);
    } else if (is_of(job, reply) && !is_foreign(job, reply)) {
        pass_on(job, reply, api_sequence(reply));
    } else {
        replace(job, reply, api_sequence(reply));
    }
    return false;
}

/* Fetches the result that is there. */
static void look(struct runjob *job)
{
    char subject[NAMES_SUBJECT_SIZE], request[API_SUBJECT_SIZE];
    runjob_enter(job, RUNJOB_LOOKING);
    names_of_run(bus_fleet(job->bus), STREAM_RESULTS, job->run, job->token, subject);
    api_direct_last(bus_fleet(job->bus), STREAM_RESULTS, subject, request, sizeof(request));
    job->request = bus_request(job->bus, request, NULL, "", 0, on_found, job);
}

void runjob_begin(struct runjob *job)
{
    job->submission = random_number();
    if (job->known_seq == 0)
        queue(job);
    else if (job->is_known_verdict)
        look(job);
    else
        clear(job);
}

bool runjob_send_again(struct runjob *job, int64_t before_ms)
{
    if (job->state != RUNJOB_QUEUED || job->queued_ms >= before_ms)
        return false;
    job->is_again = true;
    look(job);
    return true;
}

bool runjob_take(struct runjob *job, natsMsg *message, uint64_t seq)
{
    /* One that is looked for or stored again may be answered meanwhile: it was in the queue before.
     */
    if (job->state != RUNJOB_LOOKING && job->state != RUNJOB_STORING &&
        job->state != RUNJOB_SENDING && job->state != RUNJOB_QUEUED)
        return false;
    job->blob = blob_free(job->blob);
    bus_forget(job->bus, job->request);
    job->request = 0;
    if (is_of(job, message) && !is_foreign(job, message)) {
        pass_on(job, message, seq);
        return true;
    }
    job->is_displaced = true;
    complain_of(job, message);
    replace(job, message, seq);
    return false;
}

/* --- ending ------------------------------------------------------------------------------- */

static bool on_withdrawn(_unused_ void *arg, natsMsg *reply)
{
    struct api_answer answer;
    api_read(reply, &answer);
    return answer.outcome == API_AGAIN;
}

/* Takes the message of JOB out of the queue: by its number, because a purge, even of this subject
 * alone, makes the server (2.9) drop acknowledgements that are under way. */
static void take_back(struct runjob *job)
{
    char subject[API_SUBJECT_SIZE], of_job[NAMES_SUBJECT_SIZE], text[API_PURGE_SIZE];
    if (job->queued_seq > 0) {
        (void)delete_message(job, STREAM_JOBS, job->queued_seq, on_withdrawn, NULL);
        return;
    }
    names_job(bus_fleet(job->bus), job->run, job->priority, job->token, of_job);
    size_t n = api_purge(bus_fleet(job->bus), STREAM_JOBS, of_job, subject, text);
    (void)bus_request(job->bus, subject, NULL, text, n, on_withdrawn, NULL);
}

void runjob_withdraw(struct runjob *job)
{
    char subject[API_SUBJECT_SIZE], text[NAMES_SUBJECT_SIZE];
    job->is_cancelled = true;
    if (job->state == RUNJOB_SENDING)
        return;             /* goes on when it is queued */
    if (job->queued_ms > 0) /* it may be on its way into the queue once more, and be there still */
        take_back(job);
    (void)snprintf(subject, sizeof(subject), "%s.cancel", bus_fleet(job->bus));
    size_t length = cancel_print(job->run, job->priority, job->token, job->submission, text);
    (void)bus_publish(job->bus, subject, NULL, text, length);
    fail(job, "cancelled", "the job was cancelled");
}

struct runjob *runjob_free(struct runjob *job)
{
    if (!job)
        return NULL;
    bus_forget(job->bus, job->request);
    (void)blob_free(job->blob);
    bytes_deinit(&job->id);
    bytes_deinit(&job->body);
    free(job->body_ref);
    free(job->tests_ref);
    free(job);
    return NULL;
}
