/* SPDX-License-Identifier: MIT */
#include "bylanguage.h"
#include "langname.h"

#include "client/terminal/text.h"
#include "proto/json.h"
#include "proto/util.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* Counts are an object of language to object of task to [samples, correct]. */

int bylanguage_add(json_t **counts, const char *language, size_t task, bool is_correct)
{
    char number[24];
    (void)snprintf(number, sizeof(number), "%zu", task);
    if (!*counts && !(*counts = json_object()))
        return -ENOMEM;
    json_t *tasks = json_object_get(*counts, language);
    if (!tasks && (json_object_set_new(*counts, language, json_object()) < 0 ||
                   !(tasks = json_object_get(*counts, language))))
        return -ENOMEM;
    const json_t *old = json_object_get(tasks, number);
    json_int_t n = json_integer_value(json_array_get(old, 0)) + 1;
    json_int_t c = json_integer_value(json_array_get(old, 1)) + is_correct;
    return json_object_set_new(tasks, number, json_pack("[I,I]", n, c)) < 0 ? -ENOMEM : 0;
}

struct sums {
    uint64_t samples, correct;
    double pass_at_k; /* the mean over tasks with samples in the language; NAN: one has too few */
};

static struct sums sum_of(const json_t *tasks, uint64_t k)
{
    struct sums sums = {.samples = 0};
    json_t *walked = (json_t *)(uintptr_t)tasks;
    for (void *i = json_object_iter(walked); i; i = json_object_iter_next(walked, i)) {
        const json_t *pair = json_object_iter_value(i);
        uint64_t n = (uint64_t)json_integer_value(json_array_get(pair, 0));
        uint64_t c = (uint64_t)json_integer_value(json_array_get(pair, 1));
        sums.samples += n;
        sums.correct += c;
        sums.pass_at_k += pass_at_k(n, c, k); /* one NAN makes the sum NAN */
    }
    sums.pass_at_k /= (double)json_object_size(tasks);
    return sums;
}

/* The language after LAST (NULL: the first) in alphabetical order; NULL: there is none. Verdicts
 * come in any order. */
static const char *next_language(const json_t *counts, const char *last)
{
    const char *next = NULL;
    json_t *walked = (json_t *)(uintptr_t)counts;
    for (void *i = json_object_iter(walked); i; i = json_object_iter_next(walked, i)) {
        const char *name = json_object_iter_key(i);
        if ((!last || strcmp(name, last) > 0) && (!next || strcmp(name, next) < 0))
            next = name;
    }
    return next;
}

void bylanguage_put(FILE *out, const json_t *counts, const struct passk_ks *ks)
{
    const char *name = NULL;
    if (json_object_size(counts) < 2)
        return;
    while ((name = next_language(counts, name))) {
        const json_t *tasks = json_object_get(counts, name);
        struct sums sums = sum_of(tasks, 1);
        size_t n = json_object_size(tasks);
        (void)fprintf(out, "in %s: %zu task%s, %" PRIu64 " sample%s, %" PRIu64 " correct",
                      langname_title(name), n, text_plural(n), sums.samples,
                      text_plural(sums.samples), sums.correct);
        for (size_t j = 0; j < ks->n; j++) {
            sums = sum_of(tasks, ks->k[j]);
            if (!isnan(sums.pass_at_k))
                (void)fprintf(out, "; pass@%" PRIu64 " %.4f", ks->k[j], sums.pass_at_k);
        }
        (void)fputc('\n', out);
    }
}

static json_t *language_json(const json_t *tasks, const struct passk_ks *ks)
{
    _cleanup_json_ json_t *values = json_object();
    struct sums sums = sum_of(tasks, 1);
    for (size_t i = 0; values && i < ks->n; i++) {
        char name[24];
        double value = sum_of(tasks, ks->k[i]).pass_at_k;
        (void)snprintf(name, sizeof(name), "%" PRIu64, ks->k[i]);
        if (json_object_set_new(values, name, isnan(value) ? json_null() : json_real(value)) < 0)
            return NULL;
    }
    return values ? json_pack("{s:I,s:I,s:I,s:O}", "tasks", (json_int_t)json_object_size(tasks),
                              "samples", (json_int_t)sums.samples, "correct",
                              (json_int_t)sums.correct, "pass_at_k", values)
                  : NULL;
}

json_t *bylanguage_json(const json_t *counts, const struct passk_ks *ks)
{
    _cleanup_json_ json_t *languages = json_object();
    const char *name = NULL;
    while (languages && (name = next_language(counts, name)))
        if (json_object_set_new(languages, name, language_json(json_object_get(counts, name), ks)) <
            0)
            return NULL;
    return TAKE_PTR(languages);
}
