/* SPDX-License-Identifier: MIT */
#include "info.h"
#include "piston.h"
#include "redact.h"

#include <string.h>

struct info {
    struct asker asker;
    struct exchange *exchange;
    void (*answer)(struct exchange *exchange, const struct message *message);
};

static void on_told(struct asker *asker, struct message *message, const char *why)
{
    struct info *info = container_of(asker, struct info, asker);
    if (message)
        info->answer(info->exchange, message);
    else
        exchange_fail(info->exchange, MHD_HTTP_SERVICE_UNAVAILABLE, "daemon_gone", why, true);
}

static void end_info(void *userdata)
{
    struct info *info = userdata;
    questions_remove(&info->asker);
    free(info);
}

static int ask(struct exchange *exchange, enum ask what,
               void (*answer)(struct exchange *exchange, const struct message *message))
{
    struct info *info = calloc(1, sizeof(*info));
    if (!info)
        return -ENOMEM;
    info->asker.told = on_told;
    info->exchange = exchange;
    info->answer = answer;
    exchange->work = info;
    exchange->end_work = end_info;
    backend_ask(exchange->gateway->control, what, &info->asker);
    return 0;
}

/* Without tokens all clients trust each other. */
static void answer_status(struct exchange *exchange, const struct message *message)
{
    const struct gateway *gateway = exchange->gateway;
    if (gateway->wants_token)
        exchange_answer_json(
            exchange, MHD_HTTP_OK,
            redact_status(message->object, gateway_own_ids(gateway, exchange->share)));
    else
        exchange_answer(exchange, MHD_HTTP_OK, "application/json", message->payload.data,
                        message->payload.length);
}

static void answer_metrics(struct exchange *exchange, const struct message *message)
{
    const json_t *text = json_object_get(message->object, "text");
    exchange_answer(exchange, MHD_HTTP_OK,
                    "application/openmetrics-text; version=1.0.0; charset=utf-8",
                    json_string_value(text), json_string_length(text));
}

static void answer_health(struct exchange *exchange, _unused_ const struct message *message)
{
    exchange_answer_json(exchange, MHD_HTTP_OK, json_pack("{s:s}", "status", "ok"));
}

static void answer_runtimes(struct exchange *exchange, const struct message *message)
{
    exchange_answer_json(exchange, MHD_HTTP_OK,
                         piston_runtimes(&exchange->gateway->languages,
                                         json_object_get(message->object, "languages")));
}

int info_status(struct exchange *exchange)
{
    return ask(exchange, ASK_STATUS, answer_status);
}

int info_metrics(struct exchange *exchange)
{
    return ask(exchange, ASK_METRICS, answer_metrics);
}

int info_health(struct exchange *exchange)
{
    return ask(exchange, ASK_PING, answer_health);
}

int info_runtimes(struct exchange *exchange)
{
    return ask(exchange, ASK_STATUS, answer_runtimes);
}
