/* SPDX-License-Identifier: MIT */
#include "marks.h"

#include "proto/json.h"
#include "proto/printer.h"

#include <string.h>

void mark_deinit(struct mark *mark)
{
    json_decref(mark->starts);
    json_decref(mark->starved);
    *mark = (struct mark)MARK_NULL;
}

/* Returns the array NAME of MARK; an empty one if it has none. */
static json_t *entries_of(const json_t *mark, const char *name)
{
    json_t *entries = json_object_get(mark, name);
    return json_is_array(entries) ? json_incref(entries) : json_array();
}

int marks_read(const char *text, size_t n, uint64_t seq, struct mark *ret)
{
    _cleanup_json_ json_t *object = NULL;
    struct fault fault = FAULT_NULL;
    const json_t *ours = NULL;
    uint64_t its_seq = 0;
    if (json_read_object(text, n, &object, &fault) == 0)
        its_seq = (uint64_t)MAX(json_integer_value(json_object_get(object, "seq")), (json_int_t)0);
    if (its_seq >= seq)
        ours = object;
    struct mark mark = {.seq = MAX(its_seq, seq),
                        .starts = entries_of(ours, "starts"),
                        .starved = entries_of(ours, "starved")};
    json_int_t n_without = json_integer_value(json_object_get(ours, "without_rubric"));
    mark.without_rubric = (uint64_t)MAX(n_without, (json_int_t)0);
    if (!mark.starts || !mark.starved) {
        mark_deinit(&mark);
        return -ENOMEM;
    }
    *ret = mark;
    return 0;
}

int marks_add(json_t *entries, const char *worker, const char *nonce)
{
    return json_array_append_new(entries,
                                 json_pack("{s:s,s:s}", "worker", worker, "nonce", nonce)) < 0
               ? -ENOMEM
               : 0;
}

/* Returns the member NAME of the entry at INDEX; "" if there is none. */
static const char *text_at(const json_t *entries, size_t index, const char *name)
{
    const char *text = json_string_value(json_object_get(json_array_get(entries, index), name));
    return text ? text : "";
}

int marks_find(const json_t *entries, const char *nonce)
{
    for (size_t i = 0; i < json_array_size(entries); i++)
        if (strcmp(text_at(entries, i, "nonce"), nonce) == 0)
            return (int)i;
    return -ENOENT;
}

int marks_remove(json_t *entries, const char *nonce)
{
    int at = marks_find(entries, nonce);
    return at < 0 ? at : json_array_remove(entries, (size_t)at);
}

bool marks_has_worker(const json_t *entries, const char *worker)
{
    for (size_t i = 0; i < json_array_size(entries); i++)
        if (strcmp(text_at(entries, i, "worker"), worker) == 0)
            return true;
    return false;
}

int marks_print(const struct mark *mark, struct bytes *ret)
{
    _cleanup_json_ json_t *object =
        json_pack("{s:I,s:O}", "seq", (json_int_t)mark->seq, "starts", mark->starts);
    if (object && json_array_size(mark->starved) > 0 &&
        json_object_set(object, "starved", mark->starved) < 0)
        return -ENOMEM;
    if (object && mark->without_rubric > 0 &&
        json_object_set_new(object, "without_rubric",
                            json_integer((json_int_t)mark->without_rubric)) < 0)
        return -ENOMEM;
    return object ? json_print(object, ret) : -ENOMEM;
}

void marks_reason(const json_t *starts, char ret[FAULT_MAX])
{
    size_t n = json_array_size(starts), used;
    used = (size_t)snprintf(ret, FAULT_MAX, "the job was started %zu times (by ", n);
    for (size_t i = 0; i < n && used < FAULT_MAX; i++) {
        const char *worker = text_at(starts, i, "worker");
        used += (size_t)snprintf(ret + used, FAULT_MAX - used, "%s%.64s",
                                 i == 0       ? ""
                                 : i + 1 == n ? " and "
                                              : ", ",
                                 *worker ? worker : "?");
    }
    if (used < FAULT_MAX)
        (void)snprintf(ret + used, FAULT_MAX - used,
                       "), and no worker lived to say how it ended: it may take them down");
}
