/* SPDX-License-Identifier: MIT */
#include "suggest.h"

#include "proto/util.h"

#include <string.h>

/* Longer words are compared by their first letters. */
#define WORD_MAX 31

/* Edit distance with neighbouring letters swapped as one edit (optimal string alignment). */
static size_t distance(const char *a, const char *b)
{
    size_t n = strnlen(a, WORD_MAX), m = strnlen(b, WORD_MAX);
    unsigned char d[WORD_MAX + 1][WORD_MAX + 1];

    for (size_t i = 0; i <= n; i++)
        d[i][0] = (unsigned char)i;
    for (size_t j = 0; j <= m; j++)
        d[0][j] = (unsigned char)j;
    for (size_t i = 1; i <= n; i++) {
        for (size_t j = 1; j <= m; j++) {
            unsigned best = d[i - 1][j - 1] + (a[i - 1] != b[j - 1] ? 1U : 0U);
            best = MIN(best, d[i - 1][j] + 1U);
            best = MIN(best, d[i][j - 1] + 1U);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                best = MIN(best, d[i - 2][j - 2] + 1U);
            d[i][j] = (unsigned char)best;
        }
    }
    return d[n][m];
}

const char *suggest(const char *typed, const char *const *candidates, size_t n)
{
    const char *nearest = NULL;
    size_t length = strlen(typed), best = MAX(length / 3, 1) + 1;

    for (size_t i = 0; i < n; i++) {
        if (length > 0 && strncmp(candidates[i], typed, length) == 0)
            return candidates[i];
        size_t away = distance(typed, candidates[i]);
        if (away < best) {
            best = away;
            nearest = candidates[i];
        }
    }
    return nearest;
}
