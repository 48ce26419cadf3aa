/* SPDX-License-Identifier: MIT */
#include "formats.h"
#include "guess.h"

#include "proto/lenient.h"

#include <string.h>

#define FORMAT_ROW(name_) &data_format_##name_,
const struct data_format *const data_formats[DATA_FORMATS_N] = {DATA_FORMATS(FORMAT_ROW)};

static const char *const usual_ids[] = {"task_id", NULL};

static bool is_listed(const char *const *list, const char *name, size_t n)
{
    for (; list && *list; list++)
        if (strlen(*list) == n && memcmp(*list, name, n) == 0)
            return true;
    return false;
}

const struct data_format *formats_find(const char *name, struct fault *fault)
{
    char names[FAULT_MAX] = "";
    for (size_t i = 0; i < DATA_FORMATS_N; i++) {
        if (strcmp(data_formats[i]->name, name) == 0)
            return data_formats[i];
        size_t used = strlen(names);
        (void)snprintf(names + used, sizeof(names) - used, "%s%s", i > 0 ? ", " : "",
                       data_formats[i]->name);
    }
    (void)fault_set(fault, "--format: there is no \"%.40s\"; there are %s", name, names);
    return NULL;
}

const struct data_format *formats_recognise(const json_t *record)
{
    for (size_t i = 0; i < DATA_FORMATS_N; i++)
        if (data_formats[i]->recognise(record))
            return data_formats[i];
    return NULL;
}

static bool decodes(const struct data_format *format, const char *name, size_t n)
{
    return is_listed(format->ids ? format->ids : usual_ids, name, n) ||
           is_listed(format->uses, name, n);
}

bool formats_use(const char *name, size_t n)
{
    for (size_t i = 0; i < DATA_FORMATS_N; i++)
        if (decodes(data_formats[i], name, n))
            return true;
    return false;
}

bool formats_has(const json_t *record, const char *name)
{
    const json_t *value = task_member(record, name);
    if (json_is_string(value))
        return json_string_length(value) > 0;
    return json_array_size(value) > 0 || json_object_size(value) > 0;
}

/* Whether WORD, of N bytes, is one that names of tests have: test, tests, testcase, unittests. */
static bool is_of_tests(const char *word, size_t n)
{
    static const char *const starts[] = {"test", "unittest", "pytest", "Test"};
    for (size_t i = 0; i < ARRAY_SIZE(starts); i++)
        if (n >= strlen(starts[i]) && memcmp(word, starts[i], strlen(starts[i])) == 0)
            return true;
    return false;
}

/* Whether the member NAME is one that has tests in it: by one of its words, so that `contest_id` is
 * none, or because it is known. */
static bool carries_tests(const char *name)
{
    static const char *const known[] = {"input_output", "base_input", "plus_input", "base", "plus",
                                        "assertions",   "asserts",    "checks",     NULL};
    if (is_listed(known, name, strlen(name)))
        return true;
    for (size_t n; *name; name += n) {
        n = strcspn(name + 1, "_-. ABCDEFGHIJKLMNOPQRSTUVWXYZ") + 1;
        size_t skip = strspn(name, "_-. ");
        if (n > skip && is_of_tests(name + skip, n - skip))
            return true;
    }
    return false;
}

/* The member that tasks of FORMAT have, RECORD has not, and NAME may be meant to be; NULL. */
static const char *meant_by(const struct data_format *format, const json_t *record,
                            const char *name)
{
    for (const char *const *known = format->uses; known && *known; known++)
        if (guess_is_near(name, *known) && !task_member(record, *known))
            return *known;
    return NULL;
}

int formats_check(const struct data_format *format, const json_t *record, struct fault *fault)
{
    json_t *walked = (json_t *)(uintptr_t)record;
    for (void *i = json_object_iter(walked); i; i = json_object_iter_next(walked, i)) {
        const char *name = json_object_iter_key(i);
        size_t n = strlen(name);
        if (!carries_tests(name) || !formats_has(record, name) || decodes(format, name, n) ||
            is_listed(format->texts, name, n) || is_listed(format->skips, name, n))
            continue;
        const char *meant = meant_by(format, record, name);
        if (meant)
            return fault_set(fault, "%.60s: a task of %s has none; did you mean %s?", name,
                             format->title, meant);
        return fault_set(fault,
                         "%.60s: it has tests that would not be run: a task of %s has none there "
                         "(--format chooses another format; --list-formats)",
                         name, format->title);
    }
    return 0;
}

static void put(FILE *out, const char *name, const char *text)
{
    (void)fprintf(out, "    %-9s %s\n", name, text);
}

void formats_list(FILE *out)
{
    for (size_t i = 0; i < DATA_FORMATS_N; i++) {
        const struct data_format *format = data_formats[i];
        (void)fprintf(out, "%s%s: %s\n", i > 0 ? "\n" : "", format->name, format->title);
        put(out, "tests:", format->what);
        put(out, "samples:", format->samples);
        put(out, "source:", format->source);
        put(out, "differs:", format->differs);
        for (const char *const *name = format->skips; name && *name; name++)
            put(out, name == format->skips ? "not run:" : "", *name);
    }
}
