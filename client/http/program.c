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
#define ANSWER_PER_RESULT 2

struct program {
    struct feeder feeder;
    struct asker asker; /* which languages the host has: Piston's requests ask before their job */
    struct exchange *exchange;
    struct backend *backend;
    bool is_piston;
    bool submitted;
    json_t *request;
    json_t *result;        /* of SandboxFusion's, while we ask whether the host has the language */
    struct piston_job job; /* of either API */
};

/* --- answers ------------------------------------------------------------------------------ */

static void fail(struct program *program, unsigned status, const char *code, const char *message,
                 bool retriable)
{
    exchange_fail(program->exchange, status, code, message, retriable);
}

/* Without its compiler or interpreter a program fails as a wrong one does. Only a result that looks
 * like this costs the question: what the daemon knew before the job may be outdated. */
static void on_languages(struct asker *asker, struct message *message, const char *why)
{
    struct program *program = container_of(asker, struct program, asker);
    struct fault fault = FAULT_NULL;
    if (!message) {
        fail(program, MHD_HTTP_SERVICE_UNAVAILABLE, "daemon_gone", why, true);
        return;
    }
    int r = fusion_check_language(program->request, &program->exchange->gateway->languages,
                                  json_object_get(message->object, "languages"), &fault);
    exchange_answer_json(program->exchange, MHD_HTTP_OK,
                         r < 0 ? fusion_trouble(fault.text)
                               : fusion_answer(program->job.job, program->result));
}

static void on_result(struct program *program, const struct message *message)
{
    if (!program->is_piston && fusion_may_lack_language(message->object)) {
        program->result = json_incref(message->object);
        program->asker.told = on_languages;
        backend_ask(program->exchange->gateway->control, ASK_STATUS, &program->asker);
        return;
    }
    json_t *answer = program->is_piston ? piston_answer(&program->job, message->object)
                                        : fusion_answer(program->job.job, message->object);
    exchange_answer_json(program->exchange, MHD_HTTP_OK, answer);
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

static void on_lost(struct feeder *feeder, _unused_ void *tag, const char *why)
{
    fail(container_of(feeder, struct program, feeder), MHD_HTTP_SERVICE_UNAVAILABLE, "daemon_gone",
         why, true);
}

static void on_unreachable(struct feeder *feeder, const char *why)
{
    struct program *program = container_of(feeder, struct program, feeder);
    if (!program->submitted)
        on_lost(feeder, NULL, why);
}

static uint64_t largest_answer(const struct program *program)
{
    return ANSWER_PER_RESULT *
           resultsize_most(program->job.job, program->exchange->gateway->limits);
}

/* There was no room for the answer. */
static void on_drained(void *userdata)
{
    struct program *program = userdata;
    if (program->job.job && !program->submitted && !program->exchange->ready)
        backend_offer(program->backend, &program->feeder);
}

static int on_next(struct feeder *feeder, struct bytes *ret_job, void **ret_tag)
{
    struct program *program = container_of(feeder, struct program, feeder);
    struct exchange *exchange = program->exchange;
    if (program->submitted || !exchange_reserve(exchange, largest_answer(program)))
        return 0;
    program->submitted = true;
    if (json_print(program->job.job, ret_job) < 0) {
        fail(program, MHD_HTTP_SERVICE_UNAVAILABLE, "internal", "out of memory", true);
        return 0;
    }
    *ret_tag = program;
    return 1;
}

static const struct feeder_ops feeder_ops = {
    .next = on_next, .answer = on_answer, .lost = on_lost, .unreachable = on_unreachable};

/* --- requests ----------------------------------------------------------------------------- */

static void out_of_memory(struct program *program)
{
    fail(program, MHD_HTTP_SERVICE_UNAVAILABLE, "internal", "out of memory", true);
}

static void start_fusion(struct program *program, const struct steps_host *host)
{
    struct fault fault = FAULT_NULL;
    json_t *refusal = NULL;
    int r = fusion_job(program->request, &program->exchange->gateway->languages, host,
                       &program->job.job, &refusal, &fault);
    if (r == 0)
        backend_offer(program->backend, &program->feeder);
    else if (r == -EINVAL)
        exchange_answer_json(program->exchange, MHD_HTTP_UNPROCESSABLE_CONTENT, refusal);
    else if (r == -ENOENT)
        exchange_answer_json(program->exchange, MHD_HTTP_OK, fusion_trouble(fault.text));
    else
        out_of_memory(program);
}

static void on_told(struct asker *asker, struct message *message, const char *why)
{
    struct program *program = container_of(asker, struct program, asker);
    struct steps_host host;
    struct fault fault = FAULT_NULL;
    if (!message || !gateway_host(program->exchange->gateway, &host)) {
        on_lost(&program->feeder, NULL, message ? "the daemon said no hello" : why);
        return;
    }
    if (!program->is_piston) {
        start_fusion(program, &host);
        return;
    }
    int r = piston_job(program->request, &program->exchange->gateway->languages,
                       json_object_get(message->object, "languages"), &host, &program->job, &fault);
    if (r == 0)
        backend_offer(program->backend, &program->feeder);
    else if (r == -EINVAL)
        fail(program, MHD_HTTP_BAD_REQUEST, "bad_request", fault.text, false);
    else
        out_of_memory(program);
}

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

/* Reads the request, and asks for what its job depends on. */
static void begin(struct program *program)
{
    struct exchange *exchange = program->exchange;
    struct json_places places;
    struct fault fault = FAULT_NULL;
    struct steps_host host;
    size_t at = 0;
    int r = json_read_bounded(exchange->body ? exchange->body : "", exchange->body_length,
                              REQUEST_OVERHEAD_MAX, &program->request, &places, &at, &fault);
    if (r == -ENOMEM)
        out_of_memory(program);
    else if (r < 0)
        refuse_body(program, fault.text);
    else if (program->is_piston || !gateway_host(exchange->gateway, &host))
        backend_ask(exchange->gateway->control, program->is_piston ? ASK_STATUS : ASK_PING,
                    &program->asker);
    else
        start_fusion(program, &host);
}

static void drop_tag(_unused_ void *tag)
{
}

static void end_program(void *userdata)
{
    struct program *program = userdata;
    backend_unask(&program->asker);
    backend_withdraw(&program->feeder, drop_tag);
    json_decref(program->request);
    json_decref(program->result);
    json_decref(program->job.job);
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
