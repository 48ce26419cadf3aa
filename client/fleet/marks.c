/* SPDX-License-Identifier: MIT */
#include "marks.h"
#include "names.h"

#include "proto/json.h"
#include "proto/printer.h"

#include <string.h>

void mark_deinit(struct mark *mark)
{
    json_decref(mark->messages);
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

/* Returns OBJECT if it is the mark of the message SEQ in QUEUE, or of none of that queue; NULL if
 * it is no mark or another one's. */
static const json_t *check_message(const json_t *object, const char *queue, uint64_t seq)
{
    const json_t *messages = json_object_get(object, "messages");
    const json_t *known = json_object_get(messages, queue);
    bool is_ours =
        !known || (json_is_integer(known) && json_integer_value(known) == (json_int_t)seq);
    return json_is_object(messages) && is_ours ? object : NULL;
}

int marks_read(const char *text, size_t n, int64_t priority, uint64_t seq, struct mark *ret)
{
    _cleanup_json_ json_t *object = NULL;
    struct fault fault = FAULT_NULL;
    char queue[NAMES_QUEUE_SIZE];
    (void)json_read_object(text, n, &object, &fault);
    names_queue(priority, queue);
    const json_t *ours = check_message(object, queue, seq);
    struct mark mark = {.messages =
                            ours ? json_incref(json_object_get(ours, "messages")) : json_object(),
                        .starts = entries_of(ours, "starts"),
                        .starved = entries_of(ours, "starved")};
    json_int_t n_without = json_integer_value(json_object_get(ours, "without_rubric"));
    mark.without_rubric = (uint64_t)MAX(n_without, (json_int_t)0);
    if (!mark.starts || !mark.starved ||
        json_object_set_new(mark.messages, queue, json_integer((json_int_t)seq)) < 0) {
        mark_deinit(&mark);
        return -ENOMEM;
    }
    *ret = mark;
    return 0;
}

size_t marks_count_starts(const char *text, size_t n)
{
    _cleanup_json_ json_t *object = NULL;
    struct fault fault = FAULT_NULL;
    (void)json_read_object(text, n, &object, &fault);
    return json_array_size(json_object_get(object, "starts"));
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

const char *marks_worker_at(const json_t *entries, size_t index)
{
    return text_at(entries, index, "worker");
}

const char *marks_nonce_at(const json_t *entries, size_t index)
{
    return text_at(entries, index, "nonce");
}

int marks_find(const json_t *entries, const char *nonce)
{
    for (size_t i = 0; i < json_array_size(entries); i++)
        if (strcmp(marks_nonce_at(entries, i), nonce) == 0)
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
        if (strcmp(marks_worker_at(entries, i), worker) == 0)
            return true;
    return false;
}

int marks_print(const struct mark *mark, struct bytes *ret)
{
    _cleanup_json_ json_t *object =
        json_pack("{s:O,s:O}", "messages", mark->messages, "starts", mark->starts);
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
        const char *worker = marks_worker_at(starts, i);
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
