/* SPDX-License-Identifier: MIT */
#include "client/fleet/marks.h"
#include "proto/json.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static struct mark read_mark(const char *text, uint64_t seq)
{
    struct mark mark = MARK_NULL;
    assert_int_equal(marks_read(text, strlen(text), 0, seq, &mark), 0);
    assert_true(json_is_array(mark.starts) && json_is_array(mark.starved));
    return mark;
}

static void test_starts_and_their_ends(void **state)
{
    _cleanup_bytes_ struct bytes text = BYTES_NULL;
    (void)state;
    _cleanup_mark_ struct mark mark = read_mark("", 7);
    assert_int_equal(json_array_size(mark.starts), 0);
    assert_int_equal(marks_add(mark.starts, "a", "n1"), 0);
    assert_int_equal(marks_add(mark.starts, "b", "n2"), 0);
    assert_int_equal(marks_find(mark.starts, "n2"), 1);
    assert_int_equal(marks_find(mark.starts, "n3"), -ENOENT);
    assert_int_equal(marks_print(&mark, &text), 0);
    assert_null(strstr(text.data, "starved"));

    _cleanup_mark_ struct mark again = read_mark(text.data, 7);
    assert_true(json_equal(again.starts, mark.starts));
    assert_int_equal(marks_remove(again.starts, "n1"), 0);
    assert_int_equal(marks_remove(again.starts, "n1"), -ENOENT);
    assert_int_equal(marks_find(again.starts, "n2"), 0);
}

/* Where the job starved is kept beside its starts, and goes with the mark. */
static void test_where_it_starved(void **state)
{
    _cleanup_bytes_ struct bytes text = BYTES_NULL;
    (void)state;
    _cleanup_mark_ struct mark mark = read_mark("{\"messages\":{\"p10\":7},\"starts\":[]}", 7);
    assert_int_equal(json_array_size(mark.starved), 0);
    assert_int_equal(marks_add(mark.starved, "a", "n1"), 0);
    assert_int_equal(marks_print(&mark, &text), 0);

    _cleanup_mark_ struct mark again = read_mark(text.data, 7), other = read_mark(text.data, 8);
    assert_true(marks_has_worker(again.starved, "a"));
    assert_false(marks_has_worker(again.starved, "ab"));
    assert_false(marks_has_worker(again.starts, "a"));
    assert_false(marks_has_worker(other.starved, "a"));
}

/* How often its rubric was not to be had goes with the mark, too. */
static void test_how_often_its_rubric_was_lacking(void **state)
{
    _cleanup_bytes_ struct bytes none = BYTES_NULL, text = BYTES_NULL;
    (void)state;
    _cleanup_mark_ struct mark mark = read_mark("{\"messages\":{\"p10\":7},\"starts\":[]}", 7);
    assert_int_equal(marks_print(&mark, &none), 0);
    assert_null(strstr(none.data, "without_rubric"));
    mark.without_rubric = 19;
    assert_int_equal(marks_print(&mark, &text), 0);
    _cleanup_mark_ struct mark again = read_mark(text.data, 7), other = read_mark(text.data, 8);
    _cleanup_mark_ struct mark wrong =
        read_mark("{\"messages\":{\"p10\":7},\"without_rubric\":-3}", 7);
    assert_int_equal(again.without_rubric, 19);
    assert_int_equal(other.without_rubric, 0);
    assert_int_equal(wrong.without_rubric, 0);
}

#define ENTRIES                                        \
    "\"starts\":[{\"worker\":\"a\",\"nonce\":\"n\"}]," \
    "\"starved\":[{\"worker\":\"a\",\"nonce\":\"n\"}]"

/* What another message of the queue has left counts for nothing, nor does what is no mark. */
static void test_marks_of_something_else(void **state)
{
    static const char *const none[] = {
        "{\"messages\":{\"p10\":6}," ENTRIES "}", /* an earlier submission's */
        "{\"messages\":{\"p10\":8}," ENTRIES "}", /* likewise: the queue was made anew since */
        "{\"messages\":{\"p10\":\"7\"}," ENTRIES "}",
        "{\"messages\":7," ENTRIES "}",
        "{" ENTRIES "}",
        MARKS_ANEW,
        "{\"messages\":{\"p10\":7},\"starts\":3,\"starved\":{}}",
        "nonsense",
        "[]",
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(none); i++) {
        _cleanup_mark_ struct mark mark = read_mark(none[i], 7);
        assert_int_equal(json_array_size(mark.starts) + json_array_size(mark.starved), 0);
        assert_int_equal(json_object_size(mark.messages), 1);
        assert_int_equal(json_integer_value(json_object_get(mark.messages, "p10")), 7);
    }
}

/* With several messages of a job in the queue, each is delivered again while the others' mark is
 * there: the starts of all count, or none would ever be the last. */
static void test_several_messages_of_a_job(void **state)
{
    static const struct {
        int64_t priority;
        uint64_t seq;
    } delivered[] = {{0, 7}, {5, 8}, {0, 7}, {-3, 5}};
    char nonce[2] = "0";
    _cleanup_bytes_ struct bytes text = BYTES_NULL;
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(delivered); i++, nonce[0]++) {
        _cleanup_mark_ struct mark mark = MARK_NULL;
        assert_int_equal(
            marks_read(text.data, text.length, delivered[i].priority, delivered[i].seq, &mark), 0);
        assert_int_equal(json_array_size(mark.starts), i);
        assert_int_equal(marks_add(mark.starts, "a", nonce), 0);
        bytes_deinit(&text);
        assert_int_equal(marks_print(&mark, &text), 0);
    }
    assert_int_equal(marks_count_starts(text.data, text.length), ARRAY_SIZE(delivered));
    _cleanup_mark_ struct mark last = read_mark(text.data, 7), other = read_mark(text.data, 9);
    assert_int_equal(json_array_size(last.starts), ARRAY_SIZE(delivered));
    assert_int_equal(json_object_size(last.messages), 3);
    assert_int_equal(json_array_size(other.starts), 0);
    assert_int_equal(marks_count_starts(MARKS_ANEW, strlen(MARKS_ANEW)), 0);
    assert_int_equal(marks_count_starts("nonsense", 8), 0);
}

static void test_the_reason_names_the_workers(void **state)
{
    char reason[FAULT_MAX];
    (void)state;
    _cleanup_json_ json_t *starts = json_array();
    assert_int_equal(marks_add(starts, "a", "1"), 0);
    assert_int_equal(marks_add(starts, "b", "2"), 0);
    assert_int_equal(marks_add(starts, "a", "3"), 0);
    marks_reason(starts, reason);
    assert_string_equal(reason, "the job was started 3 times (by a, b and a), and no worker lived "
                                "to say how it ended: it may take them down");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_starts_and_their_ends),
        cmocka_unit_test(test_where_it_starved),
        cmocka_unit_test(test_how_often_its_rubric_was_lacking),
        cmocka_unit_test(test_marks_of_something_else),
        cmocka_unit_test(test_several_messages_of_a_job),
        cmocka_unit_test(test_the_reason_names_the_workers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
