/* SPDX-License-Identifier: MIT */
#include "selection.h"

#include "conf/suggest.h"
#include "proto/request.h"

#include <fnmatch.h>
#include <string.h>

/* The keys of filters, and the members of `run` that they look at. */
static const struct {
    const char *key;
    const char *member;
} keys[] = {
    {"id", "case_id"},
    {"task_class", "task_class"},
    {"kind", "kind"},
};

/* The length of WORD if FILTER is WORD=GLOB with a plain identifier as its word; otherwise 0. Ids
 * such as "Own/1=3" are no such filters. */
static size_t key_length(const char *filter)
{
    size_t n = strspn(filter, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789");
    return filter[n] == '=' && !(*filter >= '0' && *filter <= '9') ? n : 0;
}

static bool is_key(const char *word, size_t n)
{
    for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
        if (strlen(keys[i].key) == n && strncmp(keys[i].key, word, n) == 0)
            return true;
    return false;
}

/* A typo of a key must not pass as a pattern for ids that matches none. Ids may look like that,
 * too, so say how to name one. */
static int check_key(const char *filter, struct fault *fault)
{
    const char *names[ARRAY_SIZE(keys) + 1] = {NULL};
    char word[64];
    size_t n = key_length(filter);
    if (n == 0 || is_key(filter, n))
        return 0;
    for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
        names[i] = keys[i].key;
    (void)snprintf(word, sizeof(word), "%.*s", (int)n, filter);
    const char *near = suggest(word, names, ARRAY_SIZE(keys));
    return fault_set(fault,
                     "--filter: unknown key \"%s\"%s%s%s (keys: id, task_class, kind; for an id "
                     "with a \"=\" write id=%s)",
                     word, near ? "; did you mean " : "", near ? near : "", near ? "?" : "",
                     filter);
}

/* Splits FILTER, KEY=GLOB or a glob for the id; returns the glob. */
static const char *split(const char *filter, const char **ret_member)
{
    for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
        size_t n = strlen(keys[i].key);
        if (strncmp(filter, keys[i].key, n) == 0 && filter[n] == '=') {
            *ret_member = keys[i].member;
            return filter + n + 1;
        }
    }
    *ret_member = "case_id";
    return filter;
}

int selection_init(struct selection *ret, const struct text_list *filters, uint64_t limit,
                   struct fault *fault)
{
    const char *member;
    for (size_t i = 0; i < filters->n; i++) {
        if (check_key(filters->items[i], fault) < 0)
            return -EINVAL;
        if (!*split(filters->items[i], &member))
            return fault_set(fault,
                             "--filter: expected a pattern, or id=PATTERN, task_class=PATTERN or "
                             "kind=PATTERN, got \"%s\"",
                             filters->items[i]);
    }
    *ret = (struct selection){.filters = filters, .limit = limit};
    return 0;
}

/* Whether PATTERN is for ID as reports write it: TASK#NUMBER. COLON is before the number. */
static bool matches_as_reported(const char *pattern, const char *id, const char *colon)
{
    char shown[REQUEST_ID_MAX + 1];
    (void)snprintf(shown, sizeof(shown), "%s", id);
    shown[colon - id] = '#';
    return fnmatch(pattern, shown, 0) == 0;
}

/* Whether PATTERN matches ID, or what ID has before its number. */
static bool matches_id(const struct selection *selection, const char *pattern, const char *id)
{
    char task[REQUEST_ID_MAX + 1];
    const char *colon = strrchr(id, ':');
    if (fnmatch(pattern, id, 0) == 0)
        return true;
    if (!selection->numbered || !colon || (size_t)(colon - id) >= sizeof(task))
        return false;
    memcpy(task, id, (size_t)(colon - id));
    task[colon - id] = '\0';
    return fnmatch(pattern, task, 0) == 0 || matches_as_reported(pattern, id, colon);
}

bool selection_is_all(const struct selection *selection)
{
    return selection->filters->n == 0 && selection->limit == 0;
}

bool selection_wants(const struct selection *selection, const struct submission *submission)
{
    for (size_t i = 0; i < selection->filters->n; i++) {
        const char *member;
        const char *pattern = split(selection->filters->items[i], &member);
        const char *text = json_string_value(json_object_get(submission->run, member));
        bool is_id = strcmp(member, keys[0].member) == 0;
        if (!text ||
            (is_id ? !matches_id(selection, pattern, text) : fnmatch(pattern, text, 0) != 0))
            return false;
    }
    return true;
}

bool selection_count(struct selection *selection, const struct submission *submission)
{
    if (json_integer_value(json_object_get(submission->run, "sample")) > 1)
        return true;
    if (selection->limit > 0 && selection->cases == selection->limit)
        return false;
    selection->cases++;
    return true;
}
