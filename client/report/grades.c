/* SPDX-License-Identifier: MIT */
#include "grades.h"

#include <math.h>
#include <string.h>

/* The cases whose numbers are in `order`. */
struct part {
    const uint32_t *order;
    size_t n;
};

void grade_counts_add(struct grade_counts *counts, const struct case_sum *sum)
{
    counts->cases++;
    counts->without_verdict += sum->verdicts == 0;
    counts->passed += sum->passed;
    counts->failed += sum->verdicts - sum->passed;
    counts->errors += sum->errors;
    counts->without_score += sum->verdicts - sum->scored;
    counts->cost_usd += sum->cost_usd;
}

static json_t *values_json(const struct grades *grades, const double *values, size_t n)
{
    struct estimate made;
    return estimate(values, n, ESTIMATE_SHARES, grades->bootstrap, &made) < 0
               ? NULL
               : estimate_json(&made);
}

static json_t *mean_json(const struct grades *grades, const struct part *part,
                         double (*value)(const struct case_sum *sum))
{
    _cleanup_free_ double *values = calloc(MAX(part->n, 1), sizeof(*values));
    size_t n = 0;
    for (size_t i = 0; values && i < part->n; i++) {
        values[n] = value(&grades->sums[part->order[i]]);
        n += !isnan(values[n]);
    }
    return values ? values_json(grades, values, n) : NULL;
}

/* --- pass@k ------------------------------------------------------------------------------- */

static json_t *k_json(const struct grades *grades, const struct part *part, uint64_t k)
{
    _cleanup_free_ double *values = calloc(MAX(part->n, 1), sizeof(*values));
    size_t too_few = 0;
    for (size_t i = 0; values && i < part->n; i++) {
        const struct case_sum *sum = &grades->sums[part->order[i]];
        values[i] = pass_at_k(sum->verdicts, sum->passed, k);
        too_few += sum->verdicts < k;
    }
    if (!values)
        return NULL;
    json_t *mean = too_few > 0 ? json_null() : values_json(grades, values, part->n);
    return json_pack("{s:I,s:o,s:I}", "k", (json_int_t)k, "estimate", mean, "too_few_samples",
                     (json_int_t)too_few);
}

/* 1, then 10 and 100 if every case has more samples than that, then the number of samples that
 * every case has. None if no case has two. */
static struct passk_ks default_ks(const struct grades *grades, const struct part *part)
{
    static const uint64_t usual[] = {1, 10, 100};
    struct passk_ks ks = {.n = 0};
    uint32_t least = UINT32_MAX, most = 0;
    for (size_t i = 0; i < part->n; i++) {
        uint32_t verdicts = grades->sums[part->order[i]].verdicts;
        least = MIN(least, verdicts);
        most = MAX(most, verdicts);
    }
    if (most < 2)
        return ks;
    for (size_t i = 0; i < ARRAY_SIZE(usual); i++)
        if (usual[i] == 1 || usual[i] < least)
            ks.k[ks.n++] = usual[i];
    if (least > 1)
        ks.k[ks.n++] = least;
    return ks;
}

static json_t *pass_at_k_json(const struct grades *grades, const struct part *part)
{
    struct passk_ks ks = grades->ks->n > 0 ? *grades->ks : default_ks(grades, part);
    json_t *list = json_array();
    for (size_t i = 0; i < ks.n; i++)
        if (json_array_append_new(list, k_json(grades, part, ks.k[i])) < 0)
            return json_decref(list), NULL;
    return list;
}

/* --- parts -------------------------------------------------------------------------------- */

static int put_part(const struct grades *grades, const struct part *part, json_t *object)
{
    json_t *score = mean_json(grades, part, case_score);
    json_t *pass_rate = mean_json(grades, part, case_pass_rate);
    /* json_object_set_new() consumes each value, also when it fails. */
    int bad = json_object_set_new(object, "score", score);
    bad |= json_object_set_new(object, "pass_rate", pass_rate);
    bad |= json_object_set_new(object, "pass_at_k", pass_at_k_json(grades, part));
    return bad ? -ENOMEM : 0;
}

static json_t *class_json(const struct grades *grades, size_t class_no)
{
    const struct case_groups *groups = grades->groups;
    const struct part part = {
        .order = groups->order + groups->from[class_no],
        .n = groups->from[class_no + 1] - groups->from[class_no],
    };
    struct grade_counts counts = {.cases = 0};
    size_t n;
    const char *name = intern_text(&grades->results->classes, (uint32_t)class_no, &n);
    for (size_t i = 0; i < part.n; i++)
        grade_counts_add(&counts, &grades->sums[part.order[i]]);
    json_t *object =
        json_pack("{s:s%,s:I,s:I,s:I,s:I,s:I,s:f}", "task_class", name, n, "cases",
                  (json_int_t)counts.cases, "passed", (json_int_t)counts.passed, "failed",
                  (json_int_t)counts.failed, "errors", (json_int_t)counts.errors, "without_score",
                  (json_int_t)counts.without_score, "cost_usd", counts.cost_usd);
    if (!object || put_part(grades, &part, object) < 0)
        return json_decref(object), NULL;
    return object;
}

static int by_name(const void *left, const void *right)
{
    json_t *const *a = left, *const *b = right;
    return strcmp(json_string_value(json_object_get(*a, "task_class")),
                  json_string_value(json_object_get(*b, "task_class")));
}

static json_t *classes_json(const struct grades *grades)
{
    _cleanup_free_ json_t **classes = calloc(grades->groups->n + 1, sizeof(json_t *));
    json_t *list = json_array();
    size_t n = 0;
    bool bad = !classes || !list;
    for (size_t i = 0; !bad && i < grades->groups->n; i++) {
        if (grades->groups->from[i] == grades->groups->from[i + 1])
            continue;
        classes[n] = class_json(grades, i);
        bad = !classes[n++];
    }
    if (!bad)
        qsort(classes, n, sizeof(json_t *), by_name);
    for (size_t i = 0; i < n; i++)
        bad |= json_array_append_new(list, classes[i]) < 0;
    return bad ? json_decref(list), NULL : list;
}

int grades_put(const struct grades *grades, json_t *report)
{
    const struct part all = {.order = grades->groups->order, .n = grades->results->cases.n};
    int r = put_part(grades, &all, report);
    if (r == 0 && json_object_set_new(report, "classes", classes_json(grades)) < 0)
        r = -ENOMEM;
    return r;
}
