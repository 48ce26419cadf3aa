/* SPDX-License-Identifier: MIT */
#include "rubric_verdict.h"

#include "client/report/evidence.h"
#include "client/terminal/text.h"

#include <math.h>
#include <string.h>

/* Of what a rubric wrote to standard error. */
#define STDERR_LINES 30
#define STDERR_LINES_BRIEF 7 /* of a traceback: two calls, and the exception */
#define STDERR_BYTES 4000
/* Scores that differ by less are the same: files of expected verdicts round them. */
#define SCORE_TOLERANCE 1e-6

static const char *text_of(const json_t *object, const char *name)
{
    return json_string_value(json_object_get(object, name));
}

/* Writes "a.b, c" of an array of strings, or of failure modes, into OUT; "none" if it is empty. */
static void list_codes(const json_t *codes, char *out, size_t size)
{
    size_t used = 0;
    (void)snprintf(out, size, "none");
    for (size_t i = 0; i < json_array_size(codes) && used < size; i++) {
        const json_t *item = json_array_get(codes, i);
        const char *code = json_is_string(item) ? json_string_value(item) : text_of(item, "code");
        used += (size_t)snprintf(out + used, size - used, "%s%.200s", i > 0 ? ", " : "",
                                 code ? code : "?");
    }
}

static bool has_codes(const json_t *modes, const json_t *expected)
{
    if (!expected)
        return true;
    bool same = json_array_size(modes) == json_array_size(expected);
    for (size_t i = 0; same && i < json_array_size(modes); i++) {
        const char *code = text_of(json_array_get(modes, i), "code"),
                   *wanted = json_string_value(json_array_get(expected, i));
        same = code && wanted && strcmp(code, wanted) == 0;
    }
    return same;
}

static bool is_expected(const struct score_parts *parts, const json_t *expected)
{
    const json_t *score = json_object_get(expected, "score");
    if (!expected || parts->passed != json_is_true(json_object_get(expected, "passed")))
        return false;
    if (json_is_number(score) &&
        !(fabs(parts->score - json_number_value(score)) <= SCORE_TOLERANCE))
        return false;
    return has_codes(parts->failure_modes, json_object_get(expected, "failure_modes"));
}

/* Returns the failure mode by which the daemon says that it could not take the rubric's answer. */
static const json_t *find_refusal(const struct score_parts *parts)
{
    static const char *const codes[] = {"rubric.malformed_output", "rubric.timeout",
                                        "rubric.unknown_breakdown_key",
                                        "rubric.unknown_failure_mode"};
    const json_t *mode = json_array_get(parts->failure_modes, 0);
    const char *code = text_of(mode, "code");
    for (size_t i = 0; code && i < ARRAY_SIZE(codes); i++)
        if (strcmp(code, codes[i]) == 0)
            return mode;
    return NULL;
}

/* Whether LAST is of the same text; otherwise makes it that of the case ID. */
static bool is_repeated(struct rubric_failure *last, const char *text, size_t n, const char *id)
{
    if (last->id && last->text.length == n && memcmp(last->text.data, text, n) == 0) {
        last->repeated++;
        return true;
    }
    free(last->id);
    last->id = NULL;
    bytes_deinit(&last->text);
    if (bytes_copy(text, n, &last->text) == 0)
        last->id = strdup(id ? id : "?");
    return false;
}

static void complain_lines(const char *text, size_t n)
{
    for (const char *end = text + n; text < end; text++) {
        size_t length = MIN(strcspn(text, "\n"), (size_t)(end - text));
        complain("    %.*s", (int)length, text);
        text += length;
    }
}

/* Whether ERR, which is shown, begins with all of DETAIL: the daemon has it from there. */
static bool is_start_of(const char *detail, const char *err)
{
    return detail && err && *detail && strncmp(detail, err, strlen(detail)) == 0;
}

static double seconds_taken(const struct message *answer)
{
    const json_t *usage = json_object_get(answer->object, "usage");
    return json_number_value(json_object_get(usage, "wall_clock_ms")) / 1000;
}

static void complain_refusal(const json_t *one, const json_t *mode, const struct message *answer)
{
    const char *code = text_of(mode, "code"), *detail = text_of(mode, "detail"),
               *place = text_of(one, "place"), *id = text_of(one, "id");
    const char *err = text_of(json_object_get(answer->object, "outcome"), "stderr");
    if (strcmp(code, "rubric.timeout") == 0)
        complain("%s: %s: the rubric ran out of time, after %.1f s", place, id,
                 seconds_taken(answer));
    else if (strcmp(code, "rubric.unknown_breakdown_key") == 0)
        complain("%s: %s: task_class.json does not list the breakdown key \"%s\"", place, id,
                 detail ? detail : "");
    else if (strcmp(code, "rubric.unknown_failure_mode") == 0)
        complain("%s: %s: task_class.json does not list the failure mode \"%s\"", place, id,
                 detail ? detail : "");
    else if (evidence_replaces(detail, err))
        complain("%s: %s: the rubric crashed:", place, id);
    else if (is_start_of(detail, err))
        complain("%s: %s: the rubric failed:", place, id);
    else if (!json_is_true(json_object_get(json_object_get(answer->object, "outcome"), "success")))
        complain("%s: %s: the rubric failed: %s", place, id, detail ? detail : "?");
    else
        complain("%s: %s: what the rubric printed is no score: %s", place, id,
                 detail ? detail : "?");
}

/* Notes why the case ONE failed: the N bytes at TAIL that its rubric wrote, or else what MODE says.
 * Returns whether the last one failed in the same way. */
static bool note_failure(const json_t *one, const json_t *mode, const char *tail, size_t n,
                         struct rubric_failure *last)
{
    char words[512];
    const char *detail = text_of(mode, "detail"), *id = text_of(one, "id");
    if (n > 0)
        return is_repeated(last, tail, n, id);
    (void)snprintf(words, sizeof(words), "%s: %s", text_of(mode, "code"), detail ? detail : "");
    return is_repeated(last, words, strlen(words), id);
}

/* Says that the rubric failed, and shows the end of what it wrote to stderr. */
static void complain_failure(const json_t *one, const json_t *mode, const struct message *answer,
                             struct rubric_failure *last, bool verbose)
{
    const json_t *err = json_object_get(json_object_get(answer->object, "outcome"), "stderr");
    const char *text = json_string_value(err);
    size_t n, length = json_string_length(err);
    const char *tail = text_tail(text, length, STDERR_LINES, STDERR_BYTES, &n);
    bool repeated = note_failure(one, mode, tail, n, last);
    if (repeated && !verbose)
        return;
    complain_refusal(one, mode, answer);
    if (repeated) {
        if (n > 0)
            complain("    as for %s", last->id);
        return;
    }
    if (!verbose)
        tail = text_tail(text, length, STDERR_LINES_BRIEF, STDERR_BYTES, &n);
    complain_lines(tail, n);
}

/* Says what EXPECTED gives; the rest is not compared. */
static void complain_expected(const json_t *expected)
{
    char codes[512], score[32] = "";
    const json_t *wanted = json_object_get(expected, "score"),
                 *modes = json_object_get(expected, "failure_modes");
    list_codes(modes, codes, sizeof(codes));
    if (wanted)
        (void)snprintf(score, sizeof(score), ", score %.6g", json_number_value(wanted));
    complain("    expected  %s%s%s%s",
             json_is_true(json_object_get(expected, "passed")) ? "passed" : "failed", score,
             modes ? ", failure modes: " : "", modes ? codes : "");
}

static void complain_other(const json_t *one, const struct score_parts *parts)
{
    char got[512];
    const json_t *expected = json_object_get(one, "expected");
    list_codes(parts->failure_modes, got, sizeof(got));
    complain("%s: %s: not as %s expects", text_of(one, "place"), text_of(one, "id"),
             text_of(expected, "place"));
    complain_expected(expected);
    complain("    got       %s, score %.6g, failure modes: %s", parts->passed ? "passed" : "failed",
             parts->score, got);
}

void rubric_failure_deinit(struct rubric_failure *last)
{
    bytes_deinit(&last->text);
    free(last->id);
    *last = (struct rubric_failure){.id = NULL};
}

bool rubric_verdict_is_good(const json_t *one, const struct message *answer,
                            struct rubric_failure *last, bool verbose)
{
    struct score_parts parts = message_score(answer);
    if (is_expected(&parts, json_object_get(one, "expected")))
        return true;
    const json_t *refusal = find_refusal(&parts);
    if (refusal)
        complain_failure(one, refusal, answer, last, verbose);
    else if (json_object_get(one, "expected"))
        complain_other(one, &parts);
    return !refusal && !json_object_get(one, "expected");
}
