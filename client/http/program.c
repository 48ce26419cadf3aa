/* SPDX-License-Identifier: MIT */
#include "program.h"
#include "fusion.h"
#include "piston.h"
#include "resultsize.h"

#include "proto/json.h"
#include "proto/printer.h"
#include "proto/request.h"

#include <string.h>

/* Piston's answer has the output twice. */
#define PISTON_PER_RESULT 2

struct program {
    struct feeder feeder;
    struct asker asker; /* which languages the host has: Piston's requests ask before their job */
    struct pace_waiter turn; /* to read the body */
    struct exchange *exchange;
    struct backend *backend;
    bool is_piston;
    bool made;             /* the job is there: its text is in the place of the body */
    bool submitted;        /* ... and was */
    uint64_t most;         /* the most bytes that the answer takes */
    struct bytes answer;   /* SandboxFusion's, while we ask whether the host has the language */
    struct piston_job job; /* of either API, without the job itself */
};

/* --- answers ------------------------------------------------------------------------------ */

static void fail(struct program *program, unsigned status, const char *code, const char *message,
                 bool retriable)
{
    exchange_fail(program->exchange, status, code, message, retriable);
}

static void out_of_memory(struct program *program)
{
    fail(program, MHD_HTTP_SERVICE_UNAVAILABLE, "internal", "out of memory", true);
}

static void no_daemon(struct program *program, const char *why)
{
    fail(program, MHD_HTTP_SERVICE_UNAVAILABLE, "daemon_gone", why, true);
}

/* Without its compiler or interpreter a program fails as a wrong one does. Only a result that looks
 * like this costs the question: what the daemon knew before the job may be outdated. */
static void on_languages(struct asker *asker, struct message *message, const char *why)
{
    struct program *program = container_of(asker, struct program, asker);
    struct fault fault = FAULT_NULL;
    if (!message) {
        no_daemon(program, why);
        return;
    }
    if (fusion_check_language(program->job.language, json_object_get(message->object, "languages"),
                              &fault) < 0)
        exchange_answer_json(program->exchange, MHD_HTTP_OK, fusion_trouble(fault.text));
    else
        exchange_answer_text(program->exchange, MHD_HTTP_OK, "application/json", &program->answer);
}

static void on_result(struct program *program, const struct message *message)
{
    json_t *answer = program->is_piston ? piston_answer(&program->job, message->object)
                                        : fusion_answer(program->job.language, message->object);
    if (!answer || program->is_piston || !fusion_may_lack_language(message->object)) {
        exchange_answer_json(program->exchange, MHD_HTTP_OK, answer);
        return;
    }
    int r = json_print(answer, &program->answer);
    json_decref(answer);
    program->asker.told = on_languages;
    if (r < 0)
        out_of_memory(program);
    else
        backend_ask(program->exchange->gateway->control, ASK_STATUS, &program->asker);
}

/* An error of the job. SandboxFusion tells it in a good answer, unless the daemon is about to go:
 * the same request then succeeds a little later. */
static void on_answer(struct feeder *feeder, _unused_ void *tag, struct message *message)
{
    struct program *program = container_of(feeder, struct program, feeder);
    const char *code = message_text(message, "code"), *text = message_text(message, "message");
    if (message->type == MESSAGE_RESULT) {
        on_result(program, message);
        return;
    }
    bool retriable = json_is_true(json_object_get(message->object, "retriable"));
    if (!program->is_piston && strcmp(code, "draining") != 0) {
        exchange_answer_json(program->exchange, MHD_HTTP_OK, fusion_trouble(text));
        return;
    }
    unsigned status = reply_status(code, retriable);
    bool wrong = !retriable && status < MHD_HTTP_INTERNAL_SERVER_ERROR;
    fail(program, program->is_piston && wrong ? MHD_HTTP_BAD_REQUEST : status, code, text,
         retriable);
}

static void on_lost(struct feeder *feeder, _unused_ void *tag, const char *code, const char *why,
                    bool retriable)
{
    fail(container_of(feeder, struct program, feeder), reply_status(code, retriable), code, why,
         retriable);
}

static void on_unreachable(struct feeder *feeder, const char *why)
{
    struct program *program = container_of(feeder, struct program, feeder);
    if (!program->submitted)
        no_daemon(program, why);
}

/* There was no room for the answer. */
static void on_drained(void *userdata)
{
    struct program *program = userdata;
    if (program->made && !program->submitted && !program->exchange->ready)
        backend_offer(program->backend, &program->feeder);
}

static int on_next(struct feeder *feeder, struct bytes *ret_job, void **ret_tag)
{
    struct program *program = container_of(feeder, struct program, feeder);
    struct exchange *exchange = program->exchange;
    if (program->submitted || !exchange_reserve(exchange, program->most))
        return 0;
    program->submitted = true;
    *ret_job = exchange_take_text(exchange);
    *ret_tag = program;
    return 1;
}

static const struct feeder_ops feeder_ops = {
    .next = on_next, .answer = on_answer, .lost = on_lost, .unreachable = on_unreachable};

/* --- requests ----------------------------------------------------------------------------- */

/* Answers a body that is no JSON object, as FastAPI and Piston do. */
static void refuse_body(struct program *program, const char *why)
{
    if (program->is_piston)
        fail(program, MHD_HTTP_BAD_REQUEST, "bad_request", why, false);
    else
        exchange_answer_json(program->exchange, MHD_HTTP_UNPROCESSABLE_CONTENT,
                             json_pack("{s:[{s:s,s:[s],s:s}]}", "detail", "type", "json_invalid",
                                       "loc", "body", "msg", why));
}

/* Reads the request. Its JSON takes many times as much memory as its text, and the bytes of the
 * text are those that count: so nothing of it outlives the call that reads it. False: it is
 * answered. */
static bool read_request(struct program *program, json_t **ret)
{
    const struct exchange *exchange = program->exchange;
    struct json_places places;
    struct fault fault = FAULT_NULL;
    size_t at = 0;
    int r = json_read_bounded(exchange->body ? exchange->body : "", exchange->body_length,
                              REQUEST_OVERHEAD_MAX, ret, &places, &at, &fault);
    if (r == -ENOMEM)
        out_of_memory(program);
    else if (r < 0)
        refuse_body(program, fault.text);
    return r == 0;
}

/* Keeps the text of JOB, and submits it when its turn has come. */
static void offer(struct program *program, const json_t *job)
{
    struct exchange *exchange = program->exchange;
    struct bytes text = BYTES_NULL;
    struct fault fault = FAULT_NULL;
    if (json_print(job, &text) < 0) {
        out_of_memory(program);
        return;
    }
    /* Looked at before there must be room for it, or a client would come back for nothing; and with
     * the control connection, since that of the share may not be there yet. */
    if (backend_check_size(exchange->gateway->control, text.length, &fault) < 0) {
        bytes_deinit(&text);
        on_lost(&program->feeder, NULL, "frame_too_large", fault.text, false);
        return;
    }
    if (!exchange_replace_body(exchange, &text)) {
        fail(program, MHD_HTTP_SERVICE_UNAVAILABLE, "busy", "there is no room for the job now",
             true);
        return;
    }
    program->most = (program->is_piston ? PISTON_PER_RESULT : 1) *
                    resultsize_most(job, exchange->gateway->limits);
    program->made = true;
}

static void make_fusion(struct program *program, const json_t *request,
                        const struct steps_host *host)
{
    struct fault fault = FAULT_NULL;
    json_t *refusal = NULL;
    struct fusion_job job = {.job = NULL};
    int r =
        fusion_job(request, &program->exchange->gateway->languages, host, &job, &refusal, &fault);
    program->job.language = job.language;
    if (r == 0)
        offer(program, job.job);
    else if (r == -EINVAL)
        exchange_answer_json(program->exchange, MHD_HTTP_UNPROCESSABLE_CONTENT, refusal);
    else if (r == -ENOENT)
        exchange_answer_json(program->exchange, MHD_HTTP_OK, fusion_trouble(fault.text));
    else
        out_of_memory(program);
    json_decref(job.job);
}

static void make_piston(struct program *program, const json_t *request, const json_t *status,
                        const struct steps_host *host)
{
    struct fault fault = FAULT_NULL;
    int r = piston_job(request, &program->exchange->gateway->languages, status, host, &program->job,
                       &fault);
    if (r == 0)
        offer(program, program->job.job);
    else if (r == -EINVAL)
        fail(program, MHD_HTTP_BAD_REQUEST, "bad_request", fault.text, false);
    else
        out_of_memory(program);
    json_decref(program->job.job);
    program->job.job = NULL;
}

/* Makes the job of the request, and offers it, once the body may be read. */
static void make_job(struct program *program)
{
    struct exchange *exchange = program->exchange;
    struct steps_host host;
    json_t *request = NULL;
    if (!pace_take(&exchange->gateway->pace, &program->turn, exchange->body_length))
        return;
    if (!gateway_host(exchange->gateway, &host)) {
        no_daemon(program, "the daemon said no hello");
        return;
    }
    if (!read_request(program, &request))
        return;
    if (program->is_piston)
        make_piston(program, request, exchange->gateway->available, &host);
    else
        make_fusion(program, request, &host);
    json_decref(request);
    if (program->made)
        backend_offer(program->backend, &program->feeder);
}

static void go_on(struct waiter *waiter)
{
    struct program *program = container_of(waiter, struct program, turn.waiter);
    if (!program->exchange->conn->dead)
        make_job(program);
}

/* Many share an answer, and each has a body: so they are not read here. */
static void on_told(struct asker *asker, struct message *message, const char *why)
{
    struct program *program = container_of(asker, struct program, asker);
    if (!message) {
        no_daemon(program, why);
        return;
    }
    if (program->is_piston)
        gateway_keep_available(program->exchange->gateway,
                               json_object_get(message->object, "languages"));
    make_job(program);
}

/* Asks for what the job depends on, or makes it. */
static void begin(struct program *program)
{
    struct gateway *gateway = program->exchange->gateway;
    struct steps_host host;
    if (program->is_piston || !gateway_host(gateway, &host))
        backend_ask(gateway->control, program->is_piston ? ASK_STATUS : ASK_PING, &program->asker);
    else
        make_job(program);
}

static void drop_tag(_unused_ void *tag)
{
}

static void end_program(void *userdata)
{
    struct program *program = userdata;
    questions_remove(&program->asker);
    waiter_wait_no_more(&program->turn.waiter);
    backend_withdraw(&program->feeder, drop_tag);
    bytes_deinit(&program->answer);
    free(program);
}

static int start(struct exchange *exchange, bool is_piston)
{
    struct program *program = calloc(1, sizeof(*program));
    if (!program)
        return -ENOMEM;
    program->exchange = exchange;
    program->is_piston = is_piston;
    program->feeder.ops = &feeder_ops;
    program->asker.told = on_told;
    program->turn.waiter.again = go_on;
    program->turn.share = exchange->share;
    exchange->work = program;
    exchange->end_work = end_program;
    exchange->drained = on_drained;
    int r = gateway_share(exchange->gateway, exchange->share, &program->backend);
    if (r == 0)
        begin(program);
    return r;
}

int program_start_fusion(struct exchange *exchange)
{
    return start(exchange, false);
}

int program_start_piston(struct exchange *exchange)
{
    return start(exchange, true);
}
