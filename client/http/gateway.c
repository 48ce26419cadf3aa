/* SPDX-License-Identifier: MIT */
#include "gateway.h"

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

static struct backend_host make_host(struct gateway *gateway)
{
    return (struct backend_host){
        .base = gateway->base,
        .socket = gateway->settings->socket,
        .patience_ms = gateway->settings->daemon_time,
        .jobs_per_feeder = gateway->settings->jobs_per_connection,
        .greeted = on_greeted,
        .userdata = gateway,
    };
}

int gateway_init(struct gateway *gateway, struct event_base *base,
                 const struct http_settings *settings, struct tokens *take_tokens,
                 struct fault *fault)
{
    *gateway = (struct gateway){.base = base, .settings = settings, .tokens = *take_tokens};
    *take_tokens = (struct tokens)TOKENS_NULL;
    gateway->wants_token = gateway->tokens.count > 0;
    const struct backend_host host = make_host(gateway);
    int r = load_languages(gateway, fault);
    if (r == 0) {
        r = backend_new(&host, &gateway->control);
        if (r < 0)
            (void)fault_set(fault, "out of memory");
    }
    return r;
}

void gateway_deinit(struct gateway *gateway)
{
    for (size_t i = 0; i < gateway->share_count; i++)
        (void)backend_free(gateway->shares[i].backend);
    free(gateway->shares);
    (void)backend_free(gateway->control);
    language_list_deinit(&gateway->languages);
    tokens_deinit(&gateway->tokens);
    json_decref(gateway->limits);
    free(gateway->python);
}

int gateway_share(struct gateway *gateway, const char *name, struct backend **ret)
{
    for (size_t i = 0; i < gateway->share_count; i++) {
        if (strcmp(gateway->shares[i].name, name) == 0) {
            *ret = gateway->shares[i].backend;
            return 0;
        }
    }
    const struct backend_host host = make_host(gateway);
    struct share *shares = reallocarray(gateway->shares, gateway->share_count + 1, sizeof(*shares));
    if (!shares)
        return -ENOMEM;
    gateway->shares = shares;
    int r = backend_new(&host, &shares[gateway->share_count].backend);
    if (r < 0)
        return r;
    shares[gateway->share_count].name = name;
    *ret = shares[gateway->share_count++].backend;
    return 0;
}

bool gateway_host(const struct gateway *gateway, struct steps_host *ret)
{
    if (!gateway->limits)
        return false;
    *ret = (struct steps_host){.limits = gateway->limits, .python = gateway->python};
    return true;
}
