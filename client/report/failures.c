/* SPDX-License-Identifier: MIT */
#include "failures.h"

#include <assert.h>
#include <math.h>
#include <string.h>

struct counted {
    uint32_t number;
    uint64_t n;
};

/* Orders by count, most first, then by number. */
static int by_count(const void *left, const void *right)
{
    const struct counted *a = left, *b = right;
    if (a->n != b->n)
        return a->n < b->n ? 1 : -1;
    return (a->number > b->number) - (a->number < b->number);
}

static json_t *text_json(const char *text)
{
    return text ? json_text(text, strlen(text)) : json_null();
}

static json_t *examples_json(const struct results *results, const struct firsts *firsts,
                             uint32_t code)
{
    const struct example *examples = NULL;
    size_t n = firsts_of(firsts, code, &examples);
    json_t *list = json_array();
    for (size_t i = 0; i < n; i++)
        if (json_array_append_new(list, json_pack("{s:o,s:o,s:o}", "id",
                                                  results_name(results, examples[i].item), "detail",
                                                  text_json(examples[i].detail), "output",
                                                  text_json(examples[i].output))) < 0)
            return json_decref(list), NULL;
    return list;
}

/* Counts the results with each code, in the order of by_count. */
static struct counted *count_codes(const struct results *results)
{
    struct counted *counts = calloc(results->codes.n + 1, sizeof(*counts));
    _cleanup_free_ uint64_t *sets = calloc(results->mode_sets.n + 1, sizeof(*sets));
    uint16_t codes[RESULTS_MODES_MAX];
    if (!counts || !sets)
        return free(counts), NULL;
    for (size_t i = 0; i < results->n; i++)
        if (results->items[i].state != LINE_ERROR)
            sets[results->items[i].modes]++;
    for (size_t i = 0; i < results->codes.n; i++)
        counts[i].number = (uint32_t)i;
    for (size_t i = 0; i < results->mode_sets.n; i++) {
        size_t n = results_mode_set(results, (uint16_t)i, codes);
        for (size_t k = 0; k < n; k++)
            counts[codes[k]].n += sets[i];
    }
    qsort(counts, results->codes.n, sizeof(*counts), by_count);
    return counts;
}

json_t *failures_modes_json(const struct results *results)
{
    _cleanup_free_ struct counted *counts = count_codes(results);
    json_t *list = json_array();
    for (size_t i = 0; counts && i < results->codes.n && counts[i].n > 0; i++) {
        const char *severity, *code;
        code = results_code(results, (uint16_t)counts[i].number, &severity);
        if (json_array_append_new(
                list, json_pack("{s:s,s:s,s:I,s:o}", "code", code, "severity", severity, "count",
                                (json_int_t)counts[i].n, "examples",
                                examples_json(results, &results->of_codes, counts[i].number))) < 0)
            return json_decref(list), NULL;
    }
    return counts ? list : (json_decref(list), NULL);
}

json_t *failures_errors_json(const struct results *results)
{
    _cleanup_free_ struct counted *counts = calloc(results->errors.n + 1, sizeof(*counts));
    json_t *list = json_array();
    if (!counts)
        return json_decref(list), NULL;
    for (size_t i = 0; i < results->errors.n; i++)
        counts[i].number = (uint32_t)i;
    for (size_t i = 0; i < results->n; i++)
        if (results->items[i].state == LINE_ERROR)
            counts[results->items[i].modes].n++;
    qsort(counts, results->errors.n, sizeof(*counts), by_count);
    for (size_t i = 0; i < results->errors.n && counts[i].n > 0; i++) {
        const char *code = intern_text(&results->errors, counts[i].number, NULL);
        if (json_array_append_new(
                list, json_pack("{s:s,s:I,s:o}", "code", code, "count", (json_int_t)counts[i].n,
                                "examples",
                                examples_json(results, &results->of_errors, counts[i].number))) < 0)
            return json_decref(list), NULL;
    }
    return list;
}

/* Appends the codes that block (BLOCKING) or those that do not. */
static void put_codes(FILE *out, const struct results *results, const struct result *result,
                      bool blocking)
{
    uint16_t codes[RESULTS_MODES_MAX];
    size_t n = results_mode_set(results, result->modes, codes);
    for (size_t i = 0; i < n; i++) {
        const char *severity, *code = results_code(results, codes[i], &severity);
        if ((strcmp(severity, "block") == 0) == blocking)
            (void)fprintf(out, "%s%s", ftell(out) > 0 ? ", " : "", code);
    }
}

char *failures_codes(const struct results *results, const struct result *result)
{
    char *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);
    if (!out)
        return NULL;
    if (result->state == LINE_ERROR) {
        (void)fputs(intern_text(&results->errors, result->modes, NULL), out);
    } else {
        put_codes(out, results, result, true);
        put_codes(out, results, result, false);
    }
    (void)fclose(out);
    return text;
}

static json_t *failure_json(const struct results *results, const struct example *example)
{
    const struct result *result = &results->items[example->item];
    _cleanup_free_ char *codes = failures_codes(results, result);
    if (!codes)
        return NULL;
    return json_pack(
        "{s:o,s:s,s:o,s:s,s:o,s:o,s:o}", "id", results_name(results, example->item), "task_class",
        intern_text(&results->classes, result->class_no, NULL), "score",
        isnan(result->score) ? json_null() : json_real(result->score), "codes", codes, "detail",
        text_json(example->detail), "output", text_json(example->output), "wall_clock_ms",
        result->wall_ms == LINE_MS_UNKNOWN ? json_null() : json_integer(result->wall_ms));
}

json_t *failures_worst_json(const struct results *results)
{
    json_t *shown = json_array();
    json_int_t total = 0;
    assert(results->worst.is_sorted || results->worst.n == 0);
    for (size_t i = 0; i < results->n; i++)
        total += results->items[i].state == LINE_FAILED;
    for (size_t i = 0; i < results->worst.n; i++)
        if (json_array_append_new(shown, failure_json(results, &results->worst.items[i])) < 0)
            return json_decref(shown), NULL;
    return json_pack("{s:I,s:o}", "total", total, "shown", shown);
}
