/* SPDX-License-Identifier: MIT */
#include "formats.h"
#include "guess.h"

#include "proto/lenient.h"

#include <string.h>
#include <strings.h>

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

int formats_check_left(const json_t *record, const char *used, const char *const *left,
                       struct fault *fault)
{
    for (; *left; left++)
        if (formats_has(record, *left))
            return fault_set(fault,
                             "%s: it has tests that would not be run, since those of %s are: a "
                             "task has only one of the two",
                             *left, used);
    return 0;
}

/* How a member of a record bears on whether code is right. */
enum bearing { BEARS_NOTHING, BEARS_TESTS, BEARS_JUDGE };

/* What members that hold tests are called, and those that say how to judge outputs. Names are in
 * letters alone; words are those that a name has among others: "more_cases", "checkerCode". `*`
 * stands for any end: test, tests, testcase. */
static const char *const test_names[] = {
    "inputoutput", "baseinput", "plusinput",  "base",       "plus",    "assertions",
    "assertion",   "asserts",   "checks",     "check",      "private", "secret",
    "examples",    "iosamples", "evaluation", "validation", "hidden*", "evaluations",
    "io",          "sampleio",  "samples",    NULL,
};
static const char *const judge_names[] = {
    "specialjudge", "spj",           "isspj",
    "interactive",  "isinteractive", "interactionformat",
    "comparator",   "casesensitive", "tolerance",
    "epsilon",      "eps",           "judge",
    NULL,
};
static const char *const test_words[] = {
    "test*", "unittest*", "pytest*", "pretest*", "cases", "inputs", "outputs", NULL,
};
static const char *const judge_words[] = {
    "checker", "interactor", "grader", "scorer", "validator", NULL,
};

/* Whether the N bytes of WORD are MEANT, in any case. */
static bool is_word(const char *word, size_t n, const char *meant)
{
    size_t length = strlen(meant);
    if (meant[length - 1] == '*')
        return n >= length - 1 && strncasecmp(word, meant, length - 1) == 0;
    return n == length && strncasecmp(word, meant, n) == 0;
}

static bool is_any(const char *const *meant, const char *word, size_t n)
{
    while (*meant && !is_word(word, n, *meant))
        meant++;
    return *meant != NULL;
}

#define SEPARATORS "_-. "

/* Returns what a member called NAME holds. One of its words tells, so `contest_id` holds no tests;
 * or a list has all of its letters. A judge of tests is a judge. */
static enum bearing bearing_of(const char *name)
{
    enum bearing found = BEARS_NOTHING;
    char letters[32] = "";
    size_t length = 0;
    for (const char *c = name; *c && length < sizeof(letters); c++)
        if (!strchr(SEPARATORS, *c))
            letters[length++] = *c;
    if (is_any(judge_names, letters, length))
        return BEARS_JUDGE;
    if (is_any(test_names, letters, length))
        found = BEARS_TESTS;
    for (size_t n; *name; name += n) {
        n = strcspn(name + 1, SEPARATORS "ABCDEFGHIJKLMNOPQRSTUVWXYZ") + 1;
        size_t skip = strspn(name, SEPARATORS);
        if (n > skip && is_any(judge_words, name + skip, n - skip))
            return BEARS_JUDGE;
        if (n > skip && is_any(test_words, name + skip, n - skip))
            found = BEARS_TESTS;
    }
    return found;
}

/* Whether the member NAME of RECORD, with BEARING, has something in it. A number of tests is none,
 * but that a judge is needed may be said by a number, or by `true`. */
static bool bears(const json_t *record, const char *name, enum bearing bearing)
{
    const json_t *value = task_member(record, name);
    bool is_said = json_is_true(value) || (json_is_number(value) && json_number_value(value) != 0);
    return formats_has(record, name) || (bearing == BEARS_JUDGE && is_said);
}

/* Returns the name of a member of OBJECT that holds tests or says how to judge; NULL if there is
 * none. Ignores texts: the format does not read OBJECT, and a text in it may mean anything. */
static const char *find_inside(const json_t *object)
{
    json_t *walked = (json_t *)(uintptr_t)object;
    for (void *i = json_object_iter(walked); i; i = json_object_iter_next(walked, i)) {
        const char *name = json_object_iter_key(i);
        enum bearing bearing = bearing_of(name);
        if (bearing != BEARS_NOTHING && !json_is_string(json_object_iter_value(i)) &&
            bears(object, name, bearing))
            return name;
    }
    return NULL;
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

static int refuse_member(const struct data_format *format, const char *name, const char *inside,
                         enum bearing bearing, struct fault *fault)
{
    return fault_set(fault,
                     "%.60s%s%.60s: it %s: a task of %s has none there "
                     "(--format chooses another format; --list-formats)",
                     name, inside ? "." : "", inside ? inside : "",
                     bearing == BEARS_JUDGE ? "says how to judge outputs, which would not be done"
                                            : "has tests that would not be run",
                     format->title);
}

/* Looks at the members of the record, and at those of its objects that the format does not read. */
int formats_check(const struct data_format *format, const json_t *record, struct fault *fault)
{
    json_t *walked = (json_t *)(uintptr_t)record;
    for (void *i = json_object_iter(walked); i; i = json_object_iter_next(walked, i)) {
        const char *name = json_object_iter_key(i);
        size_t n = strlen(name);
        if (decodes(format, name, n) || is_listed(format->texts, name, n) ||
            is_listed(format->skips, name, n))
            continue;
        const char *inside = find_inside(json_object_iter_value(i));
        enum bearing bearing = bearing_of(inside ? inside : name);
        if (bearing == BEARS_NOTHING || (!inside && !bears(record, name, bearing)))
            continue;
        const char *meant = inside ? NULL : meant_by(format, record, name);
        if (meant)
            return fault_set(fault, "%.60s: a task of %s has none; did you mean %s?", name,
                             format->title, meant);
        return refuse_member(format, name, inside, bearing, fault);
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
