/* SPDX-License-Identifier: MIT */
#include "gateway.h"

#include "proto/fair.h"

#include <string.h>

static void on_greeted(const struct message *hello, void *userdata)
{
    struct gateway *gateway = userdata;
    json_t *limits = json_object_get(hello->object, "limits");
    const char *python =
        json_string_value(json_object_get(json_object_get(hello->object, "interpreter"), "path"));
    char *copy = strdup(python ? python : "");
    if (!copy)
        return;
    json_decref(gateway->limits);
    free(gateway->python);
    gateway->limits = json_incref(limits);
    gateway->python = copy;
}

static int load_languages(struct gateway *gateway, struct fault *fault)
{
    _cleanup_config_problems_ struct config_problems problems = CONFIG_PROBLEMS_NULL;
    const char *directory = gateway->settings->languages;
    int r = language_list_load(&gateway->languages, directory, &problems);
    if (r == -EINVAL && problems.count > 0)
        (void)fault_set(fault, "%s:%u: %s: %s", problems.item[0].file, problems.item[0].line,
                        problems.item[0].key ? problems.item[0].key : "language",
                        problems.item[0].text);
    else if (r < 0)
        (void)fault_set(fault, "%s: %s", directory, strerror(-r));
    return r;
}

static bool cancel_job(uint64_t number, void *userdata)
{
    struct gateway *gateway = userdata;
    return backend_cancel(gateway->control, number);
}

static struct backend_host make_host(struct gateway *gateway, const char *share)
{
    return (struct backend_host){
        .base = gateway->base,
        .socket = gateway->settings->socket,
        .patience_ms = gateway->settings->daemon_time,
        .jobs_per_feeder = gateway->settings->jobs_per_connection,
        .share = share,
        .greeted = on_greeted,
        .cancel = cancel_job,
        .userdata = gateway,
    };
}

/* Whoever still finds no room waits again, behind those that have not been told yet. */
static void on_room(_unused_ evutil_socket_t fd, _unused_ short events, void *userdata)
{
    struct gateway *gateway = userdata;
    size_t n = waiters_count(&gateway->waiters);
    while (n-- > 0)
        waiters_call_first(&gateway->waiters);
}

int gateway_init(struct gateway *gateway, struct event_base *base,
                 const struct http_settings *settings, struct tokens *take_tokens,
                 struct fault *fault)
{
    *gateway = (struct gateway){.base = base, .settings = settings, .tokens = *take_tokens};
    *take_tokens = (struct tokens)TOKENS_NULL;
    gateway->wants_token = gateway->tokens.count > 0;
    TAILQ_INIT(&gateway->waiters);
    gateway->room = evtimer_new(base, on_room, gateway);
    const struct backend_host host = make_host(gateway, "");
    int no_pace = pace_init(&gateway->pace, base);
    int r = load_languages(gateway, fault);
    if (r == 0 && (!gateway->room || no_pace < 0))
        r = fault_set(fault, "out of memory");
    if (r == 0) {
        r = backend_new(&host, &gateway->control);
        if (r < 0)
            (void)fault_set(fault, "%s", strerror(-r));
    }
    return r;
}

void gateway_deinit(struct gateway *gateway)
{
    for (size_t i = 0; i < gateway->share_count; i++)
        (void)backend_free(gateway->shares[i].backend);
    free(gateway->shares);
    (void)backend_free(gateway->control);
    if (gateway->room)
        event_free(gateway->room);
    pace_deinit(&gateway->pace);
    language_list_deinit(&gateway->languages);
    tokens_deinit(&gateway->tokens);
    json_decref(gateway->limits);
    json_decref(gateway->available);
    free(gateway->python);
}

/* Returns the share NAME; NULL for lack of memory. It is valid until the next one is made. */
static struct share *find_share(struct gateway *gateway, const char *name)
{
    for (size_t i = 0; i < gateway->share_count; i++)
        if (strcmp(gateway->shares[i].name, name) == 0)
            return &gateway->shares[i];
    struct share *shares = reallocarray(gateway->shares, gateway->share_count + 1, sizeof(*shares));
    if (!shares)
        return NULL;
    gateway->shares = shares;
    shares[gateway->share_count] = (struct share){.name = name};
    return &shares[gateway->share_count++];
}

int gateway_share(struct gateway *gateway, const char *name, struct backend **ret)
{
    const struct backend_host host = make_host(gateway, name);
    struct share *share = find_share(gateway, name);
    int r = share ? 0 : -ENOMEM;
    if (r == 0 && !share->backend)
        r = backend_new(&host, &share->backend);
    if (r == 0)
        *ret = share->backend;
    return r;
}

const char *gateway_own_ids(const struct gateway *gateway, const char *name)
{
    for (size_t i = 0; i < gateway->share_count; i++)
        if (strcmp(gateway->shares[i].name, name) == 0 && gateway->shares[i].backend)
            return backend_ids(gateway->shares[i].backend);
    return NULL;
}

/* Whether SHARE may have MORE. */
static bool is_fair(const struct gateway *gateway, const struct share *share, uint64_t more)
{
    uint64_t most = gateway->settings->bodies_bytes;
    uint64_t free = most > gateway->bodies ? most - gateway->bodies : 0;
    return more <= free && (!gateway->wants_token || fair_may_have(share->bodies, more, free));
}

bool gateway_take_room(struct gateway *gateway, const char *name, uint64_t before, uint64_t now)
{
    struct share *share = find_share(gateway, name);
    if (!share || (now > before && !is_fair(gateway, share, now - before)))
        return false;
    share->bodies = share->bodies - before + now;
    gateway->bodies = gateway->bodies - before + now;
    return true;
}

bool gateway_may_hold(struct gateway *gateway, const char *name, bool stream, uint64_t held,
                      uint64_t more)
{
    uint64_t most = gateway->settings->results_bytes;
    if (stream)
        most -= most / GATEWAY_SINGLES_PART;
    uint64_t free = most > gateway->results ? most - gateway->results : 0;
    const struct share *share = find_share(gateway, name);
    if (!share || share->results == 0)
        return share != NULL;
    return more <= free && (!stream || fair_may_have(held, more, free)) &&
           (!gateway->wants_token || fair_may_have(share->results, more, free));
}

void gateway_hold(struct gateway *gateway, const char *name, uint64_t before, uint64_t now)
{
    struct share *share = before == now ? NULL : find_share(gateway, name);
    if (!share)
        return;
    share->results = share->results - before + now;
    gateway->results = gateway->results - before + now;
    if (now < before && !TAILQ_EMPTY(&gateway->waiters))
        event_active(gateway->room, EV_TIMEOUT, 0);
}

void gateway_wait(struct gateway *gateway, struct waiter *waiter)
{
    waiter_wait(waiter, &gateway->waiters);
}

void gateway_keep_available(struct gateway *gateway, json_t *languages)
{
    json_incref(languages);
    json_decref(gateway->available);
    gateway->available = languages;
}

bool gateway_host(const struct gateway *gateway, struct steps_host *ret)
{
    if (!gateway->limits)
        return false;
    *ret = (struct steps_host){.limits = gateway->limits, .python = gateway->python};
    return true;
}
