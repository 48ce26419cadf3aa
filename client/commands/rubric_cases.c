/* SPDX-License-Identifier: MIT */
#include "rubric_cases.h"
#include "rubric_fields.h"

#include "client/batch/input.h"
#include "client/batch/jobline.h"
#include "client/grade/guess.h"
#include "client/terminal/text.h"

#include <inttypes.h>
#include <linux/limits.h>
#include <string.h>

/* No daemon accepts a larger job. */
#define LINE_BYTES_MAX ((size_t)64 << 20)

struct reading {
    const struct rubric_classes *classes;
    struct input input;
    json_t *cases;
    json_t *ids;      /* of the cases so far, as keys */
    json_t *expected; /* by id: what the line holds, and `place` */
    uint64_t bad;
};

static void complain_line(struct reading *reading, const char *what)
{
    complain("%s:%" PRIu64 ": %s", reading->input.name, reading->input.line_no, what);
    reading->bad++;
}

/* Returns the id of a line, or NULL after a complaint. */
static const char *id_of(struct reading *reading, const json_t *line)
{
    const char *id = json_string_value(json_object_get(line, "id"));
    if (!id || !*id)
        complain_line(reading, "id: expected a string that is not empty");
    return id && *id ? id : NULL;
}

/* --- expected.jsonl ----------------------------------------------------------------------- */

/* Whether LINE says which verdict is expected, and nothing that would not be compared. */
static bool is_verdict(const json_t *line, struct fault *fault)
{
    enum { ID, PASSED, SCORE, FAILURE_MODES, FIELDS };
    static const struct field table[FIELDS] = {
        [ID] = {"id", FIELD_TEXT, FIELD_REQUIRED},
        [PASSED] = {"passed", FIELD_BOOLEAN, FIELD_REQUIRED},
        [SCORE] = {"score", FIELD_NUMBER, FIELD_OPTIONAL},
        [FAILURE_MODES] = {"failure_modes", FIELD_ARRAY, FIELD_OPTIONAL},
    };
    const json_t *values[FIELDS];
    if (!json_is_boolean(json_object_get(line, "passed"))) {
        const char *near = json_object_get(line, "passed") ? NULL : guess_member(line, "passed");
        (void)fault_set(fault, "passed: expected true or false%s%.40s%s", near ? "; found \"" : "",
                        near ? near : "", near ? "\": did you mean passed?" : "");
        return false;
    }
    if (rubric_fields_decode(line, table, FIELDS, values, fault) < 0)
        return false;
    for (size_t i = 0; i < json_array_size(values[FAILURE_MODES]); i++) {
        if (!json_is_string(json_array_get(values[FAILURE_MODES], i))) {
            (void)fault_set(fault, "failure_modes: expected an array of strings");
            return false;
        }
    }
    return true;
}

static int take_expected(struct reading *reading, json_t *line)
{
    struct fault place;
    const char *id = id_of(reading, line);
    if (!id)
        return 0;
    if (!is_verdict(line, &place)) {
        complain_line(reading, place.text);
        return 0;
    }
    if (json_object_get(reading->expected, id)) {
        complain_line(reading, "this id has a verdict in an earlier line");
        return 0;
    }
    (void)fault_set(&place, "%s:%" PRIu64, reading->input.name, reading->input.line_no);
    if (json_object_set_new(line, "place", json_string(place.text)) < 0)
        return -ENOMEM;
    return json_object_set(reading->expected, id, line) < 0 ? -ENOMEM : 0;
}

/* --- cases.jsonl -------------------------------------------------------------------------- */

/* Whether a line is a case of the task classes; complains if it should be. */
static bool is_ours(struct reading *reading, const json_t *line)
{
    const char *name = json_string_value(json_object_get(line, "task_class"));
    const char *kind = json_string_value(json_object_get(line, "kind"));
    struct fault what;
    if (name && json_object_get(reading->classes->names, name)) {
        if (kind && strcmp(kind, "rubric") == 0)
            return true;
        complain_line(reading, "kind: expected \"rubric\"");
        return false;
    }
    if (reading->classes->has_others && name)
        return false;
    void *first = json_object_iter(reading->classes->names);
    (void)fault_set(&what, "task_class: expected \"%.100s\", got %s%.100s%s",
                    json_object_iter_key(first), name ? "\"" : "", name ? name : "nothing",
                    name ? "\"" : "");
    complain_line(reading, what.text);
    return false;
}

static int take_case(struct reading *reading, json_t *line)
{
    struct fault place;
    if (!is_ours(reading, line))
        return 0;
    const char *id = id_of(reading, line);
    if (!id)
        return 0;
    if (json_object_get(reading->ids, id)) {
        complain_line(reading, "this id is that of an earlier line");
        return 0;
    }
    if (json_array_size(reading->cases) >= RUBRIC_CASES_MAX) {
        complain_line(reading, "more cases than a file may have");
        return -EFBIG;
    }
    (void)fault_set(&place, "%s:%" PRIu64, reading->input.name, reading->input.line_no);
    json_t *made = json_pack("{s:s,s:s,s:O}", "place", place.text, "id", id, "job", line);
    json_t *expected = json_object_get(reading->expected, id);
    if (made && expected && json_object_set(made, "expected", expected) < 0)
        return json_decref(made), -ENOMEM;
    (void)json_object_del(reading->expected, id);
    if (json_object_set_new(reading->ids, id, json_true()) < 0)
        return json_decref(made), -ENOMEM;
    return json_array_append_new(reading->cases, made) < 0 ? -ENOMEM : 0;
}

/* --- files -------------------------------------------------------------------------------- */

static int take_text(struct reading *reading, const char *text, size_t n,
                     int (*take)(struct reading *reading, json_t *line))
{
    _cleanup_json_ json_t *line = NULL;
    struct fault fault = FAULT_NULL;
    if (jobline_blank(text, n))
        return 0;
    int r = jobline_read_object(text, n, jobline_is_used, &line, &fault);
    if (r == -ENOMEM)
        return r;
    if (r < 0) {
        complain_line(reading, fault.text);
        return 0;
    }
    return take(reading, line);
}

static int read_lines(struct reading *reading, const char *path,
                      int (*take)(struct reading *reading, json_t *line))
{
    const char *const files[] = {path};
    int r = input_init(&reading->input, files, 1, LINE_BYTES_MAX);
    while (r == 0) {
        const char *text;
        size_t n;
        struct fault fault = FAULT_NULL;
        enum input_state state = input_next_blocking(&reading->input, &text, &n, &fault);
        if (state == INPUT_END)
            break;
        if (state == INPUT_LINE) {
            r = take_text(reading, text, n, take);
        } else {
            complain("%s", fault.text);
            reading->bad++;
        }
    }
    input_deinit(&reading->input);
    return r;
}

/* Verdicts of task classes that are left out belong to cases that are left out, too. */
static void complain_unused(struct reading *reading)
{
    const char *id;
    json_t *line;
    json_object_foreach(reading->expected, id, line)
    {
        if (reading->classes->has_others)
            return;
        complain("%s: no case has the id \"%s\"", json_string_value(json_object_get(line, "place")),
                 id);
        reading->bad++;
    }
}

int rubric_cases_load(const struct rubric_classes *classes, json_t **ret, uint64_t *ret_bad)
{
    char cases[PATH_MAX], expected[PATH_MAX];
    (void)snprintf(cases, sizeof(cases), "%s/cases.jsonl", classes->folder);
    (void)snprintf(expected, sizeof(expected), "%s/expected.jsonl", classes->folder);
    if (access(cases, F_OK) < 0)
        return -errno;
    _cleanup_json_ json_t *list = json_array(), *verdicts = json_object(), *ids = json_object();
    struct reading reading = {
        .classes = classes, .input = INPUT_NULL, .cases = list, .ids = ids, .expected = verdicts};
    int r = !list || !verdicts || !ids ? -ENOMEM : 0;
    if (r == 0 && access(expected, F_OK) == 0)
        r = read_lines(&reading, expected, take_expected);
    if (r == 0)
        r = read_lines(&reading, cases, take_case);
    if (r < 0) {
        complain("%s: %s", cases, strerror(-r));
        return r == -ENOENT ? -EIO : r;
    }
    complain_unused(&reading);
    *ret_bad += reading.bad;
    *ret = TAKE_PTR(list);
    return 0;
}
