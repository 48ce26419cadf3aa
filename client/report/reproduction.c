/* SPDX-License-Identifier: MIT */
#include "reproduction.h"

#include <sha2.h>
#include <string.h>

struct ordered {
    const char *id;
    size_t n;
    const struct case_digest *digest;
};

static int by_id(const void *left, const void *right)
{
    const struct ordered *a = left, *b = right;
    int order = memcmp(a->id, b->id, MIN(a->n, b->n));
    return order != 0 ? order : (a->n > b->n) - (a->n < b->n);
}

/* Computes the SHA-256 of lines "DIGEST  ID", one for each case, in the order of ids. */
static int digest_cases(struct ordered *cases, size_t n, char ret[SHA256_DIGEST_STRING_LENGTH])
{
    SHA2_CTX context;
    SHA256Init(&context);
    qsort(cases, n, sizeof(*cases), by_id);
    for (size_t i = 0; i < n; i++) {
        char hex[CASE_DIGEST_HEX];
        (void)case_digest_print(cases[i].digest, hex);
        SHA256Update(&context, (const uint8_t *)hex, sizeof(hex) - 1);
        SHA256Update(&context, (const uint8_t *)"  ", 2);
        SHA256Update(&context, (const uint8_t *)cases[i].id, cases[i].n);
        SHA256Update(&context, (const uint8_t *)"\n", 1);
    }
    return SHA256End(&context, ret) ? 0 : -ENOMEM;
}

static json_t *digests_json(const struct results *results)
{
    _cleanup_free_ struct ordered *cases = calloc(results->cases.n + 1, sizeof(*cases));
    char digest[SHA256_DIGEST_STRING_LENGTH];
    size_t n = 0;
    if (!cases)
        return NULL;
    for (size_t i = 0; i < results->cases.n; i++) {
        if (!case_digest_is_known(&results->case_digests[i]))
            continue;
        cases[n].id = intern_text(&results->cases, (uint32_t)i, &cases[n].n);
        cases[n++].digest = &results->case_digests[i];
    }
    if (n == 0)
        return json_null();
    if (digest_cases(cases, n, digest) < 0)
        return NULL;
    return json_pack("{s:s,s:I,s:I}", "digest", digest, "cases", (json_int_t)n, "without_digest",
                     (json_int_t)(results->cases.n - n));
}

static json_t *texts_json(const struct intern *table)
{
    json_t *list = json_array();
    for (size_t i = 0; i < table->n; i++) {
        size_t n;
        const char *text = intern_text(table, (uint32_t)i, &n);
        if (json_array_append_new(list, json_text(text, n)) < 0)
            return json_decref(list), NULL;
    }
    return table->n > 0 ? list : (json_decref(list), json_null());
}

static json_t *hosts_json(const struct results *results)
{
    const struct intern *hosts = &results->facts.hosts;
    json_t *list = json_array();
    for (size_t i = 0; i < hosts->n; i++) {
        size_t n;
        const char *text = intern_text(hosts, (uint32_t)i, &n);
        if (json_array_append_new(list, json_loadb(text, n, JSON_ALLOW_NUL, NULL)) < 0)
            return json_decref(list), NULL;
    }
    return hosts->n > 0 ? list : (json_decref(list), json_null());
}

static json_t *rubrics_json(const struct results *results)
{
    const struct intern *rubrics = &results->facts.rubrics;
    json_t *list = json_array();
    for (size_t i = 0; i < rubrics->n; i++) {
        const char *name = intern_text(rubrics, (uint32_t)i, NULL);
        if (json_array_append_new(list, json_pack("{s:s,s:s}", "task_class", name, "digest",
                                                  name + strlen(name) + 1)) < 0)
            return json_decref(list), NULL;
    }
    return rubrics->n > 0 ? list : (json_decref(list), json_null());
}

static json_t *time_json(int64_t ms)
{
    char text[FACTS_TIME_MAX];
    return ms == 0 ? json_null() : json_string(facts_print_time(ms, text));
}

/* Makes {MEMBER: why it is null}. */
static json_t *missing_json(const struct results *results)
{
    const struct facts *facts = &results->facts;
    json_t *missing = json_object();
    int bad = 0;
    if (facts->rubricd.n == 0)
        bad = json_object_set_new(missing, "rubricd", json_string("no line has run.rubricd"));
    if (facts->hosts.n == 0)
        bad |= json_object_set_new(missing, "hosts", json_string("no line has run.host"));
    if (facts->rubrics.n == 0)
        bad |= json_object_set_new(missing, "rubrics", json_string("no line has a rubric_digest"));
    if (facts->finished_ms == 0)
        bad |= json_object_set_new(missing, "started_at, finished_at",
                                   json_string("no line has run.finished_at"));
    return bad ? (json_decref(missing), NULL) : missing;
}

json_t *reproduction_json(const struct results *results, const struct bootstrap_options *bootstrap,
                          const char *version)
{
    const struct facts *facts = &results->facts;
    _cleanup_json_ json_t *cases = digests_json(results);
    _cleanup_json_ json_t *missing = missing_json(results);
    if (!cases || !missing)
        return NULL;
    if (cases == json_null())
        (void)json_object_set_new(missing, "cases", json_string("no line has run.case_digest"));
    return json_pack("{s:s,s:o,s:o,s:o,s:O,s:o,s:o,s:{s:f,s:I,s:I},s:O}", "rubricctl", version,
                     "rubricd", texts_json(&facts->rubricd), "hosts", hosts_json(results),
                     "rubrics", rubrics_json(results), "cases", cases, "started_at",
                     time_json(facts->started_ms), "finished_at", time_json(facts->finished_ms),
                     "bootstrap", "confidence", bootstrap->confidence, "resamples",
                     (json_int_t)bootstrap->resamples, "seed", (json_int_t)bootstrap->seed,
                     "missing", missing);
}
