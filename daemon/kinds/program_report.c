/* SPDX-License-Identifier: MIT */
#include "outcome.h"
#include "program.h"

#include "proto/utf8.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Most bytes of an excerpt in the one line that says why a job did not pass. */
#define SHOWN_BYTES 60
#define DETAIL_MAX 512

/* The program of the task that said something: a member of results, and for people. */
static const char *helper_name(const struct program_run *run)
{
    return run->interacts ? "interactor" : "checker";
}

/* --- members ------------------------------------------------------------------------------ */

/* Sets a member of OBJECT and takes VALUE; NULL is memory that ran out. */
static bool put(json_t *object, const char *name, json_t *take_value)
{
    return json_object_set_new_nocheck(object, name, take_value) == 0;
}

static bool put_text(json_t *object, const char *name, const struct bytes *text)
{
    return text->length == 0 || put(object, name, json_stringn_nocheck(text->data, text->length));
}

static json_t *usage_json(const struct usage *usage)
{
    json_t *object =
        json_pack("{s:I,s:I,s:I}", "wall_clock_ms", (json_int_t)usage->wall_clock_ms, "cpu_ms",
                  (json_int_t)usage->cpu_ms, "max_rss_bytes", (json_int_t)usage->max_rss_bytes);
    bool is_known = usage->cpu_wait_ms >= 0;
    json_t *wait = is_known ? json_integer((json_int_t)usage->cpu_wait_ms) : json_null();
    if (object && put(object, "cpu_wait_ms", wait))
        return object;
    json_decref(object);
    return NULL;
}

static bool put_end(json_t *object, const struct program_result *result)
{
    const char *limit = limit_name(result->limit);
    return (result->exit_code < 0 || put(object, "exit_code", json_integer(result->exit_code))) &&
           (result->signal == 0 || put(object, "signal", json_integer(result->signal))) &&
           (!limit || put(object, "limit_exceeded", json_string(limit))) &&
           put(object, "usage", usage_json(&result->usage));
}

static json_t *difference_json(const struct difference *difference)
{
    _cleanup_json_ json_t *object = json_pack("{s:s}", "why", difference->why);
    if (!object ||
        (difference->line > 0 &&
         !put(object, "line", json_integer((json_int_t)difference->line))) ||
        (difference->got.data &&
         !put(object, "got", json_stringn_nocheck(difference->got.data, difference->got.length))) ||
        (difference->expected.data &&
         !put(object, "expected",
              json_stringn_nocheck(difference->expected.data, difference->expected.length))))
        return NULL;
    return TAKE_PTR(object);
}

/* --- results ------------------------------------------------------------------------------ */

/* HELPER: "checker" or "interactor". */
static json_t *test_json(const struct program_result *result, const char *helper, const char *name)
{
    _cleanup_json_ json_t *object =
        json_pack("{s:s}", "verdict", program_verdict_name(result->verdict));
    if (!object || (name && !put(object, "name", json_string(name))) || !put_end(object, result) ||
        (result->has_difference &&
         !put(object, "difference", difference_json(&result->difference))) ||
        !put_text(object, "stderr", &result->text) || !put_text(object, helper, &result->note) ||
        (result->has_points && !put(object, "points", json_real(result->points))))
        return NULL;
    return TAKE_PTR(object);
}

json_t *program_tests_json(const struct program_run *run, const struct job_spec *spec)
{
    _cleanup_json_ json_t *array = json_array();
    const struct program_test *test = spec->program.tests->test;
    for (size_t i = 0; i < run->judged; i++)
        if (json_array_append_new(array,
                                  test_json(&run->results[i], helper_name(run), test[i].name)) < 0)
            return NULL;
    return TAKE_PTR(array);
}

json_t *program_compile_json(const struct program_run *run)
{
    const struct program_result *compiled = &run->compiled;
    const char *words = compiled->text.data ? compiled->text.data : "";
    _cleanup_json_ json_t *object = json_object();
    if (!object || !put_end(object, compiled) ||
        !put(object, "output", json_stringn_nocheck(words, compiled->text.length)))
        return NULL;
    return TAKE_PTR(object);
}

json_t *program_language_json(const struct program_run *run)
{
    const struct language *language = run->program.language;
    const char *version, *digest = languages_digest(run->languages, language);
    (void)languages_has(run->languages, language, &version, NULL);
    _cleanup_json_ json_t *object = json_pack("{s:s}", "name", language->name);
    if (!object || (version && !put(object, "version", json_text(version, strlen(version)))) ||
        (digest && !put(object, "digest", json_string(digest))))
        return NULL;
    return TAKE_PTR(object);
}

/* --- the score ---------------------------------------------------------------------------- */

/* Appends to TEXT of SIZE bytes; what does not fit is cut at a whole character. */
_printf_(3, 4) static void append(char *text, size_t size, const char *format, ...)
{
    size_t length = strlen(text);
    va_list args;
    va_start(args, format);
    int n = vsnprintf(text + length, size - length, format, args);
    va_end(args);
    if (n >= 0 && (size_t)n >= size - length)
        text[utf8_cut(text, size - 1, size - 1)] = '\0';
}

/* The beginning of the first line of TEXT, for "%.*s". */
static int shown(const struct bytes *text)
{
    size_t line = text->length > 0 ? strcspn(text->data, "\n") : 0;
    return line > 0 ? (int)utf8_cut(text->data, line, SHOWN_BYTES) : 0;
}

static void describe_difference(const struct difference *difference, char *text, size_t size)
{
    if (difference->line > 0)
        append(text, size, ", line %" PRIu64, difference->line);
    append(text, size, ": %s", difference->why);
    if (difference->got.data && difference->expected.data)
        append(text, size, ": got \"%.*s\", expected \"%.*s\"", shown(&difference->got),
               difference->got.data, shown(&difference->expected), difference->expected.data);
}

static void describe_end(const struct program_result *result, bool is_compiler, char *text,
                         size_t size)
{
    char what[80], words[PROGRAM_WORDS_MAX];
    const struct outcome outcome = {
        .exit_code = result->exit_code, .signal = result->signal, .limit = result->limit};
    outcome_describe(&outcome, what, sizeof(what));
    if (result->exit_code >= 0 || result->signal != 0)
        append(text, size, ": %s", what);
    program_words(&result->text, is_compiler, words);
    if (*words)
        append(text, size, ": %s", words);
}

static const struct program_result *deciding(const struct program_run *run)
{
    return run->failed < run->count ? &run->results[run->failed] : &run->compiled;
}

/* Writes why the job did not pass, for people. */
static void describe(const struct program_run *run, const struct job_spec *spec, char *text,
                     size_t size)
{
    const struct program_result *result = deciding(run);
    *text = '\0';
    if (result == &run->compiled) {
        append(text, size, "compiler");
        describe_end(result, true, text, size);
        return;
    }
    char words[PROGRAM_WORDS_MAX];
    const char *name = spec->program.tests->test[run->failed].name;
    program_words(&result->note, false, words);
    append(text, size, "test %zu of %zu", run->failed + 1, run->count);
    if (name)
        append(text, size, " (%s)", name);
    if (result->has_difference)
        describe_difference(&result->difference, text, size);
    else if (result->note.length > 0)
        append(text, size, ": %s: %s", helper_name(run), words);
    else
        describe_end(result, false, text, size);
}

/* The share of the tests that passed is told beside the score, which is all or nothing. */
int program_score(const struct program_run *run, const struct job_spec *spec,
                  struct bench_score *ret)
{
    char code[48], detail[DETAIL_MAX];
    _cleanup_bench_score_ struct bench_score score = BENCH_SCORE_NULL;
    int r;
    if (run->passed == run->count) {
        r = bench_score_pass(&score);
    } else {
        (void)snprintf(code, sizeof(code), "program.%s",
                       program_verdict_name(deciding(run)->verdict));
        describe(run, spec, detail, sizeof(detail));
        r = bench_score_block(code, detail, strlen(detail), &score);
    }
    if (r < 0)
        return r;
    double share = (double)run->passed / (double)run->count;
    if (!put(score.breakdown, "tests_passed", json_real(share)))
        return -ENOMEM;
    *ret = TAKE_STRUCT(score, BENCH_SCORE_NULL);
    return 0;
}
