/* SPDX-License-Identifier: MIT */
#include "grade_languages.h"

#include "client/grade/langname.h"
#include "client/terminal/text.h"
#include "conf/language.h"

#include <inttypes.h>
#include <string.h>

/* The language of every sample of TASK; NULL: the samples, or --language, say it. */
static const char *language_of(const struct task *task)
{
    return task_is_program(task) ? task->language : "python";
}

int grade_languages_agree(const struct dataset *dataset, const char *wanted, struct fault *fault)
{
    const char *own = NULL;
    for (size_t i = 0; wanted && i < dataset->n; i++) {
        own = language_of(&dataset->tasks[i]);
        if (!own || strcmp(own, langname_of(wanted)) == 0)
            return 0;
    }
    return own ? fault_set(fault, "--language %.40s: the tasks are in %s (%s)", wanted,
                           langname_title(own), dataset->tasks[dataset->n - 1].format->title)
               : 0;
}

static bool is_called(const json_t *language, const char *name)
{
    const json_t *aliases = json_object_get(language, "aliases");
    const char *its = json_string_value(json_object_get(language, "name"));
    for (size_t i = 0; i < json_array_size(aliases); i++) {
        const char *alias = json_string_value(json_array_get(aliases, i));
        if (alias && language_is_meant(name, alias))
            return true;
    }
    return its && language_is_meant(name, its);
}

/* Finds the language NAME in LIST, that of the daemon. */
static const json_t *find(const json_t *list, const char *name)
{
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *language = json_array_get(list, i);
        if (is_called(language, name) || is_called(language, langname_of(name)))
            return language;
    }
    return NULL;
}

static int check_wanted(const json_t *list, const char *wanted, struct fault *fault)
{
    char names[FAULT_MAX] = "";
    const json_t *found = find(list, wanted);
    if (json_is_false(json_object_get(found, "available"))) {
        const char *why = json_string_value(json_object_get(found, "why_not"));
        complain("--language %s: %s", wanted, why ? why : "the daemon's host lacks it");
    }
    if (found)
        return 0;
    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *name = json_string_value(json_object_get(json_array_get(list, i), "name"));
        size_t used = strlen(names);
        (void)snprintf(names + used, sizeof(names) - used, "%s%s", i > 0 ? ", " : "",
                       name ? name : "?");
    }
    return fault_set(fault, "--language %.40s: the daemon does not know it; it knows %s", wanted,
                     names);
}

/* Names each language that tasks are in and the daemon lacks. */
static void tell_lacking(const json_t *list, const struct dataset *dataset)
{
    _cleanup_json_ json_t *counts = json_object(); /* of language to tasks */
    for (size_t i = 0; i < dataset->n; i++) {
        const struct task *task = &dataset->tasks[i];
        json_int_t n = 1;
        if (!task_is_program(task) || !task->language)
            continue;
        n += json_integer_value(json_object_get(counts, task->language));
        (void)json_object_set_new(counts, task->language, json_integer(n));
    }
    for (void *i = json_object_iter(counts); i; i = json_object_iter_next(counts, i)) {
        const char *language = json_object_iter_key(i);
        uint64_t n = (uint64_t)json_integer_value(json_object_iter_value(i));
        const json_t *found = find(list, language);
        const char *why = json_string_value(json_object_get(found, "why_not"));
        if (!found || json_is_false(json_object_get(found, "available")))
            complain("%" PRIu64 " task%s in %s cannot be graded: %s", n, text_plural(n),
                     langname_title(language), why ? why : "the daemon does not know it");
    }
}

int grade_languages_ask(struct session *session, const struct dataset *dataset, const char *wanted,
                        struct fault *fault)
{
    _cleanup_message_ struct message answer = MESSAGE_NULL;
    struct fault unused;
    bool takes = false, has_programs = false;
    for (size_t i = 0; i < dataset->n; i++) {
        has_programs |= task_is_program(&dataset->tasks[i]);
        takes |= !language_of(&dataset->tasks[i]);
    }
    if (!has_programs)
        return 0;
    int r = session_ask(session, "{\"type\":\"status\"}", MESSAGE_STATUS,
                        monotonic_ms() + SESSION_ANSWER_MS, &answer, &unused);
    if (r < 0 || answer.type != MESSAGE_STATUS)
        return 0; /* the jobs find out */
    const json_t *list = json_object_get(answer.object, "languages");
    if (takes && wanted && (r = check_wanted(list, wanted, fault)) < 0)
        return r;
    tell_lacking(list, dataset);
    return 0;
}
