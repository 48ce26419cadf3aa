/* SPDX-License-Identifier: MIT */
#include "runreport.h"
#include "cases.h"
#include "failures.h"
#include "grades.h"
#include "latency.h"
#include "paired.h"
#include "reproduction.h"

#include "client/terminal/text.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#define SCORE_BINS 20
#define FLAKY_NAMED 20

static json_t *files_json(const struct runreport_file *list, size_t n)
{
    json_t *files = json_array();
    for (size_t i = 0; i < n; i++) {
        const struct runreport_file *file = &list[i];
        json_t *name = json_text(file->name, strlen(file->name));
        if (json_array_append_new(files, json_pack("{s:o,s:I,s:I,s:I}", "name", name, "lines",
                                                   (json_int_t)file->lines, "unusable",
                                                   (json_int_t)file->unusable, "duplicates",
                                                   (json_int_t)file->duplicates)) < 0)
            return json_decref(files), NULL;
    }
    return files;
}

static json_t *totals_json(const struct results *results, const struct case_sum *sums)
{
    struct grade_counts all = {.cases = 0};
    for (size_t i = 0; i < results->cases.n; i++)
        grade_counts_add(&all, &sums[i]);
    return json_pack(
        "{s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I}", "cases", (json_int_t)all.cases, "results",
        (json_int_t)results->n, "passed", (json_int_t)all.passed, "failed", (json_int_t)all.failed,
        "errors", (json_int_t)all.errors, "without_score", (json_int_t)all.without_score,
        "cases_without_verdict", (json_int_t)all.without_verdict, "earlier_attempts",
        (json_int_t)results->earlier_attempts, "replaced", (json_int_t)results->replaced);
}

static json_t *histogram_json(const struct results *results)
{
    uint64_t counts[SCORE_BINS] = {0};
    json_t *bins = json_array();
    for (size_t i = 0; i < results->n; i++) {
        double score = results->items[i].score;
        if (!isnan(score))
            counts[MIN((size_t)(score * SCORE_BINS), (size_t)SCORE_BINS - 1)]++;
    }
    for (size_t i = 0; i < SCORE_BINS; i++)
        if (json_array_append_new(bins, json_pack("{s:f,s:f,s:I}", "from", (double)i / SCORE_BINS,
                                                  "to", (double)(i + 1) / SCORE_BINS, "count",
                                                  (json_int_t)counts[i])) < 0)
            return json_decref(bins), NULL;
    return bins;
}

static json_t *stability_json(const struct results *results, const struct case_sum *sums)
{
    json_t *ids = json_array();
    uint64_t several = 0, differed = 0;
    for (size_t i = 0; i < results->cases.n; i++) {
        size_t n;
        several += sums[i].verdicts > 1;
        if (sums[i].passed == 0 || sums[i].passed == sums[i].verdicts)
            continue;
        const char *id = intern_text(&results->cases, (uint32_t)i, &n);
        if (differed++ < FLAKY_NAMED && json_array_append_new(ids, json_stringn(id, n)) < 0)
            return json_decref(ids), NULL;
    }
    return json_pack("{s:I,s:I,s:o}", "cases_with_samples", (json_int_t)several, "flaky_cases",
                     (json_int_t)differed, "ids", ids);
}

static json_t *population_json(const struct population *population)
{
    const json_t *isolation = population->isolation;
    json_t *const parts[] = {json_object_get(isolation, "class"),
                             json_object_get(isolation, "digest"),
                             json_object_get(isolation, "layers")};
    return json_pack("{s:O?,s:O?,s:O?,s:s,s:I,s:s?}", "class", parts[0], "digest", parts[1],
                     "layers", parts[2], "mode", population->shared ? "shared" : "isolated",
                     "results", (json_int_t)population->n, "why_not",
                     isolation ? NULL : "the lines do not tell how their jobs were isolated");
}

static json_t *populations_json(const struct results *results)
{
    json_t *populations = json_array();
    for (size_t i = 0; i < results->populations_index.n; i++)
        if (results->populations[i].n > 0 &&
            json_array_append_new(populations, population_json(&results->populations[i])) < 0)
            return json_decref(populations), NULL;
    return populations;
}

static json_t *cost_json(const struct results *results)
{
    double total = 0;
    for (size_t i = 0; i < results->n; i++)
        total += results->items[i].cost_usd;
    return json_pack("{s:f,s:f,s:o}", "total", total, "of_attempts_that_do_not_count",
                     results->cost_of_earlier, "mean_per_result",
                     results->n > 0 ? json_real(total / (double)results->n) : json_null());
}

static json_t *against_json(const struct results *results, const struct runreport_options *options)
{
    if (!options->against)
        return json_null();
    _cleanup_free_ char *mixed = runreport_mixed(results, options->against);
    _cleanup_json_ json_t *paired = paired_json(results, options->against, &options->bootstrap);
    json_t *against = json_pack("{s:o,s:b}", "files",
                                files_json(options->against_files, options->n_against_files),
                                "comparable", !mixed);
    if (!paired || !against || json_object_update(against, paired) < 0)
        return json_decref(against), NULL;
    return against;
}

json_t *runreport_make(const struct results *results, const struct runreport_options *options)
{
    _cleanup_(case_groups_deinit) struct case_groups groups = CASE_GROUPS_NULL;
    _cleanup_free_ struct case_sum *sums = cases_sum(results);
    if (!sums || case_groups_init(&groups, results, sums) < 0)
        return NULL;
    const struct grades grades = {.results = results,
                                  .sums = sums,
                                  .groups = &groups,
                                  .bootstrap = &options->bootstrap,
                                  .ks = &options->ks};
    _cleanup_json_ json_t *report = json_pack(
        "{s:s,s:i,s:o,s:b,s:o}", "type", "bench_run_report", "version", 1, "files",
        files_json(options->files, options->n_files), "mixed",
        options->mix && results_populations(results) > 1, "totals", totals_json(results, sums));
    if (!report || grades_put(&grades, report) < 0)
        return NULL;
    _cleanup_json_ json_t *rest = json_pack(
        "{s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o}", "score_histogram",
        histogram_json(results), "failure_modes", failures_modes_json(results), "failures",
        failures_worst_json(results), "errors", failures_errors_json(results), "stability",
        stability_json(results, sums), "cost_usd", cost_json(results), "latency_ms",
        latency_json(results), "populations", populations_json(results), "changed_cases",
        json_integer((json_int_t)results->changed_cases), "reproducibility",
        reproduction_json(results, &options->bootstrap, options->version), "against",
        against_json(results, options), "cases",
        options->list_cases ? cases_json(results, sums) : json_null());
    return rest && json_object_update(report, rest) == 0 ? TAKE_PTR(report) : NULL;
}

/* --- populations -------------------------------------------------------------------------- */

/* Ids that are named of a population. */
#define MIXED_NAMED 5

/* Whether OTHER has results of the population NUMBER of RESULTS. */
static bool is_shared(const struct results *results, size_t number, const struct results *other)
{
    size_t n;
    const char *text = intern_text(&results->populations_index, (uint32_t)number, &n);
    uint32_t there = intern_find(&other->populations_index, text, n);
    return there != INTERN_NONE && other->populations[there].n > 0;
}

/* Names the first results of the population NUMBER. */
static void put_first_ids(FILE *out, const struct results *results, size_t number)
{
    size_t named = 0;
    for (size_t i = 0; i < results->n && named <= MIXED_NAMED; i++) {
        if (results->items[i].population != number)
            continue;
        _cleanup_json_ json_t *name = results_name(results, (uint32_t)i);
        (void)fputs(named > 0 ? ", " : "\n      ", out);
        if (named++ < MIXED_NAMED && name)
            text_put(out, json_string_value(name), json_string_length(name));
        else
            (void)fputs("...", out);
    }
}

/* Writes WHAT and the layers that A has and B lacks, if there are any. */
static void put_layers(FILE *out, const char *what, const json_t *a, const json_t *b)
{
    bool any = false;
    for (size_t i = 0; i < json_array_size(a); i++) {
        bool found = false;
        for (size_t k = 0; k < json_array_size(b); k++)
            found |= json_equal(json_array_get(a, i), json_array_get(b, k)) != 0;
        if (found || !json_is_string(json_array_get(a, i)))
            continue;
        (void)fprintf(out, "%s", any ? ", " : what);
        (void)text_put_fit(out, json_string_value(json_array_get(a, i)), 40);
        any = true;
    }
}

/* Compares the layers of POPULATION with those of the FIRST, which is listed above it. */
static void put_layers_against(FILE *out, const struct population *population,
                               const struct population *first)
{
    const json_t *layers = json_object_get(population->isolation, "layers");
    const json_t *others = json_object_get(first->isolation, "layers");
    if (!layers || !others)
        return;
    put_layers(out, "\n      without the layers of the first: ", others, layers);
    put_layers(out, "\n      with layers that the first lacks: ", layers, others);
}

static void put_population(FILE *out, const struct population *population)
{
    const char *class = json_string_value(json_object_get(population->isolation, "class"));
    const char *digest = json_string_value(json_object_get(population->isolation, "digest"));
    if (!population->isolation)
        (void)fprintf(out, "\n  %" PRIu64 " with unknown isolation", population->n);
    else
        (void)fprintf(out, "\n  %" PRIu64 " %s %.16s", population->n, class ? class : "?",
                      digest ? digest : "?");
    if (population->shared)
        (void)fputs(", verdicts shared with the code", out);
}

static bool has_populations(const struct results *results, const struct results *other)
{
    for (size_t i = 0; i < other->populations_index.n; i++)
        if (other->populations[i].n > 0 && !is_shared(other, i, results))
            return false;
    return true;
}

char *runreport_mixed(const struct results *results, const struct results *against)
{
    const struct results *const both[] = {results, against};
    static const char *const only[] = {", only in this run", ", only in the other run"};
    const struct population *first = NULL;
    char *text = NULL;
    size_t length = 0;
    if (results_populations(results) < 2 &&
        (!against || (results_populations(against) < 2 && has_populations(results, against))))
        return NULL;
    FILE *out = open_memstream(&text, &length);
    if (!out)
        return NULL;
    for (size_t k = 0; k < ARRAY_SIZE(both) && both[k]; k++) {
        if (k > 0)
            (void)fputs("\nagainst", out);
        for (size_t i = 0; i < both[k]->populations_index.n; i++) {
            const struct population *population = &both[k]->populations[i];
            if (population->n == 0)
                continue;
            put_population(out, population);
            if (against && !is_shared(both[k], i, both[1 - k]))
                (void)fputs(only[k], out);
            put_first_ids(out, both[k], i);
            if (first)
                put_layers_against(out, population, first);
            first = first ? first : population;
        }
    }
    (void)fclose(out);
    return text;
}
