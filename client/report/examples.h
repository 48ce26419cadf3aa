/* SPDX-License-Identifier: MIT */
#pragma once
/* Details of a bounded number of results: those that scored worst, and for each failure mode and
 * each code of an error the first few. Pure. */

#include <stddef.h>
#include <stdint.h>

/* Of all results together. */
#define EXAMPLES_WORST_MAX 1000
/* Of one code. */
#define EXAMPLES_FIRST_MAX 3
/* Bytes of a detail. */
#define EXAMPLES_DETAIL_MAX 300

struct example {
    uint32_t item;
    double score;
    char *detail; /* owned; NULL: none */
};

/* The worst of all. */
struct worst {
    struct example *items; /* a heap with the best of them at 0, until it is sorted */
    size_t n;
};

#define WORST_NULL     \
    {                  \
        .items = NULL, \
    }

void worst_deinit(struct worst *worst);

/* SCORE may be NAN, which is worse than any; DETAIL may be NULL. 0 or -ENOMEM. */
int worst_add(struct worst *worst, uint32_t item, double score, const char *detail);

/* Forgets ITEM, which another result has taken the place of. */
void worst_forget(struct worst *worst, uint32_t item);

/* Worst first, then in the order of items; nothing can be added afterwards. */
void worst_sort(struct worst *worst);

/* The first of each code. */
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

/* Only where there is room. 0 or -ENOMEM. */
int firsts_add(struct firsts *firsts, uint32_t code, uint32_t item, const char *detail);
void firsts_forget(struct firsts *firsts, uint32_t code, uint32_t item);

/* Of CODE: how many, and where they are. */
size_t firsts_of(const struct firsts *firsts, uint32_t code, const struct example **ret);
