/* SPDX-License-Identifier: MIT */
#include "jobs.h"
#include "ndjson.h"
#include "resultsize.h"

#include "client/connection/meant.h"
#include "proto/jobspec.h"
#include "proto/json.h"
#include "proto/printer.h"
#include "proto/request.h"

#include <string.h>

#define MESSAGE_MAX 700
/* The most bytes that the error of a line takes. */
#define ERROR_LINE_MAX 4096
/* The id of a job that has none, and is alone. */
#define SINGLE_ID "job"

struct jobs {
    struct feeder feeder;
    struct exchange *exchange;
    struct backend *backend;
    struct ndjson reader;
    struct pace_waiter turn; /* to read more of the body */
    size_t in_flight;        /* answers that are to come */
    bool read;               /* nothing of the body is left */
    uint64_t need; /* bytes for the result of the next job, which waits for them; 0: not known */
    bool alone;    /* nobody answers: there is no daemon */
    char why[MESSAGE_MAX];
};

/* What belongs to a job in flight. */
struct tag {
    size_t line;
    const char *text; /* of the job, in the body */
    size_t length;
    json_t *id;      /* NULL: the client gave none */
    uint64_t result; /* the most bytes that its result takes */
};

static void free_tag(void *tag)
{
    json_decref(((struct tag *)tag)->id);
    free(tag);
}

/* --- answers ------------------------------------------------------------------------------ */

/* The id that an answer carries: the client's, or one made of the line. A new reference. */
static json_t *answer_id(const struct jobs *jobs, const struct tag *tag)
{
    if (tag->id)
        return json_incref(tag->id);
    return jobs->exchange->lines ? json_sprintf("line %zu", tag->line) : json_string(SINGLE_ID);
}

static void put_line(struct jobs *jobs, json_t *take)
{
    _cleanup_bytes_ struct bytes text = BYTES_NULL;
    int r = take ? json_print(take, &text) : -ENOMEM;
    json_decref(take);
    if (r < 0) {
        conn_kill(jobs->exchange->conn);
        return;
    }
    text.data[text.length++] = '\n'; /* in the place of the NUL */
    exchange_put(jobs->exchange, &text);
}

/* Answers a line with an error. ID is taken over and may be NULL. */
static void put_error(struct jobs *jobs, size_t line, json_t *id, const char *code,
                      const char *message, bool retriable)
{
    json_t *answer = reply_error(REPLY_OWN, code, message, retriable);
    if (answer && (json_object_set_new(answer, "line", json_integer((json_int_t)line)) < 0 ||
                   (id && json_object_set(answer, "id", id) < 0))) {
        json_decref(answer);
        answer = NULL;
    }
    json_decref(id);
    put_line(jobs, answer);
}

/* Ends a stream when everything is answered. */
static void finish_if_done(struct jobs *jobs)
{
    if (jobs->exchange->lines && jobs->read && jobs->in_flight == 0 && !jobs->exchange->finished)
        exchange_finish(jobs->exchange);
}

static void fail_tag(struct jobs *jobs, struct tag *tag, const char *code, const char *message,
                     bool retriable)
{
    if (jobs->exchange->lines)
        put_error(jobs, tag->line, answer_id(jobs, tag), code, message, retriable);
    else
        exchange_fail(jobs->exchange, reply_status(code, retriable), code, message, retriable);
    free_tag(tag);
    finish_if_done(jobs);
}

static void end_flight(struct jobs *jobs, const struct tag *tag)
{
    jobs->in_flight--;
    if (jobs->exchange->lines)
        exchange_give_back(jobs->exchange, tag->result);
}

/* Returns MESSAGE, the daemon's about a job; if it refuses a field or a kind of which we know what
 * was meant, with that, in OUT. */
static const char *explain(const struct tag *tag, const char *message, char out[MESSAGE_MAX])
{
    struct fault fault = FAULT_NULL;
    size_t at = 0;
    _cleanup_json_ json_t *job = NULL;
    const char *meant = NULL;
    if ((strstr(message, "unknown field") || strstr(message, "unknown kind")) &&
        json_read_bounded(tag->text, tag->length, REQUEST_OVERHEAD_MAX, &job, NULL, &at, &fault) ==
            0)
        meant = meant_field(message, job);
    if (!meant)
        return message;
    (void)snprintf(out, MESSAGE_MAX, "%s; did you mean %s?", message, meant);
    return out;
}

static void on_answer(struct feeder *feeder, void *userdata, struct message *message)
{
    struct jobs *jobs = container_of(feeder, struct jobs, feeder);
    struct tag *tag = userdata;
    end_flight(jobs, tag);
    if (message->type == MESSAGE_ERROR) {
        char why[MESSAGE_MAX];
        fail_tag(jobs, tag, message_text(message, "code"),
                 explain(tag, message_text(message, "message"), why),
                 json_is_true(json_object_get(message->object, "retriable")));
        return;
    }
    json_t *answer = json_incref(message->object);
    if (json_object_set_new(answer, "id", answer_id(jobs, tag)) < 0) {
        json_decref(answer);
        answer = NULL;
    }
    free_tag(tag);
    if (!jobs->exchange->lines) {
        exchange_answer_json(jobs->exchange, MHD_HTTP_OK, answer);
        return;
    }
    put_line(jobs, answer);
    finish_if_done(jobs);
}

static void on_lost(struct feeder *feeder, void *userdata, const char *code, const char *why,
                    bool retriable)
{
    struct jobs *jobs = container_of(feeder, struct jobs, feeder);
    end_flight(jobs, userdata);
    fail_tag(jobs, userdata, code, why, retriable);
}

/* --- jobs --------------------------------------------------------------------------------- */

/* The daemon orders the jobs of a connection by it, and here many clients share one: they would
 * stand behind each other for ever. It refuses a wrong one itself. */
static void drop_priority(json_t *job)
{
    const json_t *priority = json_object_get(job, "priority");
    json_int_t value = json_integer_value(priority);
    if (json_is_null(priority) ||
        (json_is_integer(priority) && value >= -JOB_PRIORITY_MAX && value <= JOB_PRIORITY_MAX))
        (void)json_object_del(job, "priority");
}

/* The daemon does not see the client's id, so its bound is checked here: nothing else counts what
 * ids take. 0 or -EINVAL with FAULT. */
static int check_id(const json_t *id, struct fault *fault)
{
    size_t n = json_string_length(id);
    if (!id)
        return 0;
    if (!json_is_string(id))
        return fault_set(fault, "id: expected a string, got %s", json_type_name(id));
    if (n == 0 || n > REQUEST_ID_MAX)
        return fault_set(fault, "id: expected 1 to %d bytes, got %zu", REQUEST_ID_MAX, n);
    return 0;
}

/* Makes the text of the job, without its id, which *RET_TAG keeps. 0; -EINVAL or -EBADMSG with
 * FAULT; -ENOMEM. */
static int read_job(const char *text, size_t n, size_t line, const json_t *limits,
                    struct bytes *ret, struct tag **ret_tag, struct fault *fault)
{
    struct json_places places;
    size_t at = 0;
    json_t *job = NULL;
    int r = json_read_bounded(text, n, REQUEST_OVERHEAD_MAX, &job, &places, &at, fault);
    if (r < 0)
        return r;
    struct tag *tag = calloc(1, sizeof(*tag));
    json_t *id = json_object_get(job, "id");
    r = check_id(id, fault);
    if (tag && r == 0) {
        tag->line = line;
        tag->text = text;
        tag->length = n;
        tag->id = json_incref(id);
        (void)json_object_del(job, "id");
        drop_priority(job);
        tag->result = resultsize_most(job, limits);
        r = json_print(job, ret);
    }
    json_decref(job);
    r = tag ? r : -ENOMEM;
    if (r == 0)
        *ret_tag = tag;
    else if (tag)
        free_tag(tag);
    return r;
}

/* Finds the next line that is not empty. False at the end of the body; or if no more of it may be
 * read in this turn of the loop: then the next one goes on. */
static bool find_line(struct jobs *jobs, const char **ret, size_t *ret_n)
{
    const struct exchange *exchange = jobs->exchange;
    struct pace *pace = &exchange->gateway->pace;
    size_t left = pace->left;
    bool found =
        ndjson_next(&jobs->reader, exchange->body, exchange->body_length, &left, ret, ret_n);
    /* A long line was found in parts, and is now read in one go. */
    pace_spend(pace, found ? MAX(pace->left - left, *ret_n) + PACE_LINE : pace->left - left);
    if (found)
        return true;
    jobs->read = ndjson_at_end(&jobs->reader, exchange->body_length);
    if (!jobs->read)
        pace_wait(pace, &jobs->turn);
    return false;
}

/* The reader of JSON counts lines of its own, and here each text has one. */
static const char *without_line(const char *why)
{
    static const char counted[] = "JSON: line 1 ";
    return strncmp(why, counted, sizeof(counted) - 1) == 0 ? why + sizeof(counted) - 1 : why;
}

/* Takes the job off if there is room for its result. False: JOB is to be read again later. */
static bool take_off(struct jobs *jobs, struct bytes *job, struct tag *tag)
{
    if (!exchange_reserve(jobs->exchange, tag->result)) {
        jobs->need = tag->result;
        free_tag(tag);
        bytes_deinit(job);
        return false;
    }
    jobs->need = 0;
    jobs->in_flight++;
    return true;
}

/* Reads lines up to the next good one; bad ones are answered. 1 with the job; 0. */
static int next_line(struct jobs *jobs, struct bytes *ret_job, void **ret_tag)
{
    const char *text;
    size_t n;
    while (!exchange_is_full(jobs->exchange) &&
           exchange_may_hold(jobs->exchange, MAX(jobs->need, (uint64_t)ERROR_LINE_MAX)) &&
           find_line(jobs, &text, &n)) {
        struct fault why = FAULT_NULL;
        struct tag *tag = NULL;
        int r;
        if (jobs->alone)
            put_error(jobs, jobs->reader.line, NULL, "daemon_gone", jobs->why, true);
        else if (backend_check_size(jobs->backend, n, &why) < 0)
            put_error(jobs, jobs->reader.line, NULL, "frame_too_large", why.text, false);
        else if ((r = read_job(text, n, jobs->reader.line, jobs->exchange->gateway->limits, ret_job,
                               &tag, &why)) == 0) {
            bool taken = take_off(jobs, ret_job, tag);
            if (!taken)
                ndjson_go_back(&jobs->reader, (size_t)(text - jobs->exchange->body));
            *ret_tag = tag;
            return taken;
        } else if (r == -ENOMEM)
            put_error(jobs, jobs->reader.line, NULL, "internal", "out of memory", true);
        else
            put_error(jobs, jobs->reader.line, NULL, "bad_request", without_line(why.text), false);
    }
    finish_if_done(jobs);
    return 0;
}

static int next_single(struct jobs *jobs, struct bytes *ret_job, void **ret_tag)
{
    const struct exchange *exchange = jobs->exchange;
    struct fault why = FAULT_NULL;
    struct tag *tag = NULL;
    if (jobs->read || !exchange_may_hold(jobs->exchange, jobs->need) ||
        !pace_take(&exchange->gateway->pace, &jobs->turn, exchange->body_length))
        return 0;
    int r = read_job(exchange->body, exchange->body_length, 1, exchange->gateway->limits, ret_job,
                     &tag, &why);
    if (r == 0) {
        jobs->read = take_off(jobs, ret_job, tag);
        *ret_tag = tag;
        return jobs->read;
    }
    jobs->read = true;
    exchange_fail(jobs->exchange,
                  r == -ENOMEM ? MHD_HTTP_SERVICE_UNAVAILABLE : MHD_HTTP_BAD_REQUEST,
                  r == -ENOMEM ? "internal" : "bad_request",
                  r == -ENOMEM ? "out of memory" : why.text, r == -ENOMEM);
    return 0;
}

static int on_next(struct feeder *feeder, struct bytes *ret_job, void **ret_tag)
{
    struct jobs *jobs = container_of(feeder, struct jobs, feeder);
    return (jobs->exchange->lines ? next_line : next_single)(jobs, ret_job, ret_tag);
}

/* Answers what has not been submitted. A stream goes on with errors, as fast as they are read. */
static void on_unreachable(struct feeder *feeder, const char *why)
{
    struct jobs *jobs = container_of(feeder, struct jobs, feeder);
    struct bytes job = BYTES_NULL;
    void *tag = NULL;
    if (jobs->exchange->lines && jobs->exchange->ready) {
        jobs->alone = true;
        (void)snprintf(jobs->why, sizeof(jobs->why), "%s", why);
        (void)next_line(jobs, &job, &tag);
    } else if (!jobs->exchange->ready) {
        exchange_fail(jobs->exchange, MHD_HTTP_SERVICE_UNAVAILABLE, "daemon_gone", why, true);
    }
}

static const struct feeder_ops feeder_ops = {
    .next = on_next, .answer = on_answer, .lost = on_lost, .unreachable = on_unreachable};

static void on_drained(void *userdata)
{
    struct jobs *jobs = userdata;
    struct bytes job = BYTES_NULL;
    void *tag = NULL;
    if (jobs->read || (jobs->exchange->finished && !jobs->exchange->lines))
        return;
    if (jobs->alone)
        (void)next_line(jobs, &job, &tag);
    else
        backend_offer(jobs->backend, &jobs->feeder);
}

static void go_on(struct waiter *waiter)
{
    struct jobs *jobs = container_of(waiter, struct jobs, turn.waiter);
    if (!jobs->exchange->conn->dead)
        on_drained(jobs);
}

static void end_jobs(void *userdata)
{
    struct jobs *jobs = userdata;
    waiter_wait_no_more(&jobs->turn.waiter);
    backend_withdraw(&jobs->feeder, free_tag);
    free(jobs);
}

int jobs_start(struct exchange *exchange)
{
    struct jobs *jobs = calloc(1, sizeof(*jobs));
    if (!jobs)
        return -ENOMEM;
    jobs->exchange = exchange;
    jobs->feeder.ops = &feeder_ops;
    jobs->turn.waiter.again = go_on;
    jobs->turn.share = exchange->share;
    int r = gateway_share(exchange->gateway, exchange->share, &jobs->backend);
    if (r < 0) {
        free(jobs);
        return r;
    }
    exchange->work = jobs;
    exchange->end_work = end_jobs;
    exchange->drained = on_drained;
    backend_offer(jobs->backend, &jobs->feeder);
    /* The first results may take minutes: the client learns at once that its jobs are taken. */
    if (exchange->lines && !exchange->ready)
        exchange_stream(exchange, "application/x-ndjson");
    return 0;
}
