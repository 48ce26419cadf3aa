/* SPDX-License-Identifier: MIT */
#include "client/batch/pending.h"
#include "tests/unit/caught.h"

#include <string.h>

static const char payload[] = "{\"\u00e9\":1}";

static int add_with(struct pending *pending, const char *id, size_t n, json_t *note, json_t *run)
{
    struct bytes id_bytes = BYTES_NULL, request = BYTES_NULL;
    struct tests tests = TESTS_NULL;
    assert_int_equal(bytes_copy(id, n, &id_bytes), 0);
    assert_int_equal(bytes_copy(payload, strlen(payload), &request), 0);
    int r = pending_add(pending, &id_bytes, &request, &tests, note, run, 100);
    /* It takes over both or neither. */
    assert_true((r == 0) == (id_bytes.data == NULL));
    assert_true((r == 0) == (request.data == NULL));
    bytes_deinit(&id_bytes);
    bytes_deinit(&request);
    return r;
}

static int add(struct pending *pending, const char *id, size_t n)
{
    return add_with(pending, id, n, NULL, NULL);
}

/* Takes ID out; returns whether it was in the set. */
static bool take(struct pending *pending, const char *id, size_t n)
{
    struct pending_job *job = pending_find(pending, id, n);
    if (job)
        pending_job_free(pending_take(pending, job));
    return job != NULL;
}

static void assert_listed(const struct pending *pending, size_t max, const char *expected)
{
    _cleanup_free_ char *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);
    pending_put(out, pending, max);
    (void)fclose(out);
    assert_string_equal(text, expected);
}

static void test_set(void **state)
{
    _cleanup_pending_ struct pending pending = PENDING_NULL;
    (void)state;
    assert_int_equal(pending_init(&pending), 0);
    assert_int_equal(pending_count(&pending), 0);
    assert_int_equal(add(&pending, "a", 1), 0);
    assert_int_equal(add(&pending, "a", 1), -EEXIST);
    assert_int_equal(add(&pending, "b", 1), 0);
    assert_int_equal(pending_count(&pending), 2);
    assert_true(take(&pending, "a", 1));
    assert_false(take(&pending, "a", 1));
    assert_int_equal(add(&pending, "a", 1), 0);
    assert_listed(&pending, 5, "b, a");
}

static void test_nul_in_ids(void **state)
{
    _cleanup_pending_ struct pending pending = PENDING_NULL;
    (void)state;
    assert_int_equal(pending_init(&pending), 0);
    assert_int_equal(add(&pending, "a", 1), 0);
    assert_int_equal(add(&pending, "a\0b", 3), 0);
    assert_int_equal(add(&pending, "a\0c", 3), 0);
    assert_int_equal(add(&pending, "a\0b", 3), -EEXIST);
    assert_listed(&pending, 5, "a, a\\x00b, a\\x00c");
    assert_true(take(&pending, "a\0b", 3));
    assert_false(take(&pending, "a\0d", 3));
    assert_listed(&pending, 5, "a, a\\x00c");
}

static void test_notes(void **state)
{
    _cleanup_pending_ struct pending pending = PENDING_NULL;
    json_t *note = json_integer(7), *run = json_object();
    (void)state;
    assert_int_equal(pending_init(&pending), 0);
    assert_int_equal(add_with(&pending, "a", 1, note, run), 0);
    assert_int_equal(add_with(&pending, "a", 1, run, note), -EEXIST);
    assert_int_equal(add_with(&pending, "b", 1, NULL, NULL), 0);
    struct pending_job *job = pending_take(&pending, pending_find(&pending, "a", 1));
    assert_ptr_equal(job->note, note);
    assert_ptr_equal(job->run, run);
    assert_int_equal(note->refcount, 2);
    pending_job_free(job);
    assert_int_equal(note->refcount, 1);
    assert_int_equal(run->refcount, 1);
    assert_null(pending_find(&pending, "a", 1));
    assert_null(pending_find(&pending, "b", 1)->note);
    json_decref(note);
    json_decref(run);
}

static void test_states(void **state)
{
    _cleanup_pending_ struct pending pending = PENDING_NULL;
    (void)state;
    assert_int_equal(pending_init(&pending), 0);
    assert_int_equal(add(&pending, "a", 1), 0);
    assert_int_equal(add(&pending, "b", 1), 0);
    struct pending_job *a = pending_find(&pending, "a", 1);
    assert_int_equal(a->state, PENDING_QUEUED);
    assert_int_equal(a->since_ms, 100);
    assert_int_equal(pending_in_flight(&pending), 2);
    pending_enter(&pending, a, PENDING_RUNNING, 200);
    assert_int_equal(a->since_ms, 200);
    assert_int_equal(pending_in_flight(&pending), 2);
    pending_enter(&pending, a, PENDING_WAITING, 300);
    assert_int_equal(pending_in_flight(&pending), 1);
    assert_int_equal(pending.counts[PENDING_WAITING], 1);
    assert_false(pending_is_in_flight(a));
    assert_int_equal(pending_count(&pending), 2);
    pending_enter(&pending, a, PENDING_QUEUED, 400);
    assert_int_equal(pending.counts[PENDING_WAITING], 0);
    assert_int_equal(pending_in_flight(&pending), 2);
    pending_enter(&pending, a, PENDING_WITHDRAWN, 500);
    assert_true(pending_is_in_flight(a));
    assert_int_equal(pending_in_flight(&pending), 2);
    assert_ptr_equal(pending_take(&pending, a), a);
    assert_int_equal(a->state, PENDING_OUT);
    assert_int_equal(pending.counts[PENDING_WITHDRAWN], 0);
    assert_int_equal(pending_in_flight(&pending), 1);
    pending_job_free(a);
}

/* Changes a job's state from FROM to TO. An assertion must stop this unless LEGAL. */
static void expect_transition(enum pending_state from, enum pending_state to, bool legal)
{
    _cleanup_pending_ struct pending pending = PENDING_NULL;
    assert_int_equal(pending_init(&pending), 0);
    assert_int_equal(add(&pending, "a", 1), 0);
    struct pending_job *job = pending_find(&pending, "a", 1);
    if (from != PENDING_QUEUED)
        pending_enter(&pending, job, from, 200);
    assert_int_equal(aborts(pending_enter(&pending, job, to, 300), !legal), !legal);
}

static void test_transitions(void **state)
{
    (void)state;
    /* A lost daemon comes back; the attempt is due. */
    expect_transition(PENDING_RUNNING, PENDING_QUEUED, true);
    expect_transition(PENDING_WAITING, PENDING_QUEUED, true);
    expect_transition(PENDING_STARVED, PENDING_QUEUED, true);
    /* The daemon does not have the job; what was taken back is not run again. */
    expect_transition(PENDING_WAITING, PENDING_RUNNING, false);
    expect_transition(PENDING_STARVED, PENDING_WITHDRAWN, false);
    expect_transition(PENDING_WITHDRAWN, PENDING_WAITING, false);
    expect_transition(PENDING_QUEUED, PENDING_OUT, false);
}

static void test_list_is_cut(void **state)
{
    _cleanup_pending_ struct pending pending = PENDING_NULL;
    char id[16];
    (void)state;
    assert_int_equal(pending_init(&pending), 0);
    assert_listed(&pending, 5, "");
    for (int i = 0; i < 1000; i++) {
        int n = snprintf(id, sizeof(id), "job%d", i);
        assert_int_equal(add(&pending, id, (size_t)n), 0);
    }
    assert_listed(&pending, 3, "job0, job1, job2 and 997 more");
}

struct seen {
    size_t n, most;
};

static bool look(struct pending_job *job, void *arg)
{
    struct seen *seen = arg;
    assert_int_equal(job->id.length, 4);
    assert_int_equal(job->id.data[3], '0' + (int)seen->n);
    assert_string_equal(job->payload.data, payload);
    return ++seen->n < seen->most;
}

/* The order is kept even if slots are used again. */
static void test_each_has_its_payload(void **state)
{
    _cleanup_pending_ struct pending pending = PENDING_NULL;
    struct seen seen = {.most = 9};
    (void)state;
    assert_int_equal(pending_init(&pending), 0);
    for (int i = -3; i < 5; i++) {
        char id[16];
        int n = snprintf(id, sizeof(id), "job%d", i);
        assert_int_equal(add(&pending, id, (size_t)n), 0);
        if (i < 0)
            assert_true(take(&pending, id, (size_t)n));
    }
    pending_each(&pending, look, &seen);
    assert_int_equal(seen.n, 5);
    seen = (struct seen){.most = 2};
    pending_each(&pending, look, &seen);
    assert_int_equal(seen.n, 2);
    assert_non_null(pending_find(&pending, "job3", 4));
    assert_null(pending_find(&pending, "job", 3));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_transitions),
        cmocka_unit_test(test_set),
        cmocka_unit_test(test_nul_in_ids),
        cmocka_unit_test(test_notes),
        cmocka_unit_test(test_states),
        cmocka_unit_test(test_list_is_cut),
        cmocka_unit_test(test_each_has_its_payload),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
