/* SPDX-License-Identifier: MIT */
#include "piston.h"
#include "semver.h"

#include "proto/base64.h"
#include "proto/jobspec.h"
#include "proto/utf8.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

#define RUN_TIMEOUT_MS 3000
#define COMPILE_TIMEOUT_MS 10000
#define MS_PER_SECOND 1000.0
/* With its NUL. */
#define NAME_TEXT_MAX (SANDBOX_NAME_MAX + 1)

/* --- runtimes ----------------------------------------------------------------------------- */

static bool is_available(const json_t *entry)
{
    return json_is_true(json_object_get(entry, "available"));
}

/* The version of a language; 0.0.0 as long as the daemon has not asked for it. */
static struct semver version_of(const json_t *entry)
{
    struct semver version = {.part = {0}};
    const char *text = json_string_value(json_object_get(entry, "version"));
    if (text)
        (void)semver_find(text, &version);
    return version;
}

json_t *piston_runtimes(const struct language_list *languages, const json_t *status)
{
    json_t *list = json_array();
    for (size_t i = 0; list && i < languages->count; i++) {
        const struct language *language = &languages->item[i];
        const json_t *entry = steps_status_of(language, status);
        char text[SEMVER_TEXT_MAX];
        if (!is_available(entry))
            continue;
        struct semver version = version_of(entry);
        semver_print(&version, text);
        json_t *aliases = json_array();
        for (size_t a = 0; aliases && a < language->aliases.count; a++)
            (void)json_array_append_new(aliases, json_string(language->aliases.item[a]));
        if (json_array_append_new(list, json_pack("{s:s,s:s,s:o}", "language", language->name,
                                                  "version", text, "aliases", aliases)) < 0) {
            json_decref(list);
            return NULL;
        }
    }
    return list;
}

/* --- the request -------------------------------------------------------------------------- */

static int find_runtime(const json_t *request, const struct language_list *languages,
                        const json_t *status, struct piston_job *job, struct fault *fault)
{
    const char *name = json_string_value(json_object_get(request, "language"));
    const char *selector = json_string_value(json_object_get(request, "version"));
    if (!name || !name[0])
        return fault_set(fault, "language is required as a string");
    if (!selector || !selector[0])
        return fault_set(fault, "version is required as a string");
    if (steps_has_nul(json_object_get(request, "language")))
        return fault_set(fault, "language must not contain a NUL");
    if (steps_has_nul(json_object_get(request, "version")))
        return fault_set(fault, "version must not contain a NUL");
    const struct language *language = language_find(languages, name);
    const json_t *entry = language ? steps_status_of(language, status) : NULL;
    const char *why_not = steps_why_not(entry);
    struct semver version = version_of(entry);
    if (language && why_not)
        return fault_set(fault, "%.*s-%.*s runtime is not available: %s is known, but %s",
                         (int)utf8_cut(name, strlen(name), STEPS_NAME_SHOWN), name,
                         (int)utf8_cut(selector, strlen(selector), STEPS_NAME_SHOWN), selector,
                         language->name, why_not);
    if (!is_available(entry) || !semver_selects(selector, &version))
        return fault_set(fault, "%.*s-%.*s runtime is unknown",
                         (int)utf8_cut(name, strlen(name), STEPS_NAME_SHOWN), name,
                         (int)utf8_cut(selector, strlen(selector), STEPS_NAME_SHOWN), selector);
    job->language = language;
    semver_print(&version, job->version);
    return 0;
}

static int hex_decode(const char *text, size_t n, struct bytes *ret)
{
    static const char digits[] = "0123456789abcdef";
    if (n % 2 != 0)
        return -EINVAL;
    char *data = malloc(n / 2 + 1);
    if (!data)
        return -ENOMEM;
    for (size_t i = 0; i < n; i++) {
        const char *digit = text[i] ? strchr(digits, tolower((unsigned char)text[i])) : NULL;
        if (!digit) {
            free(data);
            return -EINVAL;
        }
        int value = (int)(digit - digits);
        data[i / 2] = (char)(i % 2 ? data[i / 2] | value : value << 4);
    }
    data[n / 2] = '\0';
    *ret = (struct bytes){.data = data, .length = n / 2};
    return 0;
}

/* Makes {"base64": ...} of CONTENT in the encoding `base64` or `hex`. */
static int make_binary(const json_t *content, bool hex, size_t i, json_t **ret, struct fault *fault)
{
    _cleanup_bytes_ struct bytes data = BYTES_NULL, text = BYTES_NULL;
    int r = (hex ? hex_decode : base64_decode)(json_string_value(content),
                                               json_string_length(content), &data);
    if (r == -EINVAL)
        return fault_set(fault, "files[%zu].content is not %s", i, hex ? "hex" : "base64");
    if (r == 0)
        r = base64_encode(data.data, data.length, &text);
    if (r < 0)
        return r;
    *ret = json_pack("{s:s#}", "base64", text.data, (int)text.length);
    return *ret ? 0 : -ENOMEM;
}

/* Whether the file of ENTRY is code: one whose content is text. */
static bool is_code(const json_t *entry)
{
    const char *encoding = json_string_value(json_object_get(entry, "encoding"));
    return !encoding || (strcmp(encoding, "base64") != 0 && strcmp(encoding, "hex") != 0);
}

/* Finds the name of file I. One with code gets the extension without which its compiler would not
 * know it, and the first without any name that of the language. */
static int file_name(const struct language *language, const json_t *entry, size_t i, bool first,
                     char ret[NAME_TEXT_MAX], struct fault *fault)
{
    _cleanup_free_ char *usual = NULL;
    const char *name = json_string_value(json_object_get(entry, "name"));
    int r = steps_source_name(language, &usual);
    if (r < 0)
        return r;
    const char *dot = strrchr(usual, '.');
    const char *extension = is_code(entry) && dot ? dot : "";
    size_t n = name ? strlen(name) : 0, m = strlen(extension);
    int length = 0;
    if (n == 0 && first)
        length = snprintf(ret, NAME_TEXT_MAX, "%s", usual);
    else if (n == 0)
        length = snprintf(ret, NAME_TEXT_MAX, "file%zu.code", i);
    else if (first && !(n > m && strcmp(name + n - m, extension) == 0))
        length = snprintf(ret, NAME_TEXT_MAX, "%s%s", name, extension);
    else
        length = snprintf(ret, NAME_TEXT_MAX, "%s", name);
    if (length >= NAME_TEXT_MAX)
        return fault_set(fault, "files[%zu].name: expected at most %d bytes, got %d", i,
                         SANDBOX_NAME_MAX, length);
    return 0;
}

/* Checks what would be taken for another text, since C ends it at its NUL. */
static int check_texts(const json_t *entry, size_t i, struct fault *fault)
{
    static const char *const keys[] = {"name", "encoding"};
    for (size_t k = 0; k < ARRAY_SIZE(keys); k++)
        if (steps_has_nul(json_object_get(entry, keys[k])))
            return fault_set(fault, "files[%zu].%s must not contain a NUL", i, keys[k]);
    return 0;
}

/* Whether the compiler must be told of NAME as it is of SOURCE: both have the same extension. */
static bool is_source(const char *name, const char *source)
{
    const char *dot = strrchr(name, '.'), *other = strrchr(source, '.');
    return dot && other && strcmp(dot, other) == 0;
}

/* Adds file I to the plan. SOURCE is the name of the first with code, "" before it. */
static int add_file(struct steps_plan *plan, const json_t *entry, size_t i,
                    char source[NAME_TEXT_MAX], json_t *sources, struct fault *fault)
{
    char name[NAME_TEXT_MAX];
    json_t *content = json_object_get(entry, "content"), *value = NULL;
    const char *encoding = json_string_value(json_object_get(entry, "encoding"));
    bool first = is_code(entry) && source[0] == '\0';
    if (!json_is_string(content))
        return fault_set(fault, "files[%zu].content is required as a string", i);
    int r = check_texts(entry, i, fault);
    if (r == 0)
        r = file_name(plan->language, entry, i, first, name, fault);
    if (r == 0 && json_object_get(plan->files, name))
        r = fault_set(fault, "files[%zu].name: another file has the name %s", i, name);
    if (r == 0 && is_code(entry))
        value = json_incref(content);
    else if (r == 0)
        r = make_binary(content, strcmp(encoding, "hex") == 0, i, &value, fault);
    /* NAME is whole and came as JSON, so it is UTF-8 and nothing but memory can be lacking. */
    if (r == 0 && json_object_set_new(plan->files, name, value) < 0)
        r = -ENOMEM;
    if (r == 0 && first)
        memcpy(source, name, NAME_TEXT_MAX);
    else if (r == 0 && is_code(entry) && is_source(name, source))
        r = json_array_append_new(sources, json_string(name)) < 0 ? -ENOMEM : 0;
    return r;
}

static int add_files(struct steps_plan *plan, const json_t *request, char source[NAME_TEXT_MAX],
                     json_t *sources, struct fault *fault)
{
    const json_t *files = json_object_get(request, "files");
    if (!json_is_array(files))
        return fault_set(fault, "files is required as an array");
    for (size_t i = 0; i < json_array_size(files); i++) {
        int r = add_file(plan, json_array_get(files, i), i, source, sources, fault);
        if (r < 0)
            return r;
    }
    if (source[0] == '\0')
        return fault_set(fault, "files must include at least one utf8 encoded file");
    return 0;
}

/* Reads a number in the unit of the API; SCALE makes the daemon's unit of the ceiling KEY of it. */
static int read_number(const json_t *request, const char *name, const struct steps_host *host,
                       const char *key, double scale, uint64_t usual, uint64_t *ret,
                       struct fault *fault)
{
    const json_t *value = json_object_get(request, name);
    double number = json_number_value(value), most = steps_ceiling(host, key) * scale;
    if (value && !json_is_null(value) && !json_is_number(value))
        return fault_set(fault, "if specified, %s must be a number", name);
    if (number > most)
        return fault_set(fault, "%s cannot exceed the configured limit of %.0f", name, most);
    *ret = number >= 1 ? (uint64_t)number : MIN(usual, (uint64_t)most);
    return 0;
}

static int read_limits(struct steps_plan *plan, const json_t *request,
                       const struct steps_host *host, struct fault *fault)
{
    const struct {
        const char *name, *key;
        double scale;
        uint64_t usual, *to;
    } numbers[] = {
        {"run_timeout", "wall_clock", MS_PER_SECOND, RUN_TIMEOUT_MS, &plan->run_ms},
        {"compile_timeout", "wall_clock", MS_PER_SECOND, COMPILE_TIMEOUT_MS, &plan->compile_ms},
        {"run_cpu_time", "cpu", MS_PER_SECOND, 0, &plan->run_cpu_ms},
        {"compile_cpu_time", "cpu", MS_PER_SECOND, 0, &plan->compile_cpu_ms},
        {"run_memory_limit", "memory_bytes", 1, 0, &plan->run_memory},
        {"compile_memory_limit", "memory_bytes", 1, 0, &plan->compile_memory},
    };
    for (size_t i = 0; i < ARRAY_SIZE(numbers); i++) {
        int r = read_number(request, numbers[i].name, host, numbers[i].key, numbers[i].scale,
                            numbers[i].usual, numbers[i].to, fault);
        if (r < 0)
            return r;
    }
    return 0;
}

static int read_input(struct steps_plan *plan, const json_t *request, struct fault *fault)
{
    json_t *input = json_object_get(request, "stdin");
    const json_t *arguments = json_object_get(request, "args");
    if (input && !json_is_null(input) && !json_is_string(input))
        return fault_set(fault, "if specified, stdin must be a string");
    if (arguments && !json_is_null(arguments) && !json_is_array(arguments))
        return fault_set(fault, "if specified, args must be an array");
    for (size_t i = 0; i < json_array_size(arguments); i++)
        if (!json_is_string(json_array_get(arguments, i)))
            return fault_set(fault, "args[%zu] must be a string", i);
    plan->input = json_is_string(input) ? input : NULL;
    plan->arguments = arguments;
    return 0;
}

int piston_job(const json_t *request, const struct language_list *languages, const json_t *status,
               const struct steps_host *host, struct piston_job *ret, struct fault *fault)
{
    char source[NAME_TEXT_MAX] = "";
    json_t *sources = json_array();
    struct piston_job job = {.job = NULL};
    struct steps_plan plan = {.files = json_object(), .sources = sources, .source = source};
    int r = plan.files && sources ? 0 : -ENOMEM;
    if (r == 0)
        r = find_runtime(request, languages, status, &job, fault);
    plan.language = job.language;
    if (r == 0)
        r = add_files(&plan, request, source, sources, fault);
    if (r == 0)
        r = read_limits(&plan, request, host, fault);
    if (r == 0)
        r = read_input(&plan, request, fault);
    if (r == 0)
        r = steps_job(&plan, host, &job.job);
    json_decref(plan.files);
    json_decref(sources);
    if (r == 0)
        *ret = job;
    return r;
}

/* --- the answer --------------------------------------------------------------------------- */

/* Why a stage ended, in Piston's words. */
struct reason {
    const char *status; /* NULL: well */
    char message[64];
    bool killed; /* by the sandbox, as with SIGKILL */
};

static struct reason find_reason(const struct step_end *end)
{
    struct reason reason = {.status = NULL};
    const char *limit = end->limit ? end->limit : "";
    json_int_t code = json_integer_value(end->exit_code);
    if (strcmp(limit, "wall_clock") == 0)
        reason = (struct reason){"TO", "Time limit exceeded (wall clock)", true};
    else if (strcmp(limit, "cpu") == 0)
        reason = (struct reason){"TO", "Time limit exceeded", true};
    else if (strcmp(limit, "output") == 0)
        reason = (struct reason){"OL", "stdout length exceeded", true};
    else if (json_is_integer(end->signal)) {
        reason.status = "SG";
        (void)snprintf(reason.message, sizeof(reason.message), "Caught fatal signal %d",
                       (int)json_integer_value(end->signal));
    } else if (code != 0) {
        reason.status = "RE";
        (void)snprintf(reason.message, sizeof(reason.message), "Exited with error status %d",
                       (int)code);
    }
    return reason;
}

static json_t *signal_name(const struct step_end *end, const struct reason *reason)
{
    char name[32];
    const char *word = reason->killed ? "KILL" : sigabbrev_np((int)json_integer_value(end->signal));
    if (!reason->killed && !json_is_integer(end->signal))
        return json_null();
    (void)snprintf(name, sizeof(name), "SIG%s", word ? word : "KILL");
    return json_string(name);
}

/* The one text behind the other: in which order they were written is not known. */
static json_t *join(const json_t *first, const json_t *second)
{
    size_t n = json_string_length(first), m = json_string_length(second);
    _cleanup_free_ char *text = malloc(n + m + 1);
    if (!text)
        return NULL;
    memcpy(text, json_string_value(first), n);
    memcpy(text + n, json_string_value(second), m);
    return json_stringn_nocheck(text, n + m);
}

static json_t *make_stage(const struct step_end *end)
{
    const struct reason reason = find_reason(end);
    bool exited = !reason.killed && json_is_integer(end->exit_code);
    json_t *output = join(end->stdout_text, end->stderr_text);
    return json_pack("{s:O,s:O,s:o,s:o,s:o,s:s?,s:s?,s:I,s:I,s:I}", "stdout", end->stdout_text,
                     "stderr", end->stderr_text, "code",
                     exited ? json_incref(end->exit_code) : json_null(), "signal",
                     signal_name(end, &reason), "output", output, "message",
                     reason.status ? reason.message : NULL, "status", reason.status, "cpu_time",
                     end->cpu_ms, "wall_time", end->wall_clock_ms, "memory", end->memory_bytes);
}

json_t *piston_answer(const struct piston_job *job, const json_t *result)
{
    struct step_end end;
    size_t n = steps_count(job->language);
    json_t *compile = NULL, *run = NULL;
    for (size_t i = 0; i < n && steps_end(result, i, &end); i++) {
        if (i + 1 < n)
            compile = make_stage(&end);
        else
            run = make_stage(&end);
    }
    /* Piston tells of a run, also where none took place. */
    if (!run)
        run = json_incref(compile);
    json_t *answer = json_pack("{s:o,s:s,s:s}", "run", run, "language", job->language->name,
                               "version", job->version);
    if (compile && (!answer || json_object_set(answer, "compile", compile) < 0)) {
        json_decref(answer);
        answer = NULL;
    }
    json_decref(compile);
    return answer;
}
