/* SPDX-License-Identifier: MIT */
#include "pending.h"
#include "text.h"

int pending_init(struct pending *ret)
{
    json_t *ids = json_object();
    if (!ids)
        return -ENOMEM;
    *ret = (struct pending){.ids = ids};
    return 0;
}

void pending_deinit(struct pending *pending)
{
    json_decref(pending->ids);
    *pending = (struct pending)PENDING_NULL;
}

size_t pending_count(const struct pending *pending)
{
    return json_object_size(pending->ids);
}

bool pending_has(const struct pending *pending, const char *id, size_t n)
{
    return json_object_getn(pending->ids, id, n) != NULL;
}

int pending_add(struct pending *pending, const struct bytes *id, json_t *note,
                const struct bytes *payload)
{
    if (pending_has(pending, id->data, id->length))
        return -EEXIST;
    json_t *kept = json_pack("[o,o]", note ? json_incref(note) : json_null(),
                             json_stringn_nocheck(payload->data, payload->length));
    if (json_object_setn_new_nocheck(pending->ids, id->data, id->length, kept) < 0)
        return -ENOMEM;
    return 0;
}

json_t *pending_take(struct pending *pending, const char *id, size_t n)
{
    json_t *note = json_incref(json_array_get(json_object_getn(pending->ids, id, n), 0));
    (void)json_object_deln(pending->ids, id, n);
    return note;
}

void pending_each(const struct pending *pending, pending_visit *visit, void *arg)
{
    for (void *i = json_object_iter(pending->ids); i; i = json_object_iter_next(pending->ids, i)) {
        const json_t *text = json_array_get(json_object_iter_value(i), 1);
        const struct bytes payload = {
            .data = (char *)(uintptr_t)json_string_value(text),
            .length = json_string_length(text),
        };
        if (!visit(json_object_iter_key(i), json_object_iter_key_len(i), &payload, arg))
            return;
    }
}

struct listing {
    FILE *out;
    size_t n;
    size_t max;
};

static bool put_one(const char *id, size_t n, _unused_ const struct bytes *payload, void *arg)
{
    struct listing *listing = arg;
    if (listing->n == listing->max)
        return false;
    (void)fputs(listing->n > 0 ? ", " : "", listing->out);
    text_put(listing->out, id, n);
    listing->n++;
    return true;
}

void pending_put(FILE *out, const struct pending *pending, size_t max)
{
    struct listing listing = {.out = out, .max = max};
    pending_each(pending, put_one, &listing);
    if (pending_count(pending) > listing.n)
        (void)fprintf(out, " and %zu more", pending_count(pending) - listing.n);
}
