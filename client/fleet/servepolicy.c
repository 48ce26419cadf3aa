/* SPDX-License-Identifier: MIT */
#include "servepolicy.h"

#include <string.h>

static void take_limits(const json_t *of_kind, struct limits *ret)
{
    for (enum limit limit = 0; limit < LIMIT_COUNT; limit++) {
        const json_t *value = json_object_get(of_kind, limit_key(limit));
        double scale = limit_is_time(limit) ? (double)LIMIT_SECOND : 1.0;
        if (json_is_number(value))
            ret->of[limit] = (uint64_t)(json_number_value(value) * scale + 0.5);
    }
}

void servepolicy_make(const json_t *hello, struct request_policy *ret)
{
    const json_t *limits = json_object_get(hello, "limits");
    const json_t *defaults = json_object_get(limits, "defaults");
    const json_t *ceilings = json_object_get(limits, "ceilings");
    *ret = (struct request_policy){
        .allow_network =
            json_is_true(json_object_get(json_object_get(ceilings, "sandbox"), "allow_network")),
    };
    for (enum job_kind_id kind = 0; kind < JOB_KIND_COUNT; kind++) {
        ret->defaults[kind] = job_kind_get(kind)->defaults;
        ret->ceilings[kind] = limits_ceiling_default;
        take_limits(json_object_get(defaults, job_kind_name(kind)), &ret->defaults[kind]);
        take_limits(json_object_get(ceilings, job_kind_name(kind)), &ret->ceilings[kind]);
    }
}

/* Messages of which a daemon keeps something between two of them, for one connection. */
static const struct {
    const char *type, *why;
} refused[] = {
    {"session_open", "type: a fleet has no sessions: each job may run on another host"},
    {"session_close", "type: a fleet has no sessions"},
    {"input", "type: a fleet has no terminals: what is typed would have to go through its queue"},
    {"resize", "type: a fleet has no terminals"},
    {"reload", "type: a fleet has no configuration of its own: reload the daemon of each host"},
};

const char *servepolicy_refusal(const json_t *message)
{
    const char *type = json_string_value(json_object_get(message, "type"));
    const json_t *job = json_object_get(message, "job");
    const char *kind = json_string_value(json_object_get(job, "kind"));
    for (size_t i = 0; type && i < ARRAY_SIZE(refused); i++)
        if (strcmp(type, refused[i].type) == 0)
            return refused[i].why;
    if (json_object_get(message, "share"))
        return "share: a fleet has no gateways";
    if (!type || strcmp(type, "submit") != 0 || !kind)
        return NULL;
    if (strcmp(kind, job_kind_name(JOB_SESSION)) == 0)
        return "job.kind: a fleet has no sessions: each job may run on another host";
    if (strcmp(kind, job_kind_name(JOB_SANDBOX)) != 0)
        return NULL;
    if (json_is_object(json_object_get(job, "terminal")))
        return "job.terminal: a fleet has no terminals";
    if (json_is_true(json_object_get(job, "stream")))
        return "job.stream: a fleet passes no output on as it comes; the result has all of it";
    return NULL;
}
