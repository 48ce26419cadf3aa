/* SPDX-License-Identifier: MIT */
#include "line.h"

#include "proto/lenient.h"
#include "proto/request.h"

#include <math.h>
#include <string.h>

static const json_t *get(const json_t *object, const char *name)
{
    return json_object_get(object, name);
}

static const char *text_of(const json_t *object, const char *name)
{
    return json_string_value(get(object, name));
}

static bool is_text(const json_t *value, const char *text)
{
    return json_is_string(value) && strcmp(json_string_value(value), text) == 0;
}

bool line_uses(const char *name, size_t n)
{
    static const char *const used[] = {
        "code",       "compile", "id",     "isolation",     "kind",  "message", "mode",  "outcome",
        "passed",     "reason",  "result", "rubric_digest", "run",   "sample",  "score", "stdout",
        "task_class", "task_id", "tests",  "type",          "usage", "verdict"};
    return json_name_is_among(name, n, used, ARRAY_SIZE(used));
}

/* --- which case --------------------------------------------------------------------------- */

static int take_count(const json_t *object, const char *name, const char *path, uint32_t *ret,
                      struct fault *fault)
{
    const json_t *value = get(object, name);
    if (!value || json_is_null(value))
        return 0;
    json_int_t number = json_integer_value(value);
    if (!json_is_integer(value) || number < 0 || number >= UINT32_MAX)
        return fault_set(fault, "%s%s: expected a whole number from 0 on", path, name);
    *ret = (uint32_t)number;
    return 0;
}

static int take_id(const json_t *id, const char *path, struct line *line, struct fault *fault)
{
    if (json_is_integer(id)) {
        int n = snprintf(line->id_text, sizeof(line->id_text), "%" JSON_INTEGER_FORMAT,
                         json_integer_value(id));
        line->id = line->id_text;
        line->id_length = (size_t)n;
        return 0;
    }
    if (!json_is_string(id) || json_string_length(id) == 0)
        return fault_set(fault, "%s: expected a string, got %s", path,
                         json_is_string(id) ? "an empty one" : json_type_name(id));
    line->id = json_string_value(id);
    line->id_length = json_string_length(id);
    return 0;
}

static double cost_of(const json_t *answer)
{
    return json_number_value(get(get(answer, "score"), "cost_usd"));
}

/* Earlier attempts do not count, but they cost money. */
static void add_earlier(const json_t *run, struct line *line)
{
    const json_t *earlier = get(run, "earlier");
    for (size_t i = 0; i < json_array_size(earlier); i++)
        line->cost_of_earlier += cost_of(get(json_array_get(earlier, i), "answer"));
    line->attempts = MAX(line->attempts, (uint32_t)json_array_size(earlier) + 1);
}

/* A client that grades a case several times says in `run` which sample a line is of. */
static int decode_identity(const json_t *object, struct line *line, struct fault *fault)
{
    const json_t *run = get(object, "run");
    if (run && !json_is_object(run))
        return fault_set(fault, "run: expected an object, got %s", json_type_name(run));
    line->run = run;
    /* The line of a sample has its number in itself: its `run` counts samples of one job. */
    bool is_answer = get(object, "type") != NULL, in_run = is_answer && get(run, "sample");
    int r;
    if (!is_answer)
        r = take_id(get(object, "task_id"), "task_id", line, fault);
    else if (get(run, "case_id"))
        r = take_id(get(run, "case_id"), "run.case_id", line, fault);
    else
        r = take_id(get(object, "id"), "id", line, fault);
    if (r == 0)
        r = take_count(run, "attempts", "run.", &line->attempts, fault);
    if (r == 0)
        r = take_count(in_run ? run : object, "sample", in_run ? "run." : "", &line->sample, fault);
    add_earlier(run, line);
    line->first = is_answer && line->sample <= 1;
    line->is_unnumbered = !is_answer && !get(object, "sample");
    return r;
}

/* --- its verdict -------------------------------------------------------------------------- */

/* Takes a number from 0 to HIGH. Leaves *RET alone if there is none or it is null. */
static int take_number(const json_t *object, const char *name, const char *path, double high,
                       double *ret, struct fault *fault)
{
    const json_t *value = get(object, name);
    if (!value || json_is_null(value))
        return 0;
    double number = json_number_value(value);
    if (!json_is_number(value))
        return fault_set(fault, "%s%s: expected a number, got %s", path, name,
                         json_type_name(value));
    if (!(number >= 0 && number <= high))
        return fault_set(fault, "%s%s: %g is out of range", path, name, number);
    *ret = number;
    return 0;
}

static int check_modes(const json_t *modes, struct fault *fault)
{
    if (modes && !json_is_array(modes))
        return fault_set(fault, "score.failure_modes: expected an array");
    for (size_t i = 0; i < json_array_size(modes); i++)
        if (!json_is_string(get(json_array_get(modes, i), "code")))
            return fault_set(fault, "score.failure_modes[%zu].code: expected a string", i);
    return 0;
}

static uint32_t milliseconds(const json_t *value)
{
    json_int_t ms = json_integer_value(value);
    return json_is_integer(value) && ms >= 0 ? (uint32_t)MIN(ms, (json_int_t)LINE_MS_UNKNOWN - 1)
                                             : LINE_MS_UNKNOWN;
}

/* The BenchScore of a `result`. */
static int decode_score(const json_t *object, struct line *line, struct fault *fault)
{
    const json_t *score = get(object, "score");
    line->state = LINE_FAILED;
    line->reason = text_of(object, "reason");
    if (json_is_null(score) && line->reason)
        return 0;
    if (!json_is_object(score))
        return fault_set(fault, "score: expected an object, got %s", json_type_name(score));
    if (!json_is_boolean(get(score, "passed")))
        return fault_set(fault, "score.passed: expected a boolean, got %s",
                         json_type_name(get(score, "passed")));
    line->state = json_is_true(get(score, "passed")) ? LINE_PASSED : LINE_FAILED;
    line->failure_modes = get(score, "failure_modes");
    line->outcome = get(object, "outcome");
    line->std_out = get(object, "stdout");
    line->compile = get(object, "compile");
    line->tests = get(object, "tests");
    int r = take_number(score, "score", "score.", 1, &line->score, fault);
    if (r == 0)
        r = take_number(score, "cost_usd", "score.", INFINITY, &line->cost_usd, fault);
    return r < 0 ? r : check_modes(line->failure_modes, fault);
}

/* Usage and isolation are in the answer; for a sample, the client puts them into `run`. */
static void decode_circumstances(const json_t *object, struct line *line)
{
    const json_t *from = get(object, "type") ? object : line->run;
    const json_t *usage = get(from, "usage");
    line->wall_ms = milliseconds(get(usage, "wall_clock_ms"));
    line->queue_ms = milliseconds(get(usage, "queue_ms"));
    if (json_is_object(get(from, "isolation")))
        line->isolation = get(from, "isolation");
    line->shared = is_text(get(from, "mode"), "shared");
    line->rubric_digest = text_of(object, "rubric_digest");
    if (!line->rubric_digest)
        line->rubric_digest = text_of(line->run, "rubric_digest");
    const char *task_class = text_of(object, "task_class");
    if (!task_class)
        task_class = text_of(line->run, "task_class");
    if (!task_class)
        task_class = text_of(object, "kind");
    if (!task_class)
        task_class = text_of(line->run, "kind");
    line->task_class = task_class || get(object, "type") ? task_class : "code_exec";
}

/* Returns the DETAIL of "WHAT: DETAIL", as samples have it, or NULL. */
static const char *behind_colon(const char *words)
{
    const char *colon = words ? strstr(words, ": ") : NULL;
    return colon ? colon + 2 : NULL;
}

/* `passed` is true, false, or null for a sample without a verdict. */
static int decode_sample(const json_t *object, struct line *line, struct fault *fault)
{
    const json_t *passed = get(object, "passed");
    const char *words = text_of(object, "result");
    line->detail = behind_colon(words);
    if (json_is_null(passed)) {
        line->state = LINE_ERROR;
        line->code = "not graded";
        line->message = line->detail;
        return 0;
    }
    if (!json_is_boolean(passed))
        return fault_set(fault, "passed: expected a boolean, got %s", json_type_name(passed));
    line->state = json_is_true(passed) ? LINE_PASSED : LINE_FAILED;
    line->score = json_is_true(passed) ? 1 : 0;
    if (line->state == LINE_FAILED) {
        line->reason = text_of(object, "verdict");
        if (!line->reason)
            line->reason = words ? words : "failed";
    }
    return take_number(object, "score", "", 1, &line->score, fault);
}

static int decode_verdict(const json_t *object, struct line *line, struct fault *fault)
{
    const json_t *type = get(object, "type");
    if (is_text(type, "result"))
        return decode_score(object, line, fault);
    if (is_text(type, "error")) {
        line->state = LINE_ERROR;
        line->code = text_of(object, "code");
        line->message = text_of(object, "message");
        return line->code ? 0 : fault_set(fault, "code: expected a string");
    }
    return decode_sample(object, line, fault);
}

int line_decode(const json_t *object, struct line *ret, struct fault *fault)
{
    const json_t *type = get(object, "type");
    *ret = (struct line){.state = LINE_NOTE, .score = NAN};
    ret->wall_ms = ret->queue_ms = LINE_MS_UNKNOWN;
    bool is_answer = is_text(type, "result") || is_text(type, "error");
    if (type && !is_answer) {
        if (!json_is_string(type))
            return fault_set(fault, "type: expected a string, got %s", json_type_name(type));
        ret->run = object;
        return 0;
    }
    if (!is_answer && !get(object, "passed"))
        return fault_set(fault, "not a result: it has neither `type` nor `passed`");
    int r = decode_verdict(object, ret, fault);
    if (r == 0)
        r = decode_identity(object, ret, fault);
    if (r == 0)
        decode_circumstances(object, ret);
    return r;
}
