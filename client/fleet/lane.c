/* SPDX-License-Identifier: MIT */
#include "lane.h"

#include "client/terminal/text.h"
#include "proto/printer.h"

#include <inttypes.h>
#include <poll.h>
#include <string.h>

#define STATUS_MS 1000
/* Connect again for as long as the worker lives. */
#define PATIENCE_MS (INT64_C(3650) * 86400 * 1000)

static void forget_daemon(struct lane *lane)
{
    json_decref(lane->status);
    lane->status = NULL;
    lane->slots = lane->others = 0;
    lane->ask_ms = INT64_MAX;
    lane->n_told = lane->n_asked; /* what was asked for does not come */
    puts_deinit(&lane->puts);
}

int lane_init(struct lane *lane, const char *path, int64_t now)
{
    *lane = (struct lane){.path = path, .session = SESSION_NULL, .ask_ms = INT64_MAX};
    TAILQ_INIT(&lane->jobs);
    reconnect_init(&lane->reconnect, PATIENCE_MS);
    int r = session_prepare(path, &lane->session);
    lane->session.connects_at_once = true; /* a worker says all the time that its jobs go on */
    if (r == 0)
        reconnect_begin(&lane->reconnect, &lane->session, NULL, now);
    return r;
}

void lane_deinit(struct lane *lane)
{
    forget_daemon(lane);
    session_deinit(&lane->session);
}

bool lane_is_ready(const struct lane *lane)
{
    return lane->status != NULL;
}

size_t lane_free(const struct lane *lane)
{
    size_t taken = lane->others + lane->reserved;
    return lane_is_ready(lane) && lane->slots > taken ? lane->slots - taken : 0;
}

static const char *isolation_text(const struct lane *lane, const char *name)
{
    const json_t *isolation = json_object_get(lane->status, "isolation");
    const char *text = json_string_value(json_object_get(isolation, name));
    return text ? text : "";
}

const char *lane_digest(const struct lane *lane)
{
    return isolation_text(lane, "digest");
}

const char *lane_networked_digest(const struct lane *lane)
{
    return isolation_text(lane, "networked_digest");
}

bool lane_has_tests(const struct lane *lane, const char *digest)
{
    return json_is_null(json_object_get(lane->puts.known, digest));
}

/* --- jobs --------------------------------------------------------------------------------- */

static struct lane_job *find_job(const struct lane *lane, const char *id)
{
    struct lane_job *job;
    TAILQ_FOREACH(job, &lane->jobs, link)
    if (id && strcmp(job->id, id) == 0)
        return job;
    return NULL;
}

static void forget_job(struct lane *lane, struct lane_job *job)
{
    TAILQ_REMOVE(&lane->jobs, job, link);
    lane->n_jobs--;
}

int lane_submit(struct lane *lane, struct lane_job *job, const char *text, size_t n)
{
    _cleanup_bytes_ struct bytes payload = BYTES_NULL;
    struct printer printer = PRINTER_NULL;
    const struct bytes fields = {.data = (char *)(uintptr_t)text, .length = n};
    if (!lane_is_ready(lane))
        return -ENOTCONN;
    (void)snprintf(job->id, sizeof(job->id), "w%" PRIu64, ++lane->last_id);
    printer_open(&printer);
    printer_name(&printer, "type");
    printer_string(&printer, "submit", strlen("submit"));
    printer_name(&printer, "id");
    printer_string(&printer, job->id, strlen(job->id));
    printer_name(&printer, "job");
    printer_bytes(&printer, &fields);
    printer_close(&printer);
    int r = printer_finish(&printer, &payload);
    if (r == 0 && job->tests)
        r = puts_send(&lane->puts, &lane->session, job->tests);
    if (r == 0)
        r = session_send(&lane->session, payload.data, payload.length);
    if (r < 0)
        return r;
    TAILQ_INSERT_TAIL(&lane->jobs, job, link);
    lane->n_jobs++;
    return 0;
}

void lane_cancel(struct lane *lane, struct lane_job *job)
{
    char text[64];
    int n = snprintf(text, sizeof(text), "{\"type\":\"cancel\",\"id\":\"%s\"}", job->id);
    (void)session_send(&lane->session, text, (size_t)n);
}

/* --- messages ----------------------------------------------------------------------------- */

/* Counts the slots, and the jobs of others among those that run or wait. */
static void take_status(struct lane *lane, struct message *message, int64_t now)
{
    const json_t *slots = json_object_get(message->object, "slots");
    const json_t *queue = json_object_get(message->object, "queue");
    size_t busy = (size_t)json_integer_value(json_object_get(queue, "jobs")), n = 0;
    for (size_t i = 0; i < json_array_size(slots); i++) {
        const json_t *slot = json_array_get(slots, i);
        const char *state = json_string_value(json_object_get(slot, "state"));
        busy += json_is_object(json_object_get(slot, "job"));
        n += state && strcmp(state, "broken") != 0 &&
             !json_is_true(json_object_get(slot, "retiring"));
    }
    lane->slots = n;
    lane->others = busy > lane->n_jobs ? busy - lane->n_jobs : 0;
    json_decref(lane->status);
    lane->status = TAKE_PTR(message->object);
    lane->ask_ms = now + STATUS_MS;
    lane->n_told++;
    if (lane->on_status)
        lane->on_status(lane->on_arg);
}

static void ask_status(struct lane *lane)
{
    static const char ask[] = "{\"type\":\"status\"}";
    lane->ask_ms = INT64_MAX;
    lane->n_asked++;
    (void)session_send(&lane->session, ask, strlen(ask));
}

uint64_t lane_ask_status(struct lane *lane)
{
    ask_status(lane);
    return lane->n_asked;
}

void lane_ask_metrics(struct lane *lane)
{
    static const char ask[] = "{\"type\":\"metrics\"}";
    lane->metrics_owed++;
    (void)session_send(&lane->session, ask, strlen(ask));
}

/* MESSAGE may be NULL. */
static void take_metrics(struct lane *lane, const struct message *message)
{
    if (lane->metrics_owed == 0 || !lane->on_metrics)
        return;
    lane->metrics_owed--;
    lane->on_metrics(lane->on_arg, message);
}

static void take_answer(struct lane *lane, struct message *message)
{
    struct lane_job *job = find_job(lane, message_text(message, "id"));
    _cleanup_json_ json_t *refusal = NULL;
    if (!job)
        return; /* a cancel that crossed the answer of its job */
    if (job->tests)
        (void)puts_were_lost(&lane->puts, job->tests, message, &refusal);
    forget_job(lane, job);
    job->answered(job, message);
}

static void take_started(struct lane *lane, const struct message *message)
{
    struct lane_job *job = find_job(lane, message_text(message, "id"));
    if (job && job->started)
        job->started(job);
}

static void take_message(struct lane *lane, struct message *message, int64_t now)
{
    if (message->type == MESSAGE_STATUS)
        take_status(lane, message, now);
    else if (message->type == MESSAGE_STARTED)
        take_started(lane, message);
    else if (message->type == MESSAGE_METRICS)
        take_metrics(lane, message);
    else if (!puts_take_answer(&lane->puts, message) &&
             (message->type == MESSAGE_RESULT || message->type == MESSAGE_ERROR))
        take_answer(lane, message);
}

/* --- the connection ----------------------------------------------------------------------- */

static void lose(struct lane *lane, const struct fault *why, int64_t now)
{
    struct lane_job *job;
    complain("%s: %s; connecting again", lane->path, why->text);
    lane->is_silent = true;
    forget_daemon(lane);
    reconnect_begin(&lane->reconnect, &lane->session, why, now);
    while ((job = TAILQ_FIRST(&lane->jobs)) != NULL) {
        forget_job(lane, job);
        job->lost(job);
    }
    while (lane->metrics_owed > 0 && lane->on_metrics)
        take_metrics(lane, NULL);
}

static void go_on_connecting(struct lane *lane, int64_t now)
{
    switch (reconnect_go_on(&lane->reconnect, &lane->session, now)) {
    case RECONNECT_GOES_ON:
        if (!lane->is_silent && *lane->reconnect.why.text) {
            complain("no rubricd yet: %s; trying again", lane->reconnect.why.text);
            lane->is_silent = true;
        }
        break;
    case RECONNECT_BACK:
        complain("rubricd %s at %s", lane->session.version, lane->path);
        lane->is_silent = false;
        ask_status(lane);
        break;
    case RECONNECT_GIVEN_UP:
        /* Another program or protocol listens there now; it may be a rubricd later. */
        complain("%s: %s; trying again", lane->path, lane->reconnect.why.text);
        reconnect_give_up(&lane->reconnect, &lane->session);
        reconnect_begin(&lane->reconnect, &lane->session, NULL, now);
        lane->reconnect.next_ms = now + STATUS_MS;
        break;
    }
}

static void take_messages(struct lane *lane, int64_t now)
{
    for (;;) {
        _cleanup_message_ struct message message = MESSAGE_NULL;
        struct fault why = FAULT_NULL;
        int r = session_next(&lane->session, &message, &why);
        if (r == 0)
            return;
        if (r < 0) {
            lose(lane, &why, now);
            return;
        }
        take_message(lane, &message, now);
    }
}

int lane_fd(const struct lane *lane)
{
    return lane->session.fd;
}

short lane_events(const struct lane *lane)
{
    return session_events(&lane->session, false);
}

int64_t lane_due(const struct lane *lane)
{
    return MIN(reconnect_due(&lane->reconnect), lane->ask_ms);
}

void lane_pump(struct lane *lane, short revents, int64_t now)
{
    if (revents && lane->session.fd >= 0)
        (void)session_pump(&lane->session, revents);
    if (!reconnect_is_connected(&lane->reconnect))
        go_on_connecting(lane, now);
    if (reconnect_is_connected(&lane->reconnect))
        take_messages(lane, now);
    if (now >= lane->ask_ms)
        ask_status(lane);
}
