/* SPDX-License-Identifier: MIT */
#include "feeds.h"

#include <string.h>

#define MS_NS INT64_C(1000000)

bool feeds_allow(const char *wanted, const char *digest)
{
    return strcmp(wanted, FEEDS_ANY) == 0 || strcmp(wanted, digest) == 0;
}

void feeds_deinit(struct feeds *feeds)
{
    free(feeds->items);
    *feeds = (struct feeds)FEEDS_NULL;
}

struct feed *feeds_find(struct feeds *feeds, const char *name)
{
    for (size_t i = 0; i < feeds->n; i++)
        if (strcmp(feeds->items[i].name, name) == 0)
            return &feeds->items[i];
    return NULL;
}

static int by_turn(const void *left, const void *right)
{
    const struct feed *a = left, *b = right;
    int order = strcmp(a->run, b->run);
    if (order != 0)
        return order;
    return a->priority > b->priority ? -1 : a->priority < b->priority;
}

static struct feed *add(struct feeds *feeds, const char *name)
{
    struct feed feed = {.is_empty = false};
    if (!names_read_consumer(name, feed.run, &feed.priority) || strlen(name) >= sizeof(feed.name))
        return NULL; /* made by somebody else */
    struct feed *items = reallocarray(feeds->items, feeds->n + 1, sizeof(*items));
    if (!items)
        return NULL; /* the next list has it again */
    (void)snprintf(feed.name, sizeof(feed.name), "%s", name);
    feeds->items = items;
    items[feeds->n] = feed;
    return &items[feeds->n++];
}

static void take_consumer(struct feeds *feeds, const json_t *consumer)
{
    const char *name = json_string_value(json_object_get(consumer, "name"));
    const json_t *config = json_object_get(consumer, "config");
    const char *digest = json_string_value(json_object_get(config, "description"));
    struct feed *feed = name ? feeds_find(feeds, name) : NULL;
    if (!feed && name)
        feed = add(feeds, name);
    if (!feed)
        return;
    feed->ack_wait_ms = json_integer_value(json_object_get(config, "ack_wait")) / MS_NS;
    (void)snprintf(feed->digest, sizeof(feed->digest), "%s", digest ? digest : FEEDS_ANY);
    feed->is_listed = true;
    /* What is to be delivered again does not count as pending. */
    if (json_integer_value(json_object_get(consumer, "num_pending")) > 0 ||
        json_integer_value(json_object_get(consumer, "num_ack_pending")) > 0)
        feed->is_empty = false;
}

static void drop_unlisted(struct feeds *feeds)
{
    size_t n = 0;
    for (size_t i = 0; i < feeds->n; i++)
        if (feeds->items[i].is_listed)
            feeds->items[n++] = feeds->items[i];
    feeds->n = n;
}

void feeds_take_page(struct feeds *feeds, const json_t *consumers, bool first, bool last)
{
    for (size_t i = 0; first && i < feeds->n; i++)
        feeds->items[i].is_listed = false;
    for (size_t i = 0; i < json_array_size(consumers); i++)
        take_consumer(feeds, json_array_get(consumers, i));
    if (last) {
        drop_unlisted(feeds);
        if (feeds->n > 1)
            qsort(feeds->items, feeds->n, sizeof(*feeds->items), by_turn);
    }
}

/* Returns the index of the first feed behind the run NAME. */
static size_t behind_run(const struct feeds *feeds, const char *name)
{
    size_t i = 0;
    while (i < feeds->n && strcmp(feeds->items[i].run, name) <= 0)
        i++;
    return i;
}

void feeds_miss(struct feed *feed, bool was_turn)
{
    feed->is_empty = true;
    feed->is_owed = was_turn;
}

/* Takes back what the run NAME is owed. Returns its first feed that is not empty and that SUITS
 * accepts; NULL: none. */
static struct feed *settle_turn(struct feeds *feeds, const char *name, feeds_suits *suits,
                                void *arg)
{
    struct feed *found = NULL;
    for (size_t i = 0; i < feeds->n; i++) {
        struct feed *feed = &feeds->items[i];
        if (strcmp(feed->run, name) != 0)
            continue;
        feed->is_owed = false;
        if (!found && !feed->is_empty && suits(arg, feed))
            found = feed;
    }
    return found;
}

/* Returns the feed of a run that is owed a turn. */
static struct feed *next_owed(struct feeds *feeds, feeds_suits *suits, void *arg)
{
    struct feed *found = NULL;
    for (size_t i = 0; i < feeds->n && !found; i++)
        if (feeds->items[i].is_owed)
            found = settle_turn(feeds, feeds->items[i].run, suits, arg);
    return found;
}

struct feed *feeds_next(struct feeds *feeds, feeds_suits *suits, void *arg)
{
    struct feed *owed = next_owed(feeds, suits, arg);
    if (owed)
        return owed;
    size_t from = behind_run(feeds, feeds->last_run);
    for (size_t i = 0; i < feeds->n; i++) {
        struct feed *feed = &feeds->items[(from + i) % feeds->n];
        if (feed->is_empty || !suits(arg, feed))
            continue;
        (void)snprintf(feeds->last_run, sizeof(feeds->last_run), "%s", feed->run);
        return feed;
    }
    return NULL;
}

size_t feeds_count_runs(const struct feeds *feeds, feeds_suits *suits, void *arg)
{
    const char *last = "";
    size_t n = 0;
    for (size_t i = 0; i < feeds->n; i++) {
        const struct feed *feed = &feeds->items[i];
        if (feed->is_empty || strcmp(feed->run, last) == 0 || !suits(arg, feed))
            continue;
        last = feed->run;
        n++;
    }
    return n;
}

struct feed *feeds_next_idle(struct feeds *feeds, feeds_suits *suits, void *arg)
{
    size_t from = 0;
    while (from < feeds->n && strcmp(feeds->items[from].name, feeds->last_idle) != 0)
        from++;
    for (size_t i = 1; i <= feeds->n; i++) {
        struct feed *feed = &feeds->items[(from + i) % feeds->n];
        if (!suits(arg, feed))
            continue;
        (void)snprintf(feeds->last_idle, sizeof(feeds->last_idle), "%s", feed->name);
        return feed;
    }
    return NULL;
}
