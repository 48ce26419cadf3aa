/* SPDX-License-Identifier: MIT */
#include "pattern.h"

#include <stddef.h>
#include <string.h>

/* Returns the bracket that closes the set, whose first byte SET is; NULL if there is none. One that
 * comes first belongs to the set. */
static const char *end_of_set(const char *set)
{
    set += *set == '!' || *set == '^';
    set += *set == ']';
    while (*set && *set != ']')
        set++;
    return *set ? set : NULL;
}

static bool set_has(const char *set, const char *end, unsigned char c)
{
    bool is_negated = *set == '!' || *set == '^', is_found = false;
    for (set += is_negated; set < end; set++) {
        unsigned char low = (unsigned char)*set, high = low;
        if (set + 2 < end && set[1] == '-') {
            high = (unsigned char)set[2];
            set += 2;
        }
        is_found |= low <= c && c <= high;
    }
    return is_found != is_negated;
}

/* Whether the first element of PATTERN, which is no star, matches C. *ret_rest is what follows it.
 */
static bool match_one(const char *pattern, unsigned char c, const char **ret_rest)
{
    const char *end = *pattern == '[' ? end_of_set(pattern + 1) : NULL;
    if (end) {
        *ret_rest = end + 1;
        return set_has(pattern + 1, end, c);
    }
    bool is_any = *pattern == '?';
    if (*pattern == '\\' && pattern[1])
        pattern++;
    *ret_rest = pattern + 1;
    return is_any || (unsigned char)*pattern == c;
}

/* How many bytes of PATTERN were looked at to find REST behind its first element: all of them for a
 * bracket that none closes. */
static size_t looked_at(const char *pattern, const char *rest)
{
    return *pattern == '[' && rest == pattern + 1 ? strlen(pattern) : (size_t)(rest - pattern);
}

/* Takes N from *BUDGET; false: there is not so much left. */
static bool spend(uint64_t *budget, size_t n)
{
    bool is_left = *budget >= n;
    *budget = is_left ? *budget - n : 0;
    return is_left;
}

bool pattern_matches_within(const char *pattern, const char *name, uint64_t *budget)
{
    /* A later star makes good for an earlier one, so only the last is tried again. */
    const char *behind_star = NULL, *retry = NULL;
    while (*name) {
        const char *rest = pattern;
        bool is_matched =
            *pattern && *pattern != '*' && match_one(pattern, (unsigned char)*name, &rest);
        if (!spend(budget, looked_at(pattern, rest) + 1))
            return true;
        if (*pattern == '*') {
            behind_star = ++pattern;
            retry = name;
        } else if (is_matched) {
            pattern = rest;
            name++;
        } else if (behind_star) {
            pattern = behind_star;
            name = ++retry;
        } else {
            return false;
        }
    }
    while (*pattern == '*')
        pattern++;
    return !*pattern;
}

bool pattern_matches(const char *pattern, const char *name)
{
    uint64_t budget = UINT64_MAX;
    return pattern_matches_within(pattern, name, &budget);
}

bool pattern_is_name(const char *pattern)
{
    return !pattern[strcspn(pattern, "*?[\\")];
}
