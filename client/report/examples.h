/* SPDX-License-Identifier: MIT */
#pragma once
/* Details of a bounded number of results: of those with the lowest scores, and of the first few
 * with each failure mode and each error code. Pure. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How many of the lowest scores are kept. */
#define EXAMPLES_WORST_MAX 1000
/* Examples of one code. */
#define EXAMPLES_FIRST_MAX 3
/* Bytes of a detail; the rest is cut off. */
#define EXAMPLES_DETAIL_MAX 300

/* What is known of why a result did not pass: borrowed; either may be NULL. */
struct reason {
    const char *detail;
    const char *output; /* evidence.h */
};

struct example {
    uint32_t item;
    double score;
    char *detail; /* owned; NULL if there is none */
    char *output; /* likewise */
};

/* The results with the lowest scores. */
struct worst {
    struct example *items; /* a heap with the best of them at 0; once sorted, worst first */
    size_t n;
    bool is_sorted;
};

#define WORST_NULL     \
    {                  \
        .items = NULL, \
    }

void worst_deinit(struct worst *worst);

/* Adds ITEM unless enough others are worse. SCORE may be NAN, which is worse than any number;
 * Keeps a copy of REASON. Not after worst_sort(). 0 or -ENOMEM. */
int worst_add(struct worst *worst, uint32_t item, double score, const struct reason *reason);

/* Forgets ITEM, which another result replaces. Not after worst_sort(). */
void worst_forget(struct worst *worst, uint32_t item);

/* Sorts by score, then by number of the item. */
void worst_sort(struct worst *worst);

/* The first results with each code, by number of the code. */
struct firsts {
    struct first *codes;
    size_t n;
};

struct first {
    struct example items[EXAMPLES_FIRST_MAX];
    size_t n;
};

#define FIRSTS_NULL    \
    {                  \
        .codes = NULL, \
    }

void firsts_deinit(struct firsts *firsts);

/* Adds ITEM unless CODE has enough examples. 0 or -ENOMEM. */
int firsts_add(struct firsts *firsts, uint32_t code, uint32_t item, const struct reason *reason);
void firsts_forget(struct firsts *firsts, uint32_t code, uint32_t item);

/* Returns how many examples CODE has; sets *RET, which stays owned by FIRSTS, if there are any. */
size_t firsts_of(const struct firsts *firsts, uint32_t code, const struct example **ret);
