/* SPDX-License-Identifier: MIT */
#include "sample.h"
#include "guess.h"
#include "langname.h"

#include "conf/suggest.h"
#include "proto/lenient.h"

#include <string.h>

static const struct {
    const char *name;
    enum sample_form form;
    bool is_list;
} members[] = {
    {"completion", SAMPLE_COMPLETION, false}, {"solution", SAMPLE_SOLUTION, false},
    {"generation", SAMPLE_GENERATION, false}, {"completions", SAMPLE_COMPLETION, true},
    {"code_list", SAMPLE_SOLUTION, true},
};

/* In LiveCodeBench a sample has a question_id, in MultiPL-E a name, in CRUXEval an id. */
static const char *const ids[] = {"task_id", "question_id", "problem_id", "name", "id"};

bool sample_uses(const char *name, size_t n)
{
    static const char *const language[] = {"language"};
    for (size_t i = 0; i < ARRAY_SIZE(members); i++)
        if (json_name_is_among(name, n, &members[i].name, 1))
            return true;
    return json_name_is_among(name, n, ids, ARRAY_SIZE(ids)) ||
           json_name_is_among(name, n, language, 1);
}

const char *sample_form_name(enum sample_form form)
{
    for (size_t i = 0; i < ARRAY_SIZE(members); i++)
        if (members[i].form == form)
            return members[i].name;
    return "";
}

static int take_list(json_t *list, struct sample *sample, struct fault *fault)
{
    if (!json_is_array(list))
        return fault_set(fault, "%s: expected an array, got %s", sample->member,
                         json_type_name(list));
    if (json_array_size(list) == 0)
        return fault_set(fault, "%s: there is no sample in it", sample->member);
    for (size_t i = 0; i < json_array_size(list); i++)
        if (!json_is_string(json_array_get(list, i)))
            return fault_set(fault, "%s[%zu]: expected a string, got %s", sample->member, i,
                             json_type_name(json_array_get(list, i)));
    sample->list = list;
    sample->text = json_array_get(list, 0);
    return 0;
}

/* Says which members the sample has instead of a text. */
static int name_lacking(const json_t *object, struct fault *fault)
{
    static const char neither[] =
        "neither completion nor solution nor generation (nor completions nor code_list)";
    const char *names[ARRAY_SIZE(members)], *near = NULL, *meant = NULL;
    char has[FAULT_MAX / 2] = "";
    json_t *walked = (json_t *)(uintptr_t)object;
    for (size_t i = 0; i < ARRAY_SIZE(members); i++) {
        if (json_object_get(object, members[i].name))
            return fault_set(fault, "%s: it is null", members[i].name);
        names[i] = members[i].name;
        if (!near && (near = guess_member(object, names[i])))
            meant = names[i];
    }
    if (near) {
        const char *nearest = suggest(near, names, ARRAY_SIZE(names));
        return fault_set(fault, "%s; found \"%.40s\": did you mean %s?", neither, near,
                         nearest ? nearest : meant);
    }
    for (void *i = json_object_iter(walked); i; i = json_object_iter_next(walked, i)) {
        size_t used = strlen(has);
        (void)snprintf(has + used, sizeof(has) - used, "%s%.40s", used > 0 ? ", " : "",
                       json_object_iter_key(i));
    }
    return fault_set(fault, "%s, but %s", neither, has);
}

static int take_texts(const json_t *object, struct sample *sample, struct fault *fault)
{
    for (size_t i = 0; i < ARRAY_SIZE(members); i++) {
        json_t *value = json_object_get(object, members[i].name);
        if (!value || json_is_null(value))
            continue;
        if (sample->text)
            return fault_set(fault, "both %s and %s: expected only one", sample->member,
                             members[i].name);
        sample->member = members[i].name;
        sample->form = members[i].form;
        if (!members[i].is_list && !json_is_string(value))
            return fault_set(fault, "%s: expected a string, got %s", members[i].name,
                             json_type_name(value));
        int r = members[i].is_list ? take_list(value, sample, fault) : 0;
        if (r < 0)
            return r;
        if (!members[i].is_list)
            sample->text = value;
    }
    return sample->text ? 0 : name_lacking(object, fault);
}

/* Takes the id from the first member that may have it. */
static int take_id(const json_t *object, struct sample *sample, struct fault *fault)
{
    const char *near;
    for (size_t i = 0; i < ARRAY_SIZE(ids); i++)
        if (task_member(object, ids[i]))
            return task_id_in(object, ids[i], sample->task_id, fault);
    for (size_t i = 0; i < ARRAY_SIZE(ids); i++)
        if (!json_object_get(object, ids[i]) && (near = guess_member(object, ids[i])))
            return fault_set(fault, "%s: it is missing; found \"%.40s\": did you mean %s?", ids[0],
                             near, ids[i]);
    return task_id_in(object, ids[0], sample->task_id, fault);
}

int sample_decode(const json_t *object, struct sample *ret, struct fault *fault)
{
    struct sample sample = {.text = NULL};
    const json_t *language = task_member(object, "language");
    int r = take_id(object, &sample, fault);
    if (r == 0)
        r = take_texts(object, &sample, fault);
    if (r == 0 && language && !json_is_string(language))
        r = fault_set(fault, "language: expected a string, got %s", json_type_name(language));
    if (r < 0)
        return r;
    sample.language = json_string_value(language);
    *ret = sample;
    return 0;
}

/* Whether the member NAME reads as if it had the language of the code. */
static bool reads_like_language(const char *name)
{
    static const char *const names[] = {"lang",          "programming_language", "prog_lang",
                                        "code_language", "lang_cluster",         "language"};
    for (size_t i = 0; i < ARRAY_SIZE(names); i++)
        if (strcmp(name, names[i]) == 0 || guess_is_near(name, names[i]))
            return true;
    return false;
}

/* Data sets carry members of all kinds, also the language of a prompt: only one that tells us that
 * the code is in another language is a mistake. */
int sample_check_language(const json_t *object, const char *language, struct fault *fault)
{
    json_t *walked = (json_t *)(uintptr_t)object;
    if (task_member(object, "language"))
        return 0;
    for (void *i = json_object_iter(walked); i; i = json_object_iter_next(walked, i)) {
        const char *name = json_object_iter_key(i);
        const char *words = json_string_value(json_object_iter_value(i));
        const struct langname *named = words ? langname_in(words) : NULL;
        if (named && strcmp(named->name, langname_of(language)) != 0 && reads_like_language(name))
            return fault_set(
                fault,
                "%.40s: it is not read, and \"%.40s\" would be graded as %.40s; did you "
                "mean language?",
                name, words, langname_title(language));
    }
    return 0;
}

size_t sample_count(const struct sample *sample)
{
    return sample->list ? json_array_size(sample->list) : 1;
}

json_t *sample_text(const struct sample *sample, size_t index)
{
    return sample->list ? json_array_get(sample->list, index) : sample->text;
}
