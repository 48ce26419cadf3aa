/* SPDX-License-Identifier: MIT */
#include "gradejob.h"
#include "langname.h"

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
    if (policy->memory > 0)
        ok = json_object_set_new(job, "limits",
                                 json_pack("{s:I}", "memory_bytes", (json_int_t)policy->memory)) ==
             0;
    if (policy->timeout_s > 0)
        ok = ok && json_object_set_new(job, "metadata",
                                       json_pack("{s:f}", "timeout_s", policy->timeout_s)) == 0;
    if (policy->transcript)
        ok = ok && json_object_set_new(job, "transcript", json_true()) == 0;
    if (policy->shared)
        ok = ok && json_object_set_new(job, "verdict", json_string("shared")) == 0;
    return ok;
}

/* Makes the program of CODE if its format puts it together. RET_NAME is the member for it. */
static int join(const struct task *task, const struct gradejob_code *code, const char *language,
                json_t **ret, const char **ret_name)
{
    if (task->format->join && (task_is_program(task) || task->is_joined)) {
        *ret_name = "code";
        return task->format->join(task, language, code->form, code->text, ret);
    }
    *ret_name = code->form == SAMPLE_GENERATION ? "generation" : "code";
    *ret = json_incref(code->text);
    return 0;
}

/* The daemon finds out whether code continues the prompt or is a whole program. */
static bool put_code_exec(json_t *job, const struct task *task,
                          const struct gradejob_policy *policy)
{
    return put(job, "prelude", task->prompt) && put(job, "test", task->test) &&
           put(job, "entry_point", task->entry_point) && put(job, "targets", task->targets) &&
           put(job, "test_setup", task->test_setup) && put(job, "names", task->names) &&
           put(job, "warm_modules", policy->warm_modules) && put_policy(job, policy);
}

static bool put_program(json_t *job, const struct task *task, const char *language,
                        const struct gradejob_policy *policy)
{
    _cleanup_json_ json_t *limits = json_object();
    double timeout_s = policy->timeout_s > 0 ? policy->timeout_s : task->timeout_s;
    json_int_t memory = policy->memory > 0 ? policy->memory : (json_int_t)task->memory;
    bool ok = limits && json_object_set_new(job, "language", json_string(language)) == 0 &&
              put(job, "tests", task->tests) && put(job, "call", task->call);
    if (ok && timeout_s > 0)
        ok = json_object_set_new(limits, "wall_clock", json_real(timeout_s)) == 0;
    if (ok && memory > 0)
        ok = json_object_set_new(limits, "memory_bytes", json_integer(memory)) == 0;
    if (ok && policy->output > 0)
        ok = json_object_set_new(limits, "output_bytes", json_integer(policy->output)) == 0;
    if (ok && json_object_size(limits) > 0)
        ok = put(job, "limits", limits);
    if (ok && task->compare)
        ok = json_object_set_new(job, "compare", json_string(task->compare)) == 0;
    if (ok && task->stop_all)
        ok = json_object_set_new(job, "stop", json_string("all")) == 0;
    return ok;
}

json_t *gradejob_make(const struct task *task, const struct gradejob_code *code,
                      const struct gradejob_policy *policy)
{
    const char *language = gradejob_language(task, code, policy, NULL), *name = NULL;
    const char *kind = task_is_program(task) ? "program" : "code_exec";
    _cleanup_json_ json_t *text = NULL;
    struct gradejob_policy own = *policy;
    if (own.timeout_s <= 0)
        own.timeout_s = task->timeout_s;
    if (!language || join(task, code, language, &text, &name) < 0)
        return NULL;
    _cleanup_json_ json_t *job = json_pack("{s:s,s:O}", "kind", kind, name, text);
    bool ok = job && (task_is_program(task) ? put_program(job, task, language, &own)
                                            : put_code_exec(job, task, &own));
    return ok ? TAKE_PTR(job) : NULL;
}

struct gradejob_code gradejob_solution(const struct task *task)
{
    return (struct gradejob_code){
        .form = task->solution_form,
        .text = (json_t *)(uintptr_t)task->solution,
        .language = task->language ? NULL : task->solution_language,
    };
}

const char *gradejob_language(const struct task *task, const struct gradejob_code *code,
                              const struct gradejob_policy *policy, struct fault *fault)
{
    const char *own = task_is_program(task) ? task->language : "python";
    const char *said = code->language ? langname_of(code->language) : NULL;
    if (!own)
        return said ? said : policy->language ? langname_of(policy->language) : "python";
    if (said && strcmp(said, own) != 0) {
        (void)fault_set(fault, "language: the sample is in %.40s, but its task in %s",
                        code->language, langname_title(own));
        return NULL;
    }
    return own;
}

bool gradejob_is_forgeable(const struct task *task, const struct gradejob_policy *policy)
{
    return task_is_program(task) ? task->is_forgeable : policy->shared;
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
