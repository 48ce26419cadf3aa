/* SPDX-License-Identifier: MIT */
#include "passk_results.h"

#include <stdio.h>
#include <string.h>

#define ROOM_FIRST 1024

void passk_results_deinit(struct passk_results *results)
{
    free(results->items);
    free(results->item_of);
    intern_deinit(&results->keys);
    intern_deinit(&results->languages);
    *results = (struct passk_results)PASSK_RESULTS_NULL;
}

/* Makes the text that is the same for two lines of one sample: the daemon's answers have an id, and
 * samples a number. NULL in *RET: the line does not say which sample it is of. */
static int key_of(const json_t *line, size_t file_no, const char *task_id, char **ret)
{
    bool is_answer = json_object_get(line, "type") != NULL;
    const json_t *id = json_object_get(line, "id"), *sample = json_object_get(line, "sample");
    int r = 0;
    *ret = NULL;
    if (is_answer && json_string_length(id) > 0)
        r = asprintf(ret, "%zu %s id %s", file_no, task_id, json_string_value(id));
    else if (!is_answer && json_is_integer(sample))
        r = asprintf(ret, "%zu %s sample %" JSON_INTEGER_FORMAT, file_no, task_id,
                     json_integer_value(sample));
    if (r >= 0)
        return 0;
    *ret = NULL;
    return -ENOMEM;
}

/* Reallocates *ARRAY, of items of SIZE bytes and with *ROOM of them, to hold more than N. */
static int grow(void **array, size_t *room, size_t size, size_t n)
{
    if (n < *room)
        return 0;
    size_t wanted = MAX(*room + *room / 2, (size_t)ROOM_FIRST);
    void *grown = reallocarray(*array, wanted, size);
    if (!grown)
        return -ENOMEM;
    *array = grown;
    *room = wanted;
    return 0;
}

/* Sets *RET to the item of KEY; to a new one, which is INTERN_NONE, if KEY is new or NULL. */
static int find_item(struct passk_results *results, const char *key, uint32_t *ret)
{
    uint32_t number;
    *ret = INTERN_NONE;
    if (results->n >= INTERN_NONE)
        return -EFBIG;
    if (!key)
        return 0;
    size_t before = results->keys.n;
    void *array = results->item_of;
    int r = grow(&array, &results->key_room, sizeof(*results->item_of), before);
    results->item_of = array;
    if (r == 0)
        r = intern_put(&results->keys, key, strlen(key), &number);
    if (r < 0)
        return r;
    if (results->keys.n > before)
        results->item_of[number] = (uint32_t)results->n;
    else
        *ret = results->item_of[number];
    return 0;
}

int passk_results_add(struct passk_results *results, const json_t *line, size_t file_no,
                      size_t task, const char *id, enum grade grade)
{
    _cleanup_free_ char *key = NULL;
    const char *language = tally_language_of(line);
    struct passk_result result = {
        .task = (uint32_t)task,
        .language = INTERN_NONE,
        .grade = grade,
        .shared = tally_is_shared(line),
        .broken = tally_is_broken(line),
    };
    uint32_t item = INTERN_NONE;
    void *items = results->items;
    int r = key_of(line, file_no, id, &key);
    if (r == 0 && language)
        r = intern_put(&results->languages, language, strlen(language), &result.language);
    if (r == 0)
        r = grow(&items, &results->room, sizeof(*results->items), results->n);
    results->items = items;
    if (r == 0)
        r = find_item(results, key, &item);
    if (r < 0)
        return r;
    bool replaces = item != INTERN_NONE;
    results->items[replaces ? item : results->n] = result;
    results->n += !replaces;
    return replaces;
}

int passk_results_count(const struct passk_results *results, struct tally *tally)
{
    for (size_t i = 0; i < results->n; i++) {
        const struct passk_result *result = &results->items[i];
        tally_add(tally, result->task, result->grade);
        if (result->grade != GRADE_NONE)
            tally_note(tally, result->task, result->shared, result->broken);
        if (result->language == INTERN_NONE)
            continue;
        int r = tally_add_language(tally, result->task,
                                   intern_text(&results->languages, result->language, NULL),
                                   result->grade);
        if (r < 0)
            return r;
    }
    return 0;
}
