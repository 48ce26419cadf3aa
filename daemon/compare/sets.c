/* SPDX-License-Identifier: MIT */
#include "sets.h"
#include "number.h"

#include "proto/util.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>

/* A word or, after sets_round(), a number. */
union element {
    struct span word;
    double number;
};

struct set {
    size_t first, count; /* of the elements */
};

/* All arrays have room for `room` entries. */
struct sets {
    union element *elements;
    struct set *sets;
    void *scratch; /* for sorting either */
    size_t n_elements, n_sets;
    bool numbers;
};

struct sets *sets_free(struct sets *sets)
{
    if (sets) {
        free(sets->elements);
        free(sets->sets);
        free(sets->scratch);
        free(sets);
    }
    return NULL;
}

void sets_free_pointer(struct sets **sets)
{
    *sets = sets_free(*sets);
}

/* --- order -------------------------------------------------------------------------------------
 */

static int order_elements(const struct sets *sets, const union element *a, const union element *b)
{
    if (sets->numbers)
        return (a->number > b->number) - (a->number < b->number);
    size_t m = span_length(a->word), n = span_length(b->word);
    int r = memcmp(a->word.at, b->word.at, MIN(m, n));
    return r != 0 ? r : (m > n) - (m < n);
}

/* Compares set A of LEFT with set B of RIGHT, both sorted. */
static int order_sets(const struct sets *left, const struct set *a, const struct sets *right,
                      const struct set *b)
{
    for (size_t i = 0; i < MIN(a->count, b->count); i++) {
        int r = order_elements(left, &left->elements[a->first + i], &right->elements[b->first + i]);
        if (r != 0)
            return r;
    }
    return (a->count > b->count) - (a->count < b->count);
}

static int compare_elements(const struct sets *sets, const void *a, const void *b)
{
    return order_elements(sets, a, b);
}

static int compare_sets(const struct sets *sets, const void *a, const void *b)
{
    return order_sets(sets, a, sets, b);
}

typedef int (*order_fn)(const struct sets *sets, const void *a, const void *b);

_Static_assert(sizeof(union element) == sizeof(struct set), "one size serves both");
#define ITEM sizeof(union element)

/* Merges the two sorted halves of N items at FROM, the first of HALF items, into TO. */
static void merge(const struct sets *sets, const char *from, size_t half, size_t n, char *to,
                  order_fn order)
{
    size_t i = 0, j = half;
    for (size_t k = 0; k < n; k++) {
        bool right = i == half || (j < n && order(sets, from + i * ITEM, from + j * ITEM) > 0);
        size_t taken = right ? j++ : i++;
        memcpy(to + k * ITEM, from + taken * ITEM, ITEM);
    }
}

/* Sorts by merging: qsort() may take the square of N for an order that somebody has thought out. */
static void sort(const struct sets *sets, void *items, size_t n, order_fn order)
{
    char *from = items, *to = sets->scratch;
    for (size_t width = 1; width < n; width *= 2) {
        for (size_t at = 0; at < n; at += 2 * width) {
            size_t count = MIN(2 * width, n - at);
            merge(sets, from + at * ITEM, MIN(width, count), count, to + at * ITEM, order);
        }
        char *sorted = to;
        to = from;
        from = sorted;
    }
    if (from != (char *)items)
        memcpy(items, from, n * ITEM);
}

/* Removes what is there twice of N sorted items. Returns how many remain. */
static size_t unique(const struct sets *sets, void *items, size_t n, order_fn order)
{
    char *at = items;
    size_t kept = MIN(n, 1);
    for (size_t i = 1; i < n; i++)
        if (order(sets, at + (kept - 1) * ITEM, at + i * ITEM) != 0)
            memmove(at + kept++ * ITEM, at + i * ITEM, ITEM);
    return kept;
}

static void normalise(struct sets *sets)
{
    for (size_t i = 0; i < sets->n_sets; i++) {
        struct set *set = &sets->sets[i];
        sort(sets, &sets->elements[set->first], set->count, compare_elements);
        set->count = unique(sets, &sets->elements[set->first], set->count, compare_elements);
    }
    sort(sets, sets->sets, sets->n_sets, compare_sets);
    sets->n_sets = unique(sets, sets->sets, sets->n_sets, compare_sets);
}

/* --- making ------------------------------------------------------------------------------------
 */

/* Counts the words and sets, up to MOST, and puts them into SETS unless it is NULL. */
static size_t collect(struct sets *sets, struct lines lines, bool skip_empty_lines, bool keep_empty,
                      size_t most)
{
    struct span line, word;
    size_t elements = 0, n = 0;
    while (elements + n <= most && text_next_line(&lines, &line)) {
        size_t first = elements;
        if (skip_empty_lines && span_length(line) == 0)
            continue;
        while (elements + n <= most && text_token(&line, &word)) {
            if (sets)
                sets->elements[elements].word = word;
            elements++;
        }
        if (elements == first && !keep_empty)
            continue;
        if (sets)
            sets->sets[n] = (struct set){first, elements - first};
        n++;
    }
    if (sets) {
        sets->n_elements = elements;
        sets->n_sets = n;
    }
    return elements + n;
}

int sets_new(struct lines lines, bool skip_empty_lines, bool keep_empty, size_t most,
             struct sets **ret)
{
    size_t room = collect(NULL, lines, skip_empty_lines, keep_empty, most);
    if (room > most)
        return -E2BIG;
    _cleanup_sets_ struct sets *sets = calloc(1, sizeof(*sets));
    if (!sets)
        return -ENOMEM;
    sets->elements = calloc(room + 1, sizeof(*sets->elements));
    sets->sets = calloc(room + 1, sizeof(*sets->sets));
    sets->scratch = calloc(room + 1, ITEM);
    if (!sets->elements || !sets->sets || !sets->scratch)
        return -ENOMEM;
    (void)collect(sets, lines, skip_empty_lines, keep_empty, most);
    normalise(sets);
    *ret = TAKE_PTR(sets);
    return 0;
}

bool sets_equal(const struct sets *a, const struct sets *b)
{
    if (a->n_sets != b->n_sets)
        return false;
    for (size_t i = 0; i < a->n_sets; i++)
        if (order_sets(a, &a->sets[i], b, &b->sets[i]) != 0)
            return false;
    return true;
}

/* --- numbers -----------------------------------------------------------------------------------
 */

/* Doubles from here on are whole numbers. */
#define WHOLE_FROM 9007199254740992.0
#define WHOLE_DIGITS 16

/* round(value, 3), which is right to the last bit, as printf() is. */
static double round_thousandth(double value)
{
    char text[WHOLE_DIGITS + 16];
    if (!isfinite(value) || fabs(value) >= WHOLE_FROM)
        return value;
    (void)snprintf(text, sizeof(text), "%.3f", value);
    return strtod(text, NULL) + 0.0; /* -0 is 0 */
}

bool sets_round(struct sets *sets)
{
    for (size_t i = 0; i < sets->n_sets; i++) {
        for (size_t k = 0; k < sets->sets[i].count; k++) {
            union element *element = &sets->elements[sets->sets[i].first + k];
            struct number number;
            if (!number_parse(element->word, NUMBER_FLOAT, &number) || number.kind == NUMBER_NAN)
                return false;
            element->number = round_thousandth(number_double(&number));
        }
    }
    sets->numbers = true;
    normalise(sets);
    return true;
}
