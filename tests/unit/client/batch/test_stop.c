/* SPDX-License-Identifier: MIT */
/* How signals and a lost daemon move the phase of a run. */
#include "client/batch/engine_private.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static int set_up(void **state)
{
    struct engine *engine = calloc(1, sizeof(*engine));
    assert_non_null(engine);
    *engine = (struct engine)ENGINE_NULL;
    assert_int_equal(pending_init(&engine->pending), 0);
    *state = engine;
    return 0;
}

static int tear_down(void **state)
{
    struct engine *engine = *state;
    engine_deinit(engine);
    free(engine);
    return 0;
}

static void test_signals(void **state)
{
    struct engine *engine = *state;
    engine_take_signal(engine);
    assert_int_equal(engine->phase, PHASE_STOPPING);
    assert_true(engine->ending.interrupted);
    engine_take_signal(engine);
    assert_int_equal(engine->phase, PHASE_CANCELLING);
    engine_check_cancelling(engine, engine->cancel_deadline_ms - 1);
    assert_int_equal(engine->phase, PHASE_CANCELLING);
    engine_take_signal(engine);
    assert_int_equal(engine->phase, PHASE_ABORTED);
    /* More of them may come in one turn of the loop. */
    engine_take_signal(engine);
    assert_int_equal(engine->phase, PHASE_ABORTED);
}

static void test_cancelling_ends(void **state)
{
    struct engine *engine = *state;
    engine_take_signal(engine);
    engine_take_signal(engine);
    engine_check_cancelling(engine, engine->cancel_deadline_ms);
    assert_int_equal(engine->phase, PHASE_FLUSHING);
    engine_take_signal(engine);
    assert_int_equal(engine->phase, PHASE_ABORTED);
}

/* The cost cap stops the run first: a signal still is the first one, and cancels nothing. */
static void test_signal_after_the_cost_cap(void **state)
{
    struct engine *engine = *state;
    engine->cost_cap = 1;
    engine->cost_usd = 2;
    engine_check_cost(engine);
    assert_int_equal(engine->phase, PHASE_STOPPING);
    assert_true(engine->ending.cost_capped);
    engine_check_cost(engine);
    engine_take_signal(engine);
    assert_int_equal(engine->phase, PHASE_STOPPING);
    engine_take_signal(engine);
    assert_int_equal(engine->phase, PHASE_CANCELLING);
}

static void test_signals_while_the_daemon_is_gone(void **state)
{
    struct engine *engine = *state;
    engine->session.in = evbuffer_new();
    engine->session.out = evbuffer_new();
    reconnect_begin(&engine->reconnect, &engine->session, NULL, 0);
    engine_take_signal(engine);
    assert_int_equal(engine->phase, PHASE_FLUSHING);
    assert_true(engine->ending.lost);
    for (int i = 0; i < 2; i++) {
        engine_take_signal(engine);
        assert_int_equal(engine->phase, PHASE_ABORTED);
    }
}

/* Otherwise the loop would not sleep while it waits for the reader of the output. */
static void test_no_attempt_is_due_without_a_daemon(void **state)
{
    struct engine *engine = *state;
    struct bytes id = BYTES_NULL, payload = BYTES_NULL;
    assert_int_equal(bytes_copy("a", 1, &id), 0);
    assert_int_equal(bytes_copy("{}", 2, &payload), 0);
    assert_int_equal(
        pending_add(&engine->pending, &id, &payload, &(struct tests)TESTS_NULL, NULL, NULL, 0), 0);
    struct pending_job *job = pending_find(&engine->pending, "a", 1);
    pending_enter(&engine->pending, job, PENDING_WAITING, 0);
    job->due_ms = 500;
    assert_int_equal(engine_next_attempt(engine), 500);
    engine_lose_daemon(engine, "gone");
    assert_int_equal(engine_next_attempt(engine), INT64_MAX);
    assert_int_equal(engine_unanswered(engine), 1);
}

/* Nobody needs the answers of such a run. */
static void test_a_signal_cancels_what_leaves_no_lines(void **state)
{
    struct engine *engine = *state;
    struct bytes id = BYTES_NULL, payload = BYTES_NULL;
    engine->work.aside = "trials";
    engine->session.out = evbuffer_new();
    engine->session.max_frame = 1000;
    assert_int_equal(bytes_copy("a", 1, &id), 0);
    assert_int_equal(bytes_copy("{}", 2, &payload), 0);
    assert_int_equal(
        pending_add(&engine->pending, &id, &payload, &(struct tests)TESTS_NULL, NULL, NULL, 0), 0);
    engine_take_signal(engine);
    assert_int_equal(engine->phase, PHASE_CANCELLING);
    assert_true(engine->ending.interrupted);
    assert_true(session_unsent(&engine->session) > 0);
    engine_take_signal(engine);
    assert_int_equal(engine->phase, PHASE_ABORTED);
}

static enum input_state wait_for_answers(void *arg, struct engine_job *ret, struct fault *fault)
{
    (void)arg;
    (void)ret;
    (void)fault;
    return INPUT_WAIT;
}

/* The input waits for an answer that decides what comes next: there must be one to come. */
static void test_a_wait_that_nothing_ends(void **state)
{
    struct engine *engine = *state;
    struct bytes id = BYTES_NULL, payload = BYTES_NULL;
    engine->window = 2;
    engine->work.next = wait_for_answers;
    engine->session.out = evbuffer_new();
    engine->output.buffer = evbuffer_new();
    assert_int_equal(bytes_copy("a", 1, &id), 0);
    assert_int_equal(bytes_copy("{}", 2, &payload), 0);
    assert_int_equal(
        pending_add(&engine->pending, &id, &payload, &(struct tests)TESTS_NULL, NULL, NULL, 0), 0);
    engine_submit_jobs(engine);
    assert_int_equal(engine->phase, PHASE_SUBMITTING);
    pending_job_free(pending_take(&engine->pending, pending_find(&engine->pending, "a", 1)));
    engine_submit_jobs(engine);
    assert_int_equal(engine->phase, PHASE_FINISHING);
    assert_true(engine->exhausted);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_a_signal_cancels_what_leaves_no_lines, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_a_wait_that_nothing_ends, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_signals, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_cancelling_ends, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_signal_after_the_cost_cap, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_signals_while_the_daemon_is_gone, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_no_attempt_is_due_without_a_daemon, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
