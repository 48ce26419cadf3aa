/* SPDX-License-Identifier: MIT */
#include "paired.h"
#include "cases.h"
#include "estimate.h"

#include <assert.h>
#include <math.h>
#include <string.h>

struct change {
    const char *id;
    size_t n;
    double before, after;
};

struct pairing {
    const struct results *here, *there;
    struct case_sum *sums_here, *sums_there;
    double *scores, *passes; /* differences of the pairs: here minus there */
    size_t n_scores, n_passes;
    struct change *changes; /* pairs whose pass rate differs */
    size_t n_changes;
    uint64_t paired, without_verdict, changed, only_here, only_there;
    json_t *only_here_ids, *only_there_ids, *changed_ids;
};

static void pairing_deinit(struct pairing *pairing)
{
    free(pairing->sums_here);
    free(pairing->sums_there);
    free(pairing->scores);
    free(pairing->passes);
    free(pairing->changes);
    json_decref(pairing->only_here_ids);
    json_decref(pairing->only_there_ids);
    json_decref(pairing->changed_ids);
}

static int pairing_init(struct pairing *pairing, const struct results *here,
                        const struct results *there)
{
    size_t n = here->cases.n + 1;
    *pairing = (struct pairing){
        .here = here,
        .there = there,
        .sums_here = cases_sum(here),
        .sums_there = cases_sum(there),
        .scores = calloc(n, sizeof(double)),
        .passes = calloc(n, sizeof(double)),
        .changes = calloc(n, sizeof(struct change)),
        .only_here_ids = json_array(),
        .only_there_ids = json_array(),
        .changed_ids = json_array(),
    };
    bool good = pairing->sums_here && pairing->sums_there && pairing->scores && pairing->passes &&
                pairing->changes;
    return good ? 0 : -ENOMEM;
}

/* --- cases -------------------------------------------------------------------------------- */

/* Counts a case, and lists its id if there is room. */
static int note(uint64_t *count, json_t *ids, const struct results *results, uint32_t case_no)
{
    size_t n;
    const char *id = intern_text(&results->cases, case_no, &n);
    if ((*count)++ >= PAIRED_IDS_MAX)
        return 0;
    return json_array_append_new(ids, json_stringn(id, n)) < 0 ? -ENOMEM : 0;
}

static void add_pair(struct pairing *pairing, uint32_t here, uint32_t there)
{
    const struct case_sum *now = &pairing->sums_here[here], *then = &pairing->sums_there[there];
    double score = case_score(now) - case_score(then);
    double before = case_pass_rate(then), after = case_pass_rate(now);
    if (isnan(before) || isnan(after)) {
        pairing->without_verdict++;
        return;
    }
    pairing->paired++;
    assert(pairing->paired <= pairing->here->cases.n); /* the room of each array */
    pairing->passes[pairing->n_passes++] = after - before;
    if (!isnan(score))
        pairing->scores[pairing->n_scores++] = score;
    if (before == after)
        return;
    struct change *change = &pairing->changes[pairing->n_changes++];
    *change = (struct change){.before = before, .after = after};
    change->id = intern_text(&pairing->here->cases, here, &change->n);
}

static int pair_case(struct pairing *pairing, uint32_t here)
{
    size_t n;
    const char *id = intern_text(&pairing->here->cases, here, &n);
    uint32_t there = intern_find(&pairing->there->cases, id, n);
    if (there == INTERN_NONE)
        return note(&pairing->only_here, pairing->only_here_ids, pairing->here, here);
    if (case_digest_differs(&pairing->here->case_digests[here],
                            &pairing->there->case_digests[there]))
        return note(&pairing->changed, pairing->changed_ids, pairing->here, here);
    add_pair(pairing, here, there);
    return 0;
}

static int pair_cases(struct pairing *pairing)
{
    int r = 0;
    for (size_t i = 0; r == 0 && i < pairing->here->cases.n; i++)
        r = pair_case(pairing, (uint32_t)i);
    for (size_t i = 0; r == 0 && i < pairing->there->cases.n; i++) {
        size_t n;
        const char *id = intern_text(&pairing->there->cases, (uint32_t)i, &n);
        if (intern_find(&pairing->here->cases, id, n) == INTERN_NONE)
            r = note(&pairing->only_there, pairing->only_there_ids, pairing->there, (uint32_t)i);
    }
    return r;
}

/* --- changes ------------------------------------------------------------------------------ */

/* Orders by the change of the pass rate, largest fall first, then by id. */
static int by_difference(const void *left, const void *right)
{
    const struct change *a = left, *b = right;
    double x = a->after - a->before, y = b->after - b->before;
    if (x != y)
        return x < y ? -1 : 1;
    int order = memcmp(a->id, b->id, MIN(a->n, b->n));
    return order != 0 ? order : (a->n > b->n) - (a->n < b->n);
}

static json_t *change_json(const struct change *change)
{
    return json_pack("{s:s%,s:f,s:f}", "id", change->id, change->n, "before", change->before,
                     "after", change->after);
}

/* Lists N changes from FIRST on; with STEP -1, from FIRST backwards. */
static json_t *changes_json(const struct change *first, size_t n, ptrdiff_t step)
{
    json_t *shown = json_array();
    for (size_t i = 0; i < MIN(n, PAIRED_CHANGES_MAX); i++, first += step)
        if (json_array_append_new(shown, change_json(first)) < 0)
            return json_decref(shown), NULL;
    return json_pack("{s:I,s:o}", "total", (json_int_t)n, "shown", shown);
}

/* --- rubrics ------------------------------------------------------------------------------ */

static bool has_class(const struct results *results, const char *class)
{
    for (size_t i = 0; i < results->facts.rubrics.n; i++)
        if (strcmp(intern_text(&results->facts.rubrics, (uint32_t)i, NULL), class) == 0)
            return true;
    return false;
}

/* Adds the classes for which A has a rubric that B does not have, and B has another one. */
static int add_rubrics(json_t *names, const struct results *a, const struct results *b)
{
    for (size_t i = 0; i < a->facts.rubrics.n; i++) {
        size_t n;
        const char *text = intern_text(&a->facts.rubrics, (uint32_t)i, &n);
        bool known = json_object_get(names, text) != NULL;
        if (!known && intern_find(&b->facts.rubrics, text, n) == INTERN_NONE &&
            has_class(b, text) && json_object_set_new(names, text, json_true()) < 0)
            return -ENOMEM;
    }
    return 0;
}

/* Lists the task classes whose rubrics differ. */
static json_t *rubrics_json(const struct results *here, const struct results *there)
{
    _cleanup_json_ json_t *names = json_object();
    json_t *list = json_array();
    if (!names || add_rubrics(names, here, there) < 0 || add_rubrics(names, there, here) < 0)
        return json_decref(list), NULL;
    for (void *i = json_object_iter(names); i; i = json_object_iter_next(names, i))
        if (json_array_append_new(list, json_string(json_object_iter_key(i))) < 0)
            return json_decref(list), NULL;
    return list;
}

/* --- the whole ---------------------------------------------------------------------------- */

static const char *judge(const struct estimate *difference)
{
    if (difference->method == ESTIMATE_NONE)
        return "unknown";
    return difference->interval.high < 0  ? "worse"
           : difference->interval.low > 0 ? "better"
                                          : "no_difference";
}

static json_t *pairing_json(struct pairing *pairing, const struct bootstrap_options *options)
{
    struct estimate score, passes;
    size_t n = pairing->n_changes, fallen = 0;
    if (estimate(pairing->scores, pairing->n_scores, ESTIMATE_DIFFERENCES, options, &score) < 0 ||
        estimate(pairing->passes, pairing->n_passes, ESTIMATE_DIFFERENCES, options, &passes) < 0)
        return NULL;
    qsort(pairing->changes, n, sizeof(*pairing->changes), by_difference);
    while (fallen < n && pairing->changes[fallen].after < pairing->changes[fallen].before)
        fallen++;
    return json_pack(
        "{s:I,s:I,s:I,s:I,s:I,s:o,s:o,s:o,s:o,s:O,s:O,s:O,s:o,s:s}", "paired_cases",
        (json_int_t)pairing->paired, "only_here", (json_int_t)pairing->only_here, "only_there",
        (json_int_t)pairing->only_there, "without_verdict", (json_int_t)pairing->without_verdict,
        "changed_cases", (json_int_t)pairing->changed, "score_difference", estimate_json(&score),
        "pass_rate_difference", estimate_json(&passes), "regressions",
        changes_json(pairing->changes, fallen, 1), "improvements",
        changes_json(pairing->changes + (n > 0 ? n - 1 : 0), n - fallen, -1), "only_here_ids",
        pairing->only_here_ids, "only_there_ids", pairing->only_there_ids, "changed_ids",
        pairing->changed_ids, "changed_rubrics", rubrics_json(pairing->here, pairing->there),
        "verdict", judge(&score));
}

json_t *paired_json(const struct results *here, const struct results *there,
                    const struct bootstrap_options *options)
{
    _cleanup_(pairing_deinit) struct pairing pairing;
    if (pairing_init(&pairing, here, there) < 0 || pair_cases(&pairing) < 0)
        return NULL;
    return pairing_json(&pairing, options);
}
