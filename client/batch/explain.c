/* SPDX-License-Identifier: MIT */
#include "explain.h"

#include "client/connection/meant.h"
#include "client/terminal/text.h"
#include "proto/util.h"

#include <string.h>

static const char *text_of(const json_t *object, const char *name)
{
    return json_string_value(json_object_get(object, name));
}

bool explain_rubric(const struct message *result, const char **ret_code, char out[EXPLAIN_MAX])
{
    static const char *const codes[] = {"rubric.malformed_output", "rubric.unknown_breakdown_key",
                                        "rubric.unknown_failure_mode"};
    const json_t *mode = json_array_get(message_score(result).failure_modes, 0);
    const json_t *outcome = json_object_get(result->object, "outcome");
    const json_t *err = json_object_get(outcome, "stderr");
    const char *code = text_of(mode, "code"), *detail = text_of(mode, "detail");
    size_t i = 0, n = 0;
    while (code && i < ARRAY_SIZE(codes) && strcmp(codes[i], code) != 0)
        i++;
    if (!code || i == ARRAY_SIZE(codes))
        return false;
    const char *tail = "";
    if (json_is_false(json_object_get(outcome, "success")))
        tail = text_tail(json_string_value(err), json_string_length(err), 1, EXPLAIN_MAX - 1, &n);
    if (n > 0)
        (void)snprintf(out, EXPLAIN_MAX, "%.*s", (int)n, tail);
    else
        (void)snprintf(out, EXPLAIN_MAX, "%s", detail ? detail : "");
    *ret_code = code;
    return *out != '\0';
}

static bool has_crashed(const struct message *result, const char *code)
{
    const json_t *outcome = json_object_get(result->object, "outcome");
    return strcmp(code, "rubric.malformed_output") == 0 &&
           json_is_false(json_object_get(outcome, "success"));
}

void explain_to_summary(const struct message *result, const char *name, struct summary *summary)
{
    char why[EXPLAIN_MAX];
    const char *code;
    if (!explain_rubric(result, &code, why))
        return;
    summary_explain(summary, code, name, why);
    if (has_crashed(result, code))
        summary_add_crash(summary, name, why);
}

/* --- errors ------------------------------------------------------------------------------- */

const char *explain_remedy(const struct message *error)
{
    static const struct {
        const char *part, *remedy;
    } remedies[] = {
        {"job.bench_root: missing", "; name the bench with --bench-root DIR (-b)"},
        {": above the ceiling of ",
         "; [ceilings] of the daemon's configuration says how much a job "
         "may ask for"},
        {"job.sut: expected an object",
         "; for example \"sut\": {\"status\": \"exception\", \"detail\": \"what happened\"}"},
    };
    const char *message = message_text(error, "message");
    for (size_t i = 0; i < ARRAY_SIZE(remedies); i++)
        if (strstr(message, remedies[i].part))
            return remedies[i].remedy;
    return "";
}

void explain_error(const struct message *error, const struct bytes *payload, char out[EXPLAIN_MAX])
{
    const char *message = message_text(error, "message");
    struct fault fault = FAULT_NULL;
    _cleanup_json_ json_t *submit = NULL;
    (void)snprintf(out, EXPLAIN_MAX, "%s%s", message, explain_remedy(error));
    if (strcmp(message_text(error, "code"), "bad_request") != 0 ||
        json_read_object(payload->data, payload->length, &submit, &fault) < 0)
        return;
    const char *meant = meant_field(message, json_object_get(submit, "job"));
    if (meant)
        (void)snprintf(out, EXPLAIN_MAX, "%s; did you mean %s?", message, meant);
}
