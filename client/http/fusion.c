/* SPDX-License-Identifier: MIT */
#include "fusion.h"

#include "proto/base64.h"
#include "proto/utf8.h"

#include <inttypes.h>
#include <string.h>

#define TIMEOUT_DEFAULT_S 10.0
#define MS_PER_SECOND 1000.0
/* A time that no configuration allows, so that the daemon refuses what is longer still. */
#define TIMEOUT_MAX_S 1000000000
#define BYTES_PER_MB (INT64_C(1) << 20)
#define MEMORY_MB_MAX (INT64_C(1) << 30)

/* Makes the body that FastAPI sends for a field that is wrong. Returns -EINVAL or -ENOMEM. */
static int refuse(json_t **ret, const char *type, const char *field, const char *message)
{
    *ret = json_pack("{s:[{s:s,s:[s,s],s:s}]}", "detail", "type", type, "loc", "body", field, "msg",
                     message);
    return *ret ? -EINVAL : -ENOMEM;
}

static int refuse_above(json_t **ret, const char *field, int64_t max)
{
    char message[64];
    (void)snprintf(message, sizeof(message), "Input should be less than or equal to %" PRId64, max);
    return refuse(ret, "less_than_equal", field, message);
}

/* Refuses a NUL in VALUE, which would end a name in the middle. */
static int check_name(const json_t *value, const char *field, json_t **refusal)
{
    if (!steps_has_nul(value))
        return 0;
    return refuse(refusal, "value_error", field, "Value error, a name must not contain a NUL");
}

/* Reads a number of seconds. */
static int read_timeout(const json_t *request, const char *field, uint64_t *ret_ms,
                        json_t **refusal)
{
    const json_t *value = json_object_get(request, field);
    double seconds = value ? json_number_value(value) : TIMEOUT_DEFAULT_S;
    if (value && !json_is_number(value))
        return refuse(refusal, "float_type", field, "Input should be a valid number");
    if (!(seconds > 0))
        return refuse(refusal, "greater_than", field, "Input should be greater than 0");
    if (seconds > TIMEOUT_MAX_S)
        return refuse_above(refusal, field, TIMEOUT_MAX_S);
    *ret_ms = MAX((uint64_t)(seconds * MS_PER_SECOND), 1);
    return 0;
}

static int read_memory(const json_t *request, uint64_t *ret, json_t **refusal)
{
    const json_t *value = json_object_get(request, "memory_limit_MB");
    json_int_t memory = json_integer_value(value);
    if (value && !json_is_integer(value))
        return refuse(refusal, "int_type", "memory_limit_MB", "Input should be a valid integer");
    if (memory > MEMORY_MB_MAX)
        return refuse_above(refusal, "memory_limit_MB", MEMORY_MB_MAX);
    *ret = memory > 0 ? (uint64_t)(memory * BYTES_PER_MB) : 0;
    return 0;
}

static int read_string(const json_t *request, const char *field, const char **ret, json_t **refusal)
{
    const json_t *value = json_object_get(request, field);
    if (!value)
        return refuse(refusal, "missing", field, "Field required");
    if (!json_is_string(value))
        return refuse(refusal, "string_type", field, "Input should be a valid string");
    *ret = json_string_value(value);
    return 0;
}

/* PHP passes on what stands outside of its tags. SandboxFusion adds the tag that models leave out.
 */
static json_t *make_code(const struct language *language, const json_t *code)
{
    static const char tag[] = "<?php\n";
    const char *text = json_string_value(code);
    size_t n = json_string_length(code);
    if (strcmp(language->name, "php") != 0 || memmem(text, n, "<?", 2))
        return json_stringn_nocheck(text, n);
    _cleanup_free_ char *tagged = malloc(sizeof(tag) - 1 + n);
    if (!tagged)
        return NULL;
    memcpy(tagged, tag, sizeof(tag) - 1);
    memcpy(tagged + sizeof(tag) - 1, text, n);
    return json_stringn_nocheck(tagged, sizeof(tag) - 1 + n);
}

/* Adds the request's files; null stands for a file that is not to be written. */
static int add_files(const json_t *request, json_t *files, json_t **refusal)
{
    const char *name;
    json_t *content, *given = json_object_get(request, "files");
    if (given && !json_is_object(given))
        return refuse(refusal, "dict_type", "files", "Input should be a valid dictionary");
    json_object_foreach(given, name, content)
    {
        if (json_is_null(content))
            continue;
        if (!json_is_string(content))
            return refuse(refusal, "string_type", "files", "Input should be a valid string");
        if (json_object_set_new(files, name, json_pack("{s:O}", "base64", content)) < 0)
            return -ENOMEM;
    }
    return 0;
}

/* Adds the code as the file SOURCE, which must be no other file. */
static int add_code(const json_t *request, const struct steps_plan *plan, const char *source,
                    json_t **refusal)
{
    char message[128];
    (void)snprintf(message, sizeof(message),
                   "Value error, %.64s is the name of the code's own file", source);
    if (json_object_get(plan->files, source))
        return refuse(refusal, "value_error", "files", message);
    json_t *code = make_code(plan->language, json_object_get(request, "code"));
    return json_object_set_new(plan->files, source, code) < 0 ? -ENOMEM : 0;
}

/* Appends NAME to COLLECT as a pattern that matches nothing else. */
static int add_pattern(const char *name, json_t *collect)
{
    _cleanup_free_ char *pattern = malloc(2 * strlen(name) + 1);
    char *to = pattern;
    if (!pattern)
        return -ENOMEM;
    for (; *name; name++) {
        if (strchr("*?[\\", *name))
            *to++ = '\\';
        *to++ = *name;
    }
    *to = '\0';
    return json_array_append_new(collect, json_string(pattern)) < 0 ? -ENOMEM : 0;
}

static int add_fetched(const json_t *request, json_t *collect, json_t **refusal)
{
    const json_t *given = json_object_get(request, "fetch_files");
    if (given && !json_is_array(given))
        return refuse(refusal, "list_type", "fetch_files", "Input should be a valid list");
    for (size_t i = 0; i < json_array_size(given); i++) {
        const json_t *name = json_array_get(given, i);
        if (!json_is_string(name))
            return refuse(refusal, "string_type", "fetch_files", "Input should be a valid string");
        const char *text = json_string_value(name);
        int r = check_name(name, "fetch_files", refusal);
        if (r == 0)
            r = add_pattern(strncmp(text, "./", 2) == 0 ? text + 2 : text, collect);
        if (r < 0)
            return r;
    }
    return 0;
}

static int read_plan(const json_t *request, const struct language_list *languages,
                     struct steps_plan *plan, json_t **refusal, struct fault *fault)
{
    const char *name = NULL, *code = NULL;
    json_t *input = json_object_get(request, "stdin");
    int r = read_string(request, "code", &code, refusal);
    if (r == 0)
        r = read_string(request, "language", &name, refusal);
    if (r == 0)
        r = check_name(json_object_get(request, "language"), "language", refusal);
    if (r == 0)
        r = read_timeout(request, "compile_timeout", &plan->compile_ms, refusal);
    if (r == 0)
        r = read_timeout(request, "run_timeout", &plan->run_ms, refusal);
    if (r == 0)
        r = read_memory(request, &plan->run_memory, refusal);
    if (r == 0 && input && !json_is_null(input) && !json_is_string(input))
        r = refuse(refusal, "string_type", "stdin", "Input should be a valid string");
    if (r == 0)
        r = add_files(request, plan->files, refusal);
    if (r == 0)
        r = add_fetched(request, plan->collect, refusal);
    if (r < 0)
        return r;
    plan->input = json_is_string(input) ? input : NULL;
    plan->language = language_find(languages, name);
    if (plan->language)
        return 0;
    const char *meant = language_suggest(languages, name);
    (void)fault_set(fault, "there is no language '%.*s' here%s%s%s",
                    (int)utf8_cut(name, strlen(name), STEPS_NAME_SHOWN), name,
                    meant ? "; did you mean " : "", meant ? meant : "", meant ? "?" : "");
    return -ENOENT;
}

int fusion_job(const json_t *request, const struct language_list *languages,
               const struct steps_host *host, struct fusion_job *ret, json_t **ret_refusal,
               struct fault *fault)
{
    _cleanup_free_ char *source = NULL;
    struct steps_plan plan = {.files = json_object(), .collect = json_array()};
    struct fusion_job job = {.job = NULL};
    int r = plan.files && plan.collect ? 0 : -ENOMEM;
    if (r == 0)
        r = read_plan(request, languages, &plan, ret_refusal, fault);
    if (r == 0)
        r = steps_source_name(plan.language, &source);
    if (r == 0)
        r = add_code(request, &plan, source, ret_refusal);
    plan.source = source;
    if (r == 0)
        r = steps_job(&plan, host, &job.job);
    json_decref(plan.files);
    json_decref(plan.collect);
    job.language = plan.language;
    if (r == 0)
        *ret = job;
    return r;
}

/* --- the answer --------------------------------------------------------------------------- */

static bool is_timeout(const struct step_end *end)
{
    return end->limit && (strcmp(end->limit, "wall_clock") == 0 || strcmp(end->limit, "cpu") == 0);
}

/* How Python's subprocess gives a status: a signal is negative. */
static json_t *return_code(const struct step_end *end)
{
    if (is_timeout(end))
        return json_null();
    return json_is_integer(end->exit_code) ? json_incref(end->exit_code)
                                           : json_integer(-json_integer_value(end->signal));
}

static json_t *command_result(const struct step_end *end)
{
    return json_pack("{s:s,s:f,s:o,s:O,s:O}", "status",
                     is_timeout(end) ? "TimeLimitExceeded" : "Finished", "execution_time",
                     (double)end->wall_clock_ms / MS_PER_SECOND, "return_code", return_code(end),
                     "stdout", end->stdout_text, "stderr", end->stderr_text);
}

static bool is_success(const struct step_end *end)
{
    return !end->limit && json_is_integer(end->exit_code) &&
           json_integer_value(end->exit_code) == 0;
}

/* The content of a file in base64. NULL for lack of memory. */
static json_t *file_base64(const json_t *file)
{
    json_t *content = json_object_get(file, "content");
    _cleanup_bytes_ struct bytes encoded = BYTES_NULL;
    if (!content)
        return json_incref(json_object_get(file, "content_base64"));
    if (base64_encode(json_string_value(content), json_string_length(content), &encoded) < 0)
        return NULL;
    return json_stringn(encoded.data, encoded.length);
}

static json_t *fetched_files(const json_t *result)
{
    const json_t *given = json_object_get(result, "files");
    json_t *files = json_object();
    for (size_t i = 0; files && i < json_array_size(given); i++) {
        const json_t *file = json_array_get(given, i);
        const char *name = json_string_value(json_object_get(file, "name"));
        if (name && json_object_set_new(files, name, file_base64(file)) < 0) {
            json_decref(files);
            return NULL;
        }
    }
    return files;
}

static json_t *make_answer(const char *status, const char *message, json_t *compile, json_t *run,
                           json_t *files)
{
    return json_pack("{s:s,s:s,s:o,s:o,s:n,s:o}", "status", status, "message", message,
                     "compile_result", compile, "run_result", run, "executor_pod_name", "files",
                     files);
}

bool fusion_may_lack_language(const json_t *result)
{
    struct step_end end;
    size_t n = json_array_size(json_object_get(result, "steps"));
    return n > 0 && steps_end(result, n - 1, &end) && json_is_integer(end.exit_code) &&
           json_integer_value(end.exit_code) == STEPS_NO_PROGRAM;
}

int fusion_check_language(const struct language *language, const json_t *status,
                          struct fault *fault)
{
    const char *why_not = steps_why_not(steps_status_of(language, status));
    if (!why_not)
        return 0;
    (void)fault_set(fault, "language_not_found: %s: %s", language->name, why_not);
    return -ENOENT;
}

/* Writes to MESSAGE which limit ended the step. Limits of time have a status of their own. */
static void name_limit(const struct step_end *end, char message[static 48])
{
    if (end->limit && !is_timeout(end))
        (void)snprintf(message, 48, "limit exceeded: %s", end->limit);
}

json_t *fusion_answer(const struct language *language, const json_t *result)
{
    struct step_end end;
    char message[48] = "";
    size_t n = steps_count(language);
    json_t *compile = json_null(), *run = json_null();
    bool success = true;
    for (size_t i = 0; i < n && steps_end(result, i, &end); i++) {
        success = success && is_success(&end);
        name_limit(&end, message);
        if (i + 1 < n)
            compile = command_result(&end);
        else
            run = command_result(&end);
    }
    return make_answer(success ? "Success" : "Failed", message, compile, run,
                       fetched_files(result));
}

json_t *fusion_trouble(const char *message)
{
    return make_answer("SandboxError", message, json_null(), json_null(), json_object());
}
