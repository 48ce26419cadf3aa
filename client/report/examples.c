/* SPDX-License-Identifier: MIT */
#include "examples.h"

#include "proto/utf8.h"
#include "proto/util.h"

#include <assert.h>
#include <math.h>
#include <string.h>

static void example_deinit(struct example *example)
{
    free(example->detail);
    free(example->output);
    *example = (struct example){.detail = NULL};
}

static int example_init(struct example *ret, uint32_t item, double score,
                        const struct reason *reason)
{
    const char *detail = reason->detail;
    struct example made = {.item = item, .score = score};
    if (detail)
        made.detail = strndup(detail, utf8_cut(detail, strlen(detail), EXAMPLES_DETAIL_MAX));
    if (reason->output)
        made.output = strdup(reason->output);
    if ((detail && !made.detail) || (reason->output && !made.output)) {
        example_deinit(&made);
        return -ENOMEM;
    }
    *ret = made;
    return 0;
}

/* --- the lowest scores -------------------------------------------------------------------- */

void worst_deinit(struct worst *worst)
{
    for (size_t i = 0; i < worst->n; i++)
        example_deinit(&worst->items[i]);
    free(worst->items);
    *worst = (struct worst)WORST_NULL;
}

/* Orders the worst first: no score, then low scores, then early items. */
static int by_rank(const void *left, const void *right)
{
    const struct example *a = left, *b = right;
    double x = isnan(a->score) ? -1 : a->score, y = isnan(b->score) ? -1 : b->score;
    if (x != y)
        return x < y ? -1 : 1;
    return (a->item > b->item) - (a->item < b->item);
}

static void swap(struct example *a, struct example *b)
{
    struct example held = *a;
    *a = *b;
    *b = held;
}

static void sift_up(struct example *heap, size_t at)
{
    while (at > 0 && by_rank(&heap[at], &heap[(at - 1) / 2]) > 0) {
        swap(&heap[at], &heap[(at - 1) / 2]);
        at = (at - 1) / 2;
    }
}

static void sift_down(struct example *heap, size_t n, size_t at)
{
    for (;;) {
        size_t child = 2 * at + 1;
        if (child + 1 < n && by_rank(&heap[child + 1], &heap[child]) > 0)
            child++;
        if (child >= n || by_rank(&heap[child], &heap[at]) <= 0)
            return;
        swap(&heap[child], &heap[at]);
        at = child;
    }
}

int worst_add(struct worst *worst, uint32_t item, double score, const struct reason *reason)
{
    struct example added = {.item = item, .score = score};
    assert(!worst->is_sorted);
    if (!worst->items)
        worst->items = calloc(EXAMPLES_WORST_MAX, sizeof(*worst->items));
    if (!worst->items)
        return -ENOMEM;
    bool full = worst->n == EXAMPLES_WORST_MAX;
    assert(worst->n <= EXAMPLES_WORST_MAX);
    if (full && by_rank(&added, &worst->items[0]) > 0)
        return 0;
    int r = example_init(&added, item, score, reason);
    if (r < 0)
        return r;
    if (full) {
        example_deinit(&worst->items[0]);
        worst->items[0] = added;
        sift_down(worst->items, worst->n, 0);
    } else {
        worst->items[worst->n] = added;
        sift_up(worst->items, worst->n++);
    }
    return 0;
}

void worst_forget(struct worst *worst, uint32_t item)
{
    size_t at = 0;
    assert(!worst->is_sorted);
    while (at < worst->n && worst->items[at].item != item)
        at++;
    if (at == worst->n)
        return;
    example_deinit(&worst->items[at]);
    worst->items[at] = worst->items[--worst->n];
    if (at < worst->n) {
        sift_up(worst->items, at);
        sift_down(worst->items, worst->n, at);
    }
}

void worst_sort(struct worst *worst)
{
    if (worst->n > 0)
        qsort(worst->items, worst->n, sizeof(worst->items[0]), by_rank);
    worst->is_sorted = true;
}

/* --- the first of each code --------------------------------------------------------------- */

void firsts_deinit(struct firsts *firsts)
{
    for (size_t i = 0; i < firsts->n; i++)
        for (size_t k = 0; k < firsts->codes[i].n; k++)
            example_deinit(&firsts->codes[i].items[k]);
    free(firsts->codes);
    *firsts = (struct firsts)FIRSTS_NULL;
}

int firsts_add(struct firsts *firsts, uint32_t code, uint32_t item, const struct reason *reason)
{
    if (code >= firsts->n) {
        struct first *grown = reallocarray(firsts->codes, code + 1, sizeof(*grown));
        if (!grown)
            return -ENOMEM;
        for (size_t i = firsts->n; i <= code; i++)
            grown[i] = (struct first){.n = 0};
        firsts->codes = grown;
        firsts->n = code + 1;
    }
    struct first *first = &firsts->codes[code];
    assert(first->n <= EXAMPLES_FIRST_MAX);
    if (first->n == EXAMPLES_FIRST_MAX)
        return 0;
    int r = example_init(&first->items[first->n], item, NAN, reason);
    if (r == 0)
        first->n++;
    return r;
}

void firsts_forget(struct firsts *firsts, uint32_t code, uint32_t item)
{
    struct first *first = code < firsts->n ? &firsts->codes[code] : NULL;
    for (size_t i = 0; first && i < first->n; i++) {
        if (first->items[i].item != item)
            continue;
        example_deinit(&first->items[i]);
        first->n--;
        memmove(&first->items[i], &first->items[i + 1], (first->n - i) * sizeof(first->items[0]));
        return;
    }
}

size_t firsts_of(const struct firsts *firsts, uint32_t code, const struct example **ret)
{
    if (code >= firsts->n)
        return 0;
    *ret = firsts->codes[code].items;
    return firsts->codes[code].n;
}
