/* SPDX-License-Identifier: MIT */
#include "client/fleet/feeds.h"
#include "proto/json.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static json_t *consumer(const char *name, int pending)
{
    return json_pack("{s:s,s:i,s:{s:I,s:s}}", "name", name, "num_pending", pending, "config",
                     "ack_wait", (json_int_t)2000000000, "description", "any");
}

static bool all(void *arg, const struct feed *feed)
{
    (void)arg;
    (void)feed;
    return true;
}

static bool but(void *name, const struct feed *feed)
{
    return strcmp(feed->name, name) != 0;
}

/* Makes the feeds of consumers that have all something pending. */
static void make_feeds(struct feeds *feeds, const char *const *names, size_t n)
{
    _cleanup_json_ json_t *page = json_array();
    for (size_t i = 0; i < n; i++)
        assert_int_equal(json_array_append_new(page, consumer(names[i], 1)), 0);
    feeds_take_page(feeds, page, true, true);
}

static void expect(const struct feed *feed, const char *name)
{
    assert_non_null(feed);
    assert_string_equal(feed->name, name);
}

/* Each run has its turn; of its feeds the one with the highest priority that is not empty. */
static void test_turns(void **state)
{
    static const char *const names[] = {"b-p10", "a-p2", "a-p12", "c-p0", "foreign"};
    struct feeds feeds = FEEDS_NULL;
    (void)state;
    make_feeds(&feeds, names, ARRAY_SIZE(names));
    assert_int_equal(feeds.n, 4);
    assert_int_equal(feeds_count_runs(&feeds, all, NULL), 3);
    for (int round = 0; round < 2; round++) {
        expect(feeds_next(&feeds, all, NULL), "a-p12");
        expect(feeds_next(&feeds, all, NULL), "b-p10");
        expect(feeds_next(&feeds, all, NULL), "c-p0");
    }
    feeds_find(&feeds, "a-p12")->is_empty = true;
    expect(feeds_next(&feeds, all, NULL), "a-p2");
    expect(feeds_next(&feeds, but, (char[]){"b-p10"}), "c-p0");
    for (size_t i = 0; i < feeds.n; i++)
        feeds.items[i].is_empty = true;
    assert_null(feeds_next(&feeds, all, NULL));
    assert_int_equal(feeds_count_runs(&feeds, all, NULL), 0);
    feeds_deinit(&feeds);
}

/* A run whose turn went to a feed that was empty has it again at once, as long as it has others. */
static void test_a_turn_at_an_empty_feed(void **state)
{
    static const char *const names[] = {"a-p0", "b-p9", "b-p8", "b-p7", "c-p0"};
    struct feeds feeds = FEEDS_NULL;
    (void)state;
    make_feeds(&feeds, names, ARRAY_SIZE(names));
    expect(feeds_next(&feeds, all, NULL), "a-p0");
    expect(feeds_next(&feeds, all, NULL), "b-p9");
    feeds_miss(feeds_find(&feeds, "b-p9"), true);
    expect(feeds_next(&feeds, all, NULL), "b-p8");
    expect(feeds_next(&feeds, all, NULL), "c-p0");
    feeds_miss(feeds_find(&feeds, "b-p8"), true);
    expect(feeds_next(&feeds, all, NULL), "b-p7");
    feeds_miss(feeds_find(&feeds, "b-p7"), true);
    expect(feeds_next(&feeds, all, NULL), "a-p0");
    feeds_miss(feeds_find(&feeds, "c-p0"), false); /* it gave jobs before it was empty */
    expect(feeds_next(&feeds, all, NULL), "a-p0");
    feeds_deinit(&feeds);
}

/* With nothing to do, each feed is waited at in turn. */
static void test_waiting(void **state)
{
    static const char *const names[] = {"a-p1", "b-p1"};
    struct feeds feeds = FEEDS_NULL;
    (void)state;
    assert_null(feeds_next_idle(&feeds, all, NULL));
    make_feeds(&feeds, names, ARRAY_SIZE(names));
    const char *first = feeds_next_idle(&feeds, all, NULL)->name;
    const char *second = feeds_next_idle(&feeds, all, NULL)->name;
    assert_string_not_equal(first, second);
    expect(feeds_next_idle(&feeds, all, NULL), first);
    expect(feeds_next_idle(&feeds, but, (char[]){"a-p1"}), "b-p1");
    feeds_deinit(&feeds);
}

/* A list in two pages: what neither has goes, what has something is no longer empty. */
static void test_lists(void **state)
{
    static const char *const names[] = {"a-p1", "b-p1"};
    struct feeds feeds = FEEDS_NULL;
    (void)state;
    make_feeds(&feeds, names, ARRAY_SIZE(names));
    assert_int_equal(feeds_find(&feeds, "a-p1")->ack_wait_ms, 2000);
    feeds_find(&feeds, "b-p1")->is_empty = true;
    _cleanup_json_ json_t *first = json_pack("[o]", consumer("c-p1", 0));
    _cleanup_json_ json_t *second = json_pack("[o]", consumer("b-p1", 0));
    feeds_take_page(&feeds, first, true, false);
    assert_int_equal(feeds.n, 3);
    feeds_take_page(&feeds, second, false, true);
    assert_int_equal(feeds.n, 2);
    assert_null(feeds_find(&feeds, "a-p1"));
    assert_true(feeds_find(&feeds, "b-p1")->is_empty);
    make_feeds(&feeds, names, ARRAY_SIZE(names));
    assert_false(feeds_find(&feeds, "b-p1")->is_empty);
    feeds_deinit(&feeds);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_turns),
        cmocka_unit_test(test_a_turn_at_an_empty_feed),
        cmocka_unit_test(test_waiting),
        cmocka_unit_test(test_lists),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
