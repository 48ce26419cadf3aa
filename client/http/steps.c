/* SPDX-License-Identifier: MIT */
#include "steps.h"

#include <string.h>

/* Finds programs in PATH and sets the language's variables. */
#define ENV_PROGRAM "/usr/bin/env"
/* The class of a program in a language that names files after classes. */
#define DEFAULT_CLASS "Main"
#define MS_PER_SECOND 1000.0

static const json_t *sandbox_limit(const struct steps_host *host, const char *which,
                                   const char *key)
{
    return json_object_get(json_object_get(json_object_get(host->limits, which), "sandbox"), key);
}

double steps_ceiling(const struct steps_host *host, const char *key)
{
    return json_number_value(sandbox_limit(host, "ceilings", key));
}

static uint64_t limit_bytes(const struct steps_host *host, const char *which, const char *key)
{
    json_int_t value = json_integer_value(sandbox_limit(host, which, key));
    return value > 0 ? (uint64_t)value : 0;
}

/* Fills in {source} and its like in WORDS and appends them to ARGV, a JSON array. */
static int add_words(const struct language *language, const struct string_list *words,
                     const struct language_values *values, json_t *argv)
{
    _cleanup_string_list_ struct string_list filled = STRING_LIST_NULL;
    int r = language_words(language, words, values, &filled);
    for (size_t i = 0; r == 0 && i < filled.count; i++)
        r = json_array_append_new(argv, json_string(filled.item[i])) < 0 ? -ENOMEM : 0;
    return r;
}

static int add_all(json_t *argv, const json_t *more)
{
    for (size_t i = 0; i < json_array_size(more); i++)
        if (json_array_append(argv, json_array_get(more, i)) < 0)
            return -ENOMEM;
    return 0;
}

bool steps_has_nul(const json_t *value)
{
    return json_is_string(value) &&
           memchr(json_string_value(value), '\0', json_string_length(value)) != NULL;
}

const json_t *steps_status_of(const struct language *language, const json_t *status)
{
    for (size_t i = 0; i < json_array_size(status); i++) {
        const json_t *entry = json_array_get(status, i);
        const char *name = json_string_value(json_object_get(entry, "name"));
        if (name && strcmp(name, language->name) == 0)
            return entry;
    }
    return NULL;
}

const char *steps_why_not(const json_t *entry)
{
    bool is_missing = json_is_false(json_object_get(entry, "available"));
    return is_missing ? json_string_value(json_object_get(entry, "why_not")) : NULL;
}

int steps_source_name(const struct language *language, char **ret)
{
    _cleanup_string_list_ struct string_list pattern = STRING_LIST_NULL, name = STRING_LIST_NULL;
    const struct language_values values = {.class_name = DEFAULT_CLASS};
    int r = string_list_add(&pattern, language->source);
    if (r == 0)
        r = language_words(language, &pattern, &values, &name);
    if (r < 0 || name.count != 1)
        return r < 0 ? r : -ENOMEM;
    *ret = name.item[0];
    name.count = 0; /* the string has a new owner */
    return 0;
}

/* The part of NAME before its extension, which the caller frees; NULL for lack of memory. */
static char *class_of(const char *name)
{
    const char *slash = strrchr(name, '/');
    const char *start = slash ? slash + 1 : name;
    const char *dot = strrchr(start, '.');
    return dot ? strndup(start, (size_t)(dot - start)) : strdup(start);
}

static int set_new(json_t *object, const char *name, json_t *value)
{
    return json_object_set_new(object, name, value) < 0 ? -ENOMEM : 0;
}

/* The address space that a runtime reserves says nothing of the memory that it uses: it may have as
 * much as the daemon allows. */
static uint64_t address_space(const struct steps_host *host, uint64_t memory, bool counts)
{
    return counts ? memory : limit_bytes(host, "ceilings", "memory_bytes");
}

/* A program that may take MS may compute for as long, and one that is given less may as the daemon
 * has it. 0: the default. */
static uint64_t cpu_for(const struct steps_host *host, uint64_t ms)
{
    double usual = json_number_value(sandbox_limit(host, "defaults", "cpu")) * MS_PER_SECOND;
    double most = steps_ceiling(host, "cpu") * MS_PER_SECOND;
    return (double)ms > usual ? (uint64_t)MIN((double)ms, most) : 0;
}

/* Makes the limits of a step. MS, CPU_MS and MEMORY of 0 leave the default in place. */
static json_t *make_limits(const struct limits *own, uint64_t ms, uint64_t cpu_ms, uint64_t memory)
{
    json_t *limits = json_object();
    int r = limits ? 0 : -ENOMEM;
    ms = ms ? ms : own->of[LIMIT_WALL_CLOCK];
    cpu_ms = cpu_ms ? cpu_ms : own->of[LIMIT_CPU];
    if (r == 0 && ms)
        r = set_new(limits, "wall_clock", json_real((double)ms / MS_PER_SECOND));
    if (r == 0 && cpu_ms)
        r = set_new(limits, "cpu", json_real((double)cpu_ms / MS_PER_SECOND));
    if (r == 0 && memory)
        r = set_new(limits, "memory_bytes", json_integer((json_int_t)memory));
    if (r == 0 && own->of[LIMIT_PROCESSES])
        r = set_new(limits, "max_processes", json_integer((json_int_t)own->of[LIMIT_PROCESSES]));
    if (r == 0)
        return limits;
    json_decref(limits);
    return NULL;
}

/* Appends the compiler, or the program, to STEPS. */
static int add_step(const struct steps_plan *plan, const struct steps_host *host, bool compile,
                    const struct language_values *values, json_t *steps)
{
    const struct language *language = plan->language;
    const struct limits *own = compile ? &language->compile_limits : &language->run_limits;
    bool counts = compile ? language->compile_address_space : language->address_space;
    uint64_t ms = compile ? plan->compile_ms : plan->run_ms;
    uint64_t cpu_ms = compile ? plan->compile_cpu_ms : plan->run_cpu_ms;
    uint64_t memory = compile ? plan->compile_memory : plan->run_memory;
    memory = memory ? memory : own->of[LIMIT_MEMORY];
    memory = memory ? memory : limit_bytes(host, "defaults", "memory_bytes");
    struct language_values filled = *values;
    filled.memory = memory;

    json_t *argv = json_array(), *step = json_object();
    int r = argv && step ? 0 : -ENOMEM;
    if (r == 0)
        r = json_array_append_new(argv, json_string(ENV_PROGRAM)) < 0 ? -ENOMEM : 0;
    if (r == 0)
        r = add_words(language, &language->env, &filled, argv);
    if (r == 0)
        r = add_words(language, compile ? &language->compile : &language->run, &filled, argv);
    if (r == 0)
        r = add_all(argv, compile ? plan->sources : plan->arguments);
    if (r == 0)
        r = set_new(step, "argv", json_incref(argv));
    if (r == 0 && !compile && plan->input)
        r = set_new(step, "stdin", json_incref(plan->input));
    if (r == 0)
        r = set_new(step, "limits",
                    make_limits(own, ms, cpu_ms ? cpu_ms : cpu_for(host, ms),
                                address_space(host, memory, counts)));
    if (r == 0)
        r = json_array_append(steps, step) < 0 ? -ENOMEM : 0;
    json_decref(argv);
    json_decref(step);
    return r;
}

/* The limits of the whole job: room for what the compiler makes, and for output. */
static json_t *make_job_limits(const struct steps_plan *plan, const struct steps_host *host)
{
    uint64_t disk = MAX(plan->language->compile_limits.of[LIMIT_DISK],
                        limit_bytes(host, "defaults", "disk_bytes"));
    return json_pack("{s:I,s:I}", "output_bytes",
                     (json_int_t)limit_bytes(host, "ceilings", "output_bytes"), "disk_bytes",
                     (json_int_t)disk);
}

size_t steps_count(const struct language *language)
{
    return language->compile.count > 0 ? 2 : 1;
}

int steps_job(const struct steps_plan *plan, const struct steps_host *host, json_t **ret)
{
    const char *file_class = plan->language->file_class;
    _cleanup_free_ char *class_name = *file_class ? strdup(file_class) : class_of(plan->source);
    const struct language_values values = {
        .source = plan->source, .class_name = class_name, .python = host->python};
    json_t *steps = json_array(), *job = NULL;
    int r = class_name && steps ? 0 : -ENOMEM;
    if (r == 0 && plan->language->compile.count > 0)
        r = add_step(plan, host, true, &values, steps);
    if (r == 0)
        r = add_step(plan, host, false, &values, steps);
    if (r == 0) {
        job = json_pack("{s:s,s:O,s:O,s:o}", "kind", "sandbox", "files", plan->files, "steps",
                        steps, "limits", make_job_limits(plan, host));
        r = job ? 0 : -ENOMEM;
    }
    if (r == 0 && json_array_size(plan->collect) > 0)
        r = set_new(job, "collect", json_incref(plan->collect));
    json_decref(steps);
    if (r < 0) {
        json_decref(job);
        return r;
    }
    *ret = job;
    return 0;
}

bool steps_end(const json_t *result, size_t i, struct step_end *ret)
{
    const json_t *step = json_array_get(json_object_get(result, "steps"), i);
    const json_t *outcome = json_object_get(step, "outcome");
    const json_t *usage = json_object_get(step, "usage");
    if (!step)
        return false;
    *ret = (struct step_end){
        .stdout_text = json_object_get(step, "stdout"),
        .stderr_text = json_object_get(outcome, "stderr"),
        .limit = json_string_value(json_object_get(outcome, "limit_exceeded")),
        .exit_code = json_object_get(outcome, "exit_code"),
        .signal = json_object_get(outcome, "signal"),
        .wall_clock_ms = json_integer_value(json_object_get(usage, "wall_clock_ms")),
        .cpu_ms = json_integer_value(json_object_get(usage, "cpu_ms")),
        .memory_bytes = json_integer_value(json_object_get(usage, "max_rss_bytes")),
    };
    return true;
}
