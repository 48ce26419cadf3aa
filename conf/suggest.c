/* SPDX-License-Identifier: MIT */
#include "suggest.h"

#include "proto/util.h"

#include <assert.h>
#include <string.h>

size_t suggest_distance(const char *a, const char *b)
{
    size_t n = strnlen(a, SUGGEST_WORD_MAX), m = strnlen(b, SUGGEST_WORD_MAX);
    size_t cost[SUGGEST_WORD_MAX + 1][SUGGEST_WORD_MAX + 1];

    for (size_t i = 0; i <= n; i++)
        cost[i][0] = i;
    for (size_t j = 0; j <= m; j++)
        cost[0][j] = j;
    for (size_t i = 1; i <= n; i++) {
        for (size_t j = 1; j <= m; j++) {
            size_t best = cost[i - 1][j - 1] + (a[i - 1] != b[j - 1]);
            best = MIN(best, cost[i - 1][j] + 1);
            best = MIN(best, cost[i][j - 1] + 1);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                best = MIN(best, cost[i - 2][j - 2] + 1);
            cost[i][j] = best;
        }
    }
    assert(cost[n][m] <= MAX(n, m));
    return cost[n][m];
}

const char *suggest(const char *typed, const char *const *candidates, size_t n)
{
    const char *nearest = NULL;
    size_t length = strlen(typed), best = MAX(length / 3, (size_t)1) + 1;

    for (size_t i = 0; i < n; i++) {
        if (length > 0 && strncmp(candidates[i], typed, length) == 0)
            return candidates[i];
        size_t distance = suggest_distance(typed, candidates[i]);
        if (distance < best) {
            best = distance;
            nearest = candidates[i];
        }
    }
    return nearest;
}
