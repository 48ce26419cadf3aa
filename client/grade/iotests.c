/* SPDX-License-Identifier: MIT */
#include "iotests.h"
#include "guess.h"
#include "langname.h"
#include "textbuf.h"

#include <string.h>

/* Bytes of a place, for messages. */
#define PLACE_MAX 128

/* Makes a text of VALUE, which is at WHERE: a string, or lines. */
static int take_text(const json_t *value, const char *where, json_t **ret, struct fault *fault)
{
    if (json_is_string(value)) {
        *ret = json_incref((json_t *)(uintptr_t)value);
        return 0;
    }
    if (!json_is_array(value))
        return fault_set(fault, "%s: expected a string or an array of lines, got %s", where,
                         json_type_name(value));
    _cleanup_textbuf_ struct textbuf text = TEXTBUF_NULL;
    int r = textbuf_open(&text);
    if (r < 0)
        return r;
    for (size_t i = 0; i < json_array_size(value); i++) {
        const json_t *line = json_array_get(value, i);
        if (!json_is_string(line))
            return fault_set(fault, "%s: line %zu: expected a string, got %s", where, i,
                             json_type_name(line));
        textbuf_add(&text, "\n", i > 0);
        textbuf_add_json(&text, line);
    }
    return textbuf_finish(&text, ret);
}

static int add(json_t *tests, json_t *take_test)
{
    return json_array_append_new(tests, take_test) < 0 ? -ENOMEM : 0;
}

/* Adds the test of input and output at PLACES. */
static int add_test(json_t *tests, const json_t *const values[2], char places[2][PLACE_MAX],
                    struct fault *fault)
{
    _cleanup_json_ json_t *in = NULL, *out = NULL;
    if (json_array_size(tests) == IOTESTS_MAX)
        return fault_set(fault, "%s: more than %d tests", places[0], IOTESTS_MAX);
    int r = take_text(values[0], places[0], &in, fault);
    if (r == 0)
        r = take_text(values[1], places[1], &out, fault);
    return r < 0 ? r : add(tests, json_pack("{s:O,s:O}", "input", in, "output", out));
}

int iotests_add(json_t *tests, const json_t *input, const json_t *output, const char *where,
                struct fault *fault)
{
    char places[2][PLACE_MAX];
    (void)snprintf(places[0], PLACE_MAX, "%s: input", where);
    (void)snprintf(places[1], PLACE_MAX, "%s: output", where);
    return add_test(tests, (const json_t *const[]){input, output}, places, fault);
}

/* Says which of the two arrays NAMES the GROUP at WHERE lacks, and what it has instead. */
static int name_lacking(const json_t *group, const char *const names[2], const char *where,
                        struct fault *fault)
{
    const char *name = names[json_is_array(json_object_get(group, names[0]))];
    const json_t *value = json_object_get(group, name);
    const char *near = value ? NULL : guess_member(group, name);
    if (near)
        return fault_set(fault, "%s.%s: it is missing; found \"%.40s\": did you mean %s?", where,
                         name, near, name);
    return fault_set(fault, "%s.%s: expected an array, got %s", where, name, json_type_name(value));
}

int iotests_add_all(json_t *tests, const json_t *group, const char *const names[2],
                    const char *where, struct fault *fault)
{
    const json_t *inputs = json_object_get(group, names[0]);
    const json_t *outputs = json_object_get(group, names[1]);
    if (!json_is_array(inputs) || !json_is_array(outputs))
        return name_lacking(group, names, where, fault);
    if (json_array_size(inputs) != json_array_size(outputs))
        return fault_set(fault, "%s: %zu inputs, but %zu outputs", where, json_array_size(inputs),
                         json_array_size(outputs));
    for (size_t i = 0; i < json_array_size(inputs); i++) {
        char places[2][PLACE_MAX];
        for (size_t j = 0; j < 2; j++)
            (void)snprintf(places[j], PLACE_MAX, "%s.%s[%zu]", where, names[j], i);
        int r = add_test(
            tests, (const json_t *const[]){json_array_get(inputs, i), json_array_get(outputs, i)},
            places, fault);
        if (r < 0)
            return r;
    }
    return 0;
}

static bool is_empty(const json_t *value)
{
    if (json_is_string(value))
        return json_string_length(value) == 0;
    return json_is_null(value) || json_is_false(value) ||
           (json_is_array(value) && json_array_size(value) == 0) ||
           (json_is_object(value) && json_object_size(value) == 0);
}

/* Says that the member NAME at WHERE would be passed over, and which of KNOWN it may be meant for.
 */
static int name_unknown(const json_t *object, const char *name, const char *const *known,
                        const char *where, struct fault *fault)
{
    char expected[PLACE_MAX] = "";
    for (size_t i = 0; known[i]; i++) {
        if (guess_is_near(name, known[i]) && !task_member(object, known[i]))
            return fault_set(fault, "%s.%.40s: it is not read; did you mean %s?", where, name,
                             known[i]);
        size_t used = strlen(expected);
        (void)snprintf(expected + used, sizeof(expected) - used, "%s%s",
                       i == 0         ? ""
                       : known[i + 1] ? ", "
                                      : " and ",
                       known[i]);
    }
    return fault_set(fault, "%s.%.40s: it has tests that would not be run: expected only %s", where,
                     name, expected);
}

int iotests_check_names(const json_t *object, const char *const *known, const char *where,
                        struct fault *fault)
{
    json_t *walked = (json_t *)(uintptr_t)object;
    for (void *i = json_object_iter(walked); i; i = json_object_iter_next(walked, i)) {
        const char *name = json_object_iter_key(i);
        size_t at = 0;
        while (known[at] && strcmp(known[at], name) != 0)
            at++;
        if (!known[at] && !is_empty(json_object_iter_value(i)))
            return name_unknown(object, name, known, where, fault);
    }
    return 0;
}

int iotests_add_call(json_t *tests, json_t *take_args, json_t *take_expected,
                     const json_t *alternative)
{
    return add(tests, json_pack("{s:o,s:o,s:O*}", "args", take_args, "expected", take_expected,
                                "alternative", alternative));
}

int iotests_give(struct task *task, json_t **tests, struct fault *fault)
{
    if (json_array_size(*tests) == 0)
        return fault_set(fault, "there is no test");
    task->tests = TAKE_PTR(*tests);
    return 0;
}

int iotests_take_language(struct task *task, const char *wanted, struct fault *fault)
{
    if (task->call && wanted && strcmp(langname_of(wanted), "python") != 0)
        return fault_set(fault,
                         "--language %.40s: the tests call the function %.40s, which is done in "
                         "Python only",
                         wanted, json_string_value(task->call));
    if (task->call)
        task->language = "python";
    return 0;
}
