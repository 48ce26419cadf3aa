/* SPDX-License-Identifier: MIT */
#include "code_exec_report.h"

#include "proto/fault.h"
#include "proto/json.h"
#include "proto/utf8.h"

#include <stdio.h>
#include <string.h>

static const char *const verdicts[] = {"pass",    "assertion_fail", "syntax_error",
                                       "timeout", "error",          "diverged"};

void code_exec_report_deinit(struct code_exec_report *report)
{
    json_decref(report->assertions);
    json_decref(report->transcript);
    free(report->broken);
    *report = (struct code_exec_report)CODE_EXEC_REPORT_NULL;
}

/* The report as read so far. Its strings are borrowed from `last`. */
struct state {
    bool is_program; /* there is a program of tests in place of assertions */
    json_t *assertions;
    json_t *transcript; /* NULL: none was told */
    size_t passed;
    json_t *last; /* the line that ends the report; NULL: not read yet */
    const char *verdict, *detail, *broken;
    const char *lacking, *lacking_by; /* a module, and who imports it */
    const char *refused;              /* the place of a text that cannot be used */
    bool malformed;
};

/* Makes an assertion's entry, with its detail cut to REPLY_ASSERTION_DETAIL_MAX bytes. */
static json_t *entry(bool passed, const json_t *detail)
{
    json_t *entry = json_pack("{s:b}", "passed", passed);
    const char *text = json_string_value(detail);
    if (!text || !entry)
        return entry;
    size_t length = utf8_cut(text, json_string_length(detail), REPLY_ASSERTION_DETAIL_MAX);
    if (json_object_set_new(entry, "detail", json_stringn_nocheck(text, length)) < 0) {
        json_decref(entry);
        return NULL;
    }
    return entry;
}

/* Takes back that an assertion passed. Never makes a failed one pass. */
static int revise(struct state *state, const json_t *number, const json_t *detail)
{
    json_int_t i = json_integer_value(number);
    size_t count = json_array_size(state->assertions);
    if (i < 0 || (size_t)i >= count ||
        !json_is_true(json_object_get(json_array_get(state->assertions, (size_t)i), "passed"))) {
        state->malformed = true;
        return 0;
    }
    state->passed--;
    json_t *failed = entry(false, detail);
    return failed && json_array_set_new(state->assertions, (size_t)i, failed) == 0 ? 0 : -ENOMEM;
}

/* Takes a transcript, or why there is none. Returns 1 if LINE is no such line. */
static int take_transcript(struct state *state, const json_t *line)
{
    json_t *data = json_object_get(line, "transcript"),
           *why = json_object_get(line, "unreplayable");
    if (!json_is_string(data) && !json_is_string(why))
        return 1;
    json_decref(state->transcript);
    state->transcript = json_is_string(data)
                            ? json_pack("{s:b,s:O}", "replayable", 1, "data", data)
                            : json_pack("{s:b,s:O}", "replayable", 0, "reason", why);
    return state->transcript ? 0 : -ENOMEM;
}

static int take_line(struct state *state, json_t *line, size_t total)
{
    int r = take_transcript(state, line);
    if (r <= 0)
        return r;
    const json_t *revised = json_object_get(line, "revised");
    if (json_is_integer(revised))
        return revise(state, revised, json_object_get(line, "detail"));
    const json_t *passed = json_object_get(line, "passed");
    if (json_is_boolean(passed)) {
        state->malformed |= json_array_size(state->assertions) >= total;
        if (state->malformed)
            return 0;
        state->passed += json_is_true(passed);
        return json_array_append_new(state->assertions,
                                     entry(json_is_true(passed), json_object_get(line, "detail")))
                   ? -ENOMEM
                   : 0;
    }
    const json_t *verdict = json_object_get(line, "verdict");
    for (size_t i = 0; json_is_string(verdict) && i < ARRAY_SIZE(verdicts); i++)
        if (json_string_length(verdict) == strlen(verdicts[i]) &&
            strcmp(json_string_value(verdict), verdicts[i]) == 0)
            state->verdict = verdicts[i];
    state->detail = json_string_value(json_object_get(line, "detail"));
    state->broken = json_string_value(json_object_get(line, "broken"));
    state->lacking = json_string_value(json_object_get(line, "lacking"));
    state->lacking_by = json_string_value(json_object_get(line, "by"));
    state->refused = json_string_value(json_object_get(line, "refused"));
    state->malformed |= !state->verdict && !state->broken && !state->lacking && !state->refused;
    state->last = json_incref(line);
    return 0;
}

/* Reads the report line by line. Drops a last line without a newline, which the end of the job cut
 * off; a checker that ended well leaves none. */
static int read_lines(const struct bytes *out, size_t total, struct state *state)
{
    const char *at = out->data, *end = at ? at + out->length : at, *newline;
    for (; at < end && (newline = memchr(at, '\n', (size_t)(end - at))); at = newline + 1) {
        _cleanup_json_ json_t *line = NULL;
        struct fault fault = FAULT_NULL;
        int r = json_read_object(at, (size_t)(newline - at), &line, &fault);
        if (r == -ENOMEM)
            return r;
        /* The verdict is the last line. */
        if (r < 0 || state->last) {
            state->malformed = true;
            return 0;
        }
        r = take_line(state, line, total);
        if (r < 0)
            return r;
    }
    state->malformed |= at < end;
    return 0;
}

static bool is_verdict(const char *verdict, const char *wanted)
{
    return verdict && strcmp(verdict, wanted) == 0;
}

/* Decides the verdict. Trusts the kernel and the supervisor more than the checker. */
static const char *decide(const struct state *state, size_t total, const struct outcome *outcome,
                          const char **ret_detail)
{
    if (outcome->limit == LIMIT_WALL_CLOCK) {
        *ret_detail = "limit exceeded: wall_clock";
        return "timeout";
    }
    *ret_detail = outcome->limit == LIMIT_OUTPUT ? "limit exceeded: output" : outcome->summary;
    if (!outcome->success)
        return "error";
    *ret_detail = "the checker's report cannot be read";
    if (state->malformed || !state->verdict)
        return "error";
    bool all = state->passed == total && json_array_size(state->assertions) == total;
    if (is_verdict(state->verdict, "pass") != all && !is_verdict(state->verdict, "diverged"))
        return "error";
    *ret_detail = state->detail;
    return state->verdict;
}

/* Returns the first detail of ASSERTIONS, or NULL. */
static const char *first_detail(const json_t *assertions)
{
    const char *detail = NULL;
    for (size_t i = 0; i < json_array_size(assertions) && !detail; i++)
        detail = json_string_value(json_object_get(json_array_get(assertions, i), "detail"));
    return detail;
}

/* Writes why the first failed assertion did not pass, and how many passed. The reason comes first:
 * who shows one line of it shows what matters. Of a single assertion that failed the count says
 * nothing more. */
static void describe_assertions(const struct state *state, size_t total, char *out, size_t size)
{
    const char *why = first_detail(state->assertions);
    if (why && total == 1)
        (void)snprintf(out, size, "%s", why);
    else if (why)
        (void)snprintf(out, size, "%s (%zu of %zu assertions passed)", why, state->passed, total);
    else
        (void)snprintf(out, size, "%zu of %zu assertions passed%s", state->passed, total,
                       state->is_program ? " (a test program counts as one)" : "");
}

static int make_score(const char *verdict, const char *detail, const struct state *state,
                      size_t total, struct bench_score *ret)
{
    char code[48], counted[80 + REPLY_ASSERTION_DETAIL_MAX];
    if (is_verdict(verdict, "pass"))
        return bench_score_pass(ret);
    if (!detail || !*detail) {
        describe_assertions(state, total, counted, sizeof(counted));
        detail = counted;
    }
    (void)snprintf(code, sizeof(code), "code_exec.%s", verdict);
    int r = bench_score_block(code, detail, strlen(detail), ret);
    /* A job that ended badly after its last assertion gets no full score either. */
    bool counts = is_verdict(verdict, "assertion_fail") ||
                  (is_verdict(verdict, "error") && state->passed < total);
    if (r == 0 && counts)
        ret->score = (double)state->passed / (double)total;
    return r;
}

/* Says in REPORT why there is no verdict, if there is none. */
static int tell_broken(const struct state *state, struct code_exec_report *report)
{
    if (state->broken) {
        report->broken_code = ERROR_SANDBOX_FAILED;
        report->broken = strdup(state->broken);
        return report->broken ? 0 : -ENOMEM;
    }
    if (state->refused) {
        report->broken_code = ERROR_BAD_REQUEST;
        if (asprintf(&report->broken, "%.60s: %.800s", state->refused,
                     state->detail ? state->detail : "it cannot be used") >= 0)
            return 0;
        report->broken = NULL; /* undefined after a failure */
        return -ENOMEM;
    }
    if (!state->lacking)
        return 0;
    const char *by = state->lacking_by ? state->lacking_by : "tests";
    report->broken_code = ERROR_MODULE_NOT_FOUND;
    if (asprintf(
            &report->broken,
            "the job's %.20s import%s the module %.120s, which the Python of this host does not "
            "have",
            by, strcmp(by, "prelude") == 0 ? "s" : "", state->lacking) < 0) {
        report->broken = NULL; /* undefined after a failure */
        return -ENOMEM;
    }
    return 0;
}

int code_exec_report_judge(const struct bytes *out, size_t targets, const struct outcome *outcome,
                           struct code_exec_report *ret, struct bench_score *ret_score)
{
    struct state state = {.assertions = json_array(), .is_program = targets == 0};
    const size_t total = MAX(targets, (size_t)1);
    struct code_exec_report report = CODE_EXEC_REPORT_NULL;
    int r = state.assertions ? read_lines(out, total, &state) : -ENOMEM;
    if (r == 0)
        r = tell_broken(&state, &report);
    if (r == 0 && !report.broken) {
        const char *detail;
        report.verdict = decide(&state, total, outcome, &detail);
        r = make_score(report.verdict, detail, &state, total, ret_score);
    }
    report.assertions = state.assertions;
    report.transcript = state.transcript;
    json_decref(state.last);
    if (r < 0)
        code_exec_report_deinit(&report);
    else
        *ret = report;
    return r;
}
