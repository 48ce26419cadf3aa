/* SPDX-License-Identifier: MIT */
#include "cases.h"

#include <assert.h>
#include <math.h>

struct case_sum *cases_sum(const struct results *results)
{
    struct case_sum *sums = calloc(MAX(results->cases.n, 1), sizeof(*sums));
    for (size_t i = 0; sums && i < results->n; i++) {
        const struct result *result = &results->items[i];
        struct case_sum *sum = &sums[result->case_no];
        sum->cost_usd += result->cost_usd;
        /* An error often does not say its class: a verdict knows better. */
        if (sum->verdicts == 0)
            sum->class_no = result->class_no;
        if (result->state == LINE_ERROR) {
            sum->errors++;
            continue;
        }
        sum->verdicts++;
        sum->passed += result->state == LINE_PASSED;
        if (!isnan(result->score)) {
            sum->score_sum += result->score;
            sum->scored++;
        }
    }
    return sums;
}

double case_score(const struct case_sum *sum)
{
    return sum->scored > 0 ? sum->score_sum / sum->scored : NAN;
}

double case_pass_rate(const struct case_sum *sum)
{
    return sum->verdicts > 0 ? (double)sum->passed / sum->verdicts : NAN;
}

void case_groups_deinit(struct case_groups *groups)
{
    free(groups->order);
    free(groups->from);
    *groups = (struct case_groups)CASE_GROUPS_NULL;
}

int case_groups_init(struct case_groups *ret, const struct results *results,
                     const struct case_sum *sums)
{
    size_t n = results->classes.n, n_cases = results->cases.n;
    struct case_groups groups = {
        .n = n,
        .order = calloc(MAX(n_cases, 1), sizeof(*groups.order)),
        .from = calloc(n + 2, sizeof(*groups.from)),
    };
    if (!groups.order || !groups.from) {
        case_groups_deinit(&groups);
        return -ENOMEM;
    }
    /* Counts go two places up, so that from[c + 1] is where class c begins; filling moves it to
     * where class c ends, which is where c + 1 begins. */
    for (size_t i = 0; i < n_cases; i++)
        groups.from[sums[i].class_no + 2]++;
    for (size_t c = 1; c < n + 2; c++)
        groups.from[c] += groups.from[c - 1];
    for (size_t i = 0; i < n_cases; i++)
        groups.order[groups.from[sums[i].class_no + 1]++] = (uint32_t)i;
    assert(groups.from[0] == 0 && groups.from[n] == n_cases);
    *ret = groups;
    return 0;
}

static json_t *digest_json(const struct case_digest *digest)
{
    char hex[CASE_DIGEST_HEX];
    return case_digest_is_known(digest) ? json_string(case_digest_print(digest, hex)) : json_null();
}

static json_t *case_json(const struct results *results, const struct case_sum *sum,
                         uint32_t case_no)
{
    size_t n;
    const char *id = intern_text(&results->cases, case_no, &n);
    double score = case_score(sum);
    return json_pack("{s:s%,s:s,s:o,s:I,s:I,s:I,s:o}", "id", id, n, "task_class",
                     intern_text(&results->classes, sum->class_no, NULL), "digest",
                     digest_json(&results->case_digests[case_no]), "verdicts",
                     (json_int_t)sum->verdicts, "passed", (json_int_t)sum->passed, "errors",
                     (json_int_t)sum->errors, "score",
                     isnan(score) ? json_null() : json_real(score));
}

json_t *cases_json(const struct results *results, const struct case_sum *sums)
{
    json_t *cases = json_array();
    for (size_t i = 0; i < results->cases.n; i++)
        if (json_array_append_new(cases, case_json(results, &sums[i], (uint32_t)i)) < 0)
            return json_decref(cases), NULL;
    return cases;
}
