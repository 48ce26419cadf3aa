/* SPDX-License-Identifier: MIT */
#include "semver.h"

#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PARTS 3

/* A version of which only the first N parts are given: 3.x has one. */
struct partial {
    struct semver version;
    size_t n;
};

static int compare(const struct semver *a, const struct semver *b)
{
    for (size_t i = 0; i < PARTS; i++)
        if (a->part[i] != b->part[i])
            return a->part[i] < b->part[i] ? -1 : 1;
    return 0;
}

/* Reads digits at *AT. False, with *AT where it was, if there are none or too many. */
static bool read_number(const char **at, unsigned *ret)
{
    unsigned value = 0;
    const char *text = *at;
    if (!isdigit((unsigned char)*text))
        return false;
    for (; isdigit((unsigned char)*text); text++) {
        if (value > (UINT_MAX - 9) / 10)
            return false;
        value = value * 10 + (unsigned)(*text - '0');
    }
    *at = text;
    *ret = value;
    return true;
}

bool semver_find(const char *text, struct semver *ret)
{
    *ret = (struct semver){.part = {0}};
    for (; *text; text++) {
        struct semver found = {.part = {0}};
        const char *at = text;
        size_t n = 0;
        while (n < PARTS && read_number(&at, &found.part[n]) && ++n < PARTS && at[0] == '.' &&
               isdigit((unsigned char)at[1]))
            at++;
        if (n >= 2) {
            *ret = found;
            return true;
        }
        while (isdigit((unsigned char)text[0]) && isdigit((unsigned char)text[1]))
            text++;
    }
    return false;
}

void semver_print(const struct semver *version, char ret[SEMVER_TEXT_MAX])
{
    (void)snprintf(ret, SEMVER_TEXT_MAX, "%u.%u.%u", version->part[0], version->part[1],
                   version->part[2]);
}

/* Reads a version of which parts may be missing or wild, and what follows it of a pre-release or a
 * build, which does not count. */
static bool read_partial(const char **at, struct partial *ret)
{
    *ret = (struct partial){.n = 0};
    bool wild = false;
    if (**at == 'v')
        (*at)++;
    for (size_t i = 0; i < PARTS; i++) {
        if (**at != '\0' && strchr("xX*", **at)) {
            (*at)++;
            wild = true;
        } else if (!read_number(at, &ret->version.part[i])) {
            return false;
        } else if (!wild) {
            ret->n = i + 1;
        }
        if (**at != '.')
            break;
        (*at)++;
    }
    if (**at == '-' || **at == '+')
        *at += strcspn(*at, " |");
    for (size_t i = ret->n; i < PARTS; i++)
        ret->version.part[i] = 0;
    return true;
}

/* The first version behind those that agree with PARTIAL in its first N parts. */
static struct semver next_behind(const struct partial *partial, size_t n)
{
    struct semver next = {.part = {0}};
    for (size_t i = 0; i < n; i++)
        next.part[i] = partial->version.part[i];
    if (n > 0)
        next.part[n - 1]++;
    return next;
}

static bool agrees(const struct partial *partial, size_t n, const struct semver *version)
{
    for (size_t i = 0; i < n; i++)
        if (version->part[i] != partial->version.part[i])
            return false;
    return true;
}

/* How many parts a caret holds: up to the first that is not 0. */
static size_t caret_parts(const struct partial *partial)
{
    for (size_t i = 0; i < partial->n; i++)
        if (partial->version.part[i] > 0)
            return i + 1;
    return partial->n;
}

static bool holds(const char *relation, const struct partial *bound, const struct semver *version)
{
    const struct semver behind = next_behind(bound, bound->n);
    int order = compare(version, &bound->version);
    if (strcmp(relation, ">=") == 0)
        return order >= 0;
    if (strcmp(relation, "<") == 0)
        return order < 0;
    if (bound->n == 0)
        return strcmp(relation, ">") != 0;
    if (strcmp(relation, ">") == 0)
        return compare(version, &behind) >= 0;
    if (strcmp(relation, "<=") == 0)
        return compare(version, &behind) < 0;
    if (strcmp(relation, "^") == 0)
        return order >= 0 && agrees(bound, caret_parts(bound), version);
    if (strcmp(relation, "~") == 0)
        return order >= 0 && agrees(bound, bound->n < 2 ? bound->n : 2, version);
    return agrees(bound, bound->n, version);
}

/* Reads the relation at *AT into RET, "" if there is none. */
static bool read_relation(const char **at, char ret[3])
{
    static const char *const relations[] = {"", "=", "<", ">", "<=", ">=", "^", "~"};
    size_t n = strspn(*at, "<>=^~");
    if (n > 2)
        return false;
    memcpy(ret, *at, n);
    ret[n] = '\0';
    *at += n;
    *at += strspn(*at, " ");
    for (size_t i = 0; i < sizeof(relations) / sizeof(relations[0]); i++)
        if (strcmp(ret, relations[i]) == 0)
            return true;
    return false;
}

/* Judges the comparators up to the end or "||", all of which must hold. Sets *AT behind them.
 * False, too, if they cannot be read; *AT is then NULL. */
static bool all_hold(const char **at, const struct semver *version)
{
    bool result = true;
    const char *text = *at + strspn(*at, " ");
    if (*text == '\0' || strncmp(text, "||", 2) == 0) {
        *at = text;
        return true;
    }
    while (*text && strncmp(text, "||", 2) != 0) {
        char relation[3];
        struct partial bound, upper;
        if (!read_relation(&text, relation) || !read_partial(&text, &bound) ||
            (*text && !strchr(" |", *text))) {
            *at = NULL;
            return false;
        }
        text += strspn(text, " ");
        if (text[0] == '-' && text[1] == ' ' && relation[0] == '\0') {
            text += 1 + strspn(text + 1, " ");
            if (!read_partial(&text, &upper) || (*text && !strchr(" |", *text))) {
                *at = NULL;
                return false;
            }
            text += strspn(text, " ");
            result = result && holds(">=", &bound, version) && holds("<=", &upper, version);
        } else {
            result = result && holds(relation, &bound, version);
        }
    }
    *at = text;
    return result;
}

bool semver_selects(const char *selector, const struct semver *version)
{
    bool selected = false;
    for (const char *at = selector;; at += 2) {
        selected = all_hold(&at, version) || selected;
        if (!at)
            return false;
        if (*at == '\0')
            return selected;
    }
}
