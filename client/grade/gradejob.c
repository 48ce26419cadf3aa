/* SPDX-License-Identifier: MIT */
#include "gradejob.h"

#include "proto/utf8.h"

#include <math.h>
#include <string.h>

/* Maximum bytes of a failure's detail in a line of results. */
#define DETAIL_MAX 200

/* --- to a job ----------------------------------------------------------------------------- */

/* Adds VALUE unless it is NULL. */
static bool put(json_t *object, const char *name, const json_t *value)
{
    /* Only the reference count changes. */
    return !value || json_object_set(object, name, (json_t *)(uintptr_t)value) == 0;
}

static bool put_policy(json_t *job, const struct gradejob_policy *policy)
{
    bool ok = true;
    if (policy->timeout_s > 0)
        ok = json_object_set_new(job, "metadata",
                                 json_pack("{s:f}", "timeout_s", policy->timeout_s)) == 0;
    if (policy->transcript)
        ok = ok && json_object_set_new(job, "transcript", json_true()) == 0;
    if (policy->shared)
        ok = ok && json_object_set_new(job, "verdict", json_string("shared")) == 0;
    return ok;
}

json_t *gradejob_make(const struct task *task, enum sample_form form, json_t *text,
                      const struct gradejob_policy *policy)
{
    /* The daemon finds out whether code continues the prompt or is a whole program. */
    const char *name = form == SAMPLE_GENERATION ? "generation" : "code";
    _cleanup_json_ json_t *job = json_pack("{s:s,s:O}", "kind", "code_exec", name, text);
    if (job && put(job, "prelude", task->prompt) && put(job, "test", task->test) &&
        put(job, "entry_point", task->entry_point) && put(job, "targets", task->targets) &&
        put(job, "test_setup", task->test_setup) && put(job, "names", task->names) &&
        put_policy(job, policy))
        return TAKE_PTR(job);
    return NULL;
}

/* --- to a line of results ----------------------------------------------------------------- */

/* Returns the first detail of a failure mode, or else of a failed assertion; NULL if none has one.
 */
static const char *find_detail(const json_t *result)
{
    const json_t *modes = json_object_get(json_object_get(result, "score"), "failure_modes");
    const json_t *assertions = json_object_get(result, "assertions");
    for (size_t i = 0; i < json_array_size(modes); i++) {
        const json_t *detail = json_object_get(json_array_get(modes, i), "detail");
        if (json_string_length(detail) > 0)
            return json_string_value(detail);
    }
    for (size_t i = 0; i < json_array_size(assertions); i++) {
        const json_t *assertion = json_array_get(assertions, i);
        const json_t *detail = json_object_get(assertion, "detail");
        if (!json_is_true(json_object_get(assertion, "passed")) && json_string_length(detail) > 0)
            return json_string_value(detail);
    }
    return NULL;
}

/* Makes "WHAT: DETAIL" with at most DETAIL_MAX bytes of DETAIL, which may be NULL. */
static json_t *in_words(const char *what, const char *detail)
{
    size_t n = detail ? strlen(detail) : 0;
    return json_sprintf("%s%s%.*s", what, n > 0 ? ": " : "",
                        (int)utf8_cut(detail ? detail : "", n, DETAIL_MAX), detail ? detail : "");
}

static json_t *result_in_words(const struct message *answer, bool passed, const char *verdict)
{
    if (passed)
        return json_string("passed");
    const char *reason = message_text(answer, "reason");
    return in_words(verdict ? verdict : "failed", reason ? reason : find_detail(answer->object));
}

static json_t *error_in_words(const struct message *answer)
{
    char what[128];
    (void)snprintf(what, sizeof(what), "not graded: %s", message_text(answer, "code"));
    return in_words(what, message_text(answer, "message"));
}

int gradejob_put_verdict(json_t *line, const struct message *answer, enum grade *ret)
{
    bool is_result = answer->type == MESSAGE_RESULT;
    struct score_parts parts = {.score = NAN};
    const char *name = is_result ? message_text(answer, "verdict") : NULL;
    if (is_result)
        parts = message_score(answer);
    json_t *words =
        is_result ? result_in_words(answer, parts.passed, name) : error_in_words(answer);
    /* Each call takes over its value, even if it fails. */
    int bad =
        json_object_set_new(line, "passed", is_result ? json_boolean(parts.passed) : json_null());
    bad |= json_object_set_new(line, "result", words);
    bad |= json_object_set_new(line, "verdict", name ? json_string(name) : json_null());
    bad |= json_object_set_new(line, "score",
                               isnan(parts.score) ? json_null() : json_real(parts.score));
    *ret = !is_result ? GRADE_NONE : parts.passed ? GRADE_PASSED : GRADE_FAILED;
    return bad ? -ENOMEM : 0;
}
