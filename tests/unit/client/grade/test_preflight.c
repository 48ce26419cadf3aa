/* SPDX-License-Identifier: MIT */
#include "client/grade/preflight.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#define TASK(id) "{\"task_id\":\"" id "\",\"test_list\":[\"assert f() == 1\"]"
#define CODE ",\"code\":\"def f(): return 1\"}"

static const struct gradejob_policy none = {.shared = false};

struct fixture {
    struct dataset dataset;
    struct preflight preflight;
};

static void refuse(void *arg, const char *what)
{
    (void)arg;
    fail_msg("%s", what);
}

static void begin(struct fixture *fixture, const struct gradejob_policy *policy)
{
    /* The task c has no solution. */
    static const char text[] = TASK("a") CODE "\n" TASK("b") CODE "\n" TASK("c") "}\n";
    const struct dataset_options options = {.format = NULL};
    struct dataset *dataset = &fixture->dataset;
    assert_int_equal(dataset_parse("d", text, strlen(text), &options, refuse, NULL, dataset), 0);
    assert_int_equal(preflight_init(&fixture->preflight, &fixture->dataset, policy, 3, 30), 0);
}

static void end(struct fixture *fixture)
{
    preflight_deinit(&fixture->preflight);
    dataset_deinit(&fixture->dataset);
}

/* Asserts that the next reference is that of TASK, in MODE. */
static void assert_next(struct preflight *preflight, size_t task, const char *mode)
{
    _cleanup_json_ json_t *job = NULL;
    size_t number;
    assert_int_equal(preflight_next(preflight, &number, &job), 1);
    assert_int_equal(number, task);
    const char *verdict = json_string_value(json_object_get(job, "verdict"));
    assert_string_equal(verdict ? verdict : "isolated", mode);
    assert_string_equal(json_string_value(json_object_get(job, "code")), "def f(): return 1");
    const json_t *metadata = json_object_get(job, "metadata");
    assert_true(json_number_value(json_object_get(metadata, "timeout_s")) == 30);
}

static void assert_idle(struct preflight *preflight, size_t waiting)
{
    json_t *job;
    size_t number;
    assert_int_equal(preflight_next(preflight, &number, &job), 0);
    assert_int_equal(preflight->waiting, waiting);
}

/* Answers TASK with a verdict and its DETAIL; TIMES are wall clock, waiting and CPU in
 * milliseconds.
 */
static void answer_in_words(struct preflight *preflight, size_t task, const char *verdict,
                            const char *detail, const int times[3])
{
    bool passed = strcmp(verdict, "pass") == 0;
    _cleanup_json_ json_t *object = json_pack(
        "{s:s,s:{s:b,s:i,s:[{s:s}]},s:s,s:{s:i,s:i,s:i}}", "type", "result", "score", "passed",
        passed, "score", passed, "failure_modes", "detail", detail, "verdict", verdict, "usage",
        "wall_clock_ms", times[0], "cpu_wait_ms", times[1], "cpu_ms", times[2]);
    const struct message message = {.type = MESSAGE_RESULT, .object = object};
    assert_non_null(object);
    assert_int_equal(preflight_take(preflight, task, &message), 0);
}

static void answer(struct preflight *preflight, size_t task, const char *verdict,
                   const int times[3])
{
    answer_in_words(preflight, task, verdict, "", times);
}

static void answer_error(struct preflight *preflight, size_t task, const char *code,
                         const char *text)
{
    _cleanup_json_ json_t *object =
        json_pack("{s:s,s:s,s:s}", "type", "error", "code", code, "message", text);
    const struct message message = {.type = MESSAGE_ERROR, .object = object};
    assert_int_equal(preflight_take(preflight, task, &message), 0);
}

static const int quick[3] = {10, 0, 10};

static void test_modes(void **state)
{
    struct fixture fixture;
    struct preflight *preflight = &fixture.preflight;
    (void)state;
    begin(&fixture, &none);
    for (size_t i = 0; i < 3; i++)
        preflight_want(preflight, i);
    assert_next(preflight, 0, "isolated");
    assert_next(preflight, 1, "isolated");
    assert_idle(preflight, 2);
    answer(preflight, 0, "assertion_fail", quick);
    assert_next(preflight, 0, "shared");
    answer(preflight, 1, "timeout", quick);
    answer(preflight, 0, "pass", quick);
    assert_next(preflight, 1, "shared");
    answer(preflight, 1, "assertion_fail", quick);
    assert_idle(preflight, 0);
    assert_int_equal(preflight->tasks[0].state, PREFLIGHT_PASSED);
    assert_int_equal(preflight->tasks[1].state, PREFLIGHT_BROKEN);
    assert_int_equal(preflight->tasks[2].state, PREFLIGHT_LEFT_OUT);
    assert_true(preflight_policy(preflight, 0).shared);
    assert_false(preflight_policy(preflight, 1).shared);
    assert_false(preflight_policy(preflight, 2).shared);
    assert_int_equal(preflight_count_shared(preflight), 1);
    assert_int_equal(preflight->runs, 4);
    end(&fixture);
}

static void test_shared_by_option(void **state)
{
    struct fixture fixture;
    struct preflight *preflight = &fixture.preflight;
    (void)state;
    begin(&fixture, &(const struct gradejob_policy){.shared = true});
    preflight_want(preflight, 0);
    preflight_want(preflight, 0);
    assert_next(preflight, 0, "shared");
    answer(preflight, 0, "assertion_fail", quick);
    assert_idle(preflight, 0);
    assert_int_equal(preflight->tasks[0].state, PREFLIGHT_BROKEN);
    assert_true(preflight_policy(preflight, 0).shared);
    end(&fixture);
}

static void test_errors(void **state)
{
    static const char tests[] = "the job's tests import the module numpy, which is not there";
    static const char prelude[] = "the job's prelude imports the module numpy, which is not there";
    struct fixture fixture;
    struct preflight *preflight = &fixture.preflight;
    (void)state;
    begin(&fixture, &none);
    preflight_want(preflight, 0);
    preflight_want(preflight, 1);
    assert_next(preflight, 0, "isolated");
    assert_next(preflight, 1, "isolated");
    answer_error(preflight, 0, "module_not_found", tests);
    answer_error(preflight, 1, "module_not_found", prelude);
    assert_idle(preflight, 0);
    assert_int_equal(preflight_count(preflight, PREFLIGHT_ERROR), 2);
    assert_int_equal(json_object_size(preflight->lacking), 1);
    const json_t *numpy = json_object_get(preflight->lacking, "numpy");
    assert_int_equal(json_integer_value(json_object_get(numpy, "tasks")), 2);
    assert_true(preflight_knows_lacking(preflight, prelude));
    assert_false(
        preflight_knows_lacking(preflight, "the job's tests import the module num, which"));
    assert_false(preflight_knows_lacking(preflight, "no word of it"));
    end(&fixture);
}

/* In mode `shared` any code would pass such tests: they are not run there. */
static void test_useless_tests(void **state)
{
    struct fixture fixture;
    struct preflight *preflight = &fixture.preflight;
    (void)state;
    begin(&fixture, &none);
    preflight_want(preflight, 0);
    preflight_want(preflight, 1);
    assert_next(preflight, 0, "isolated");
    assert_next(preflight, 1, "isolated");
    answer_in_words(preflight, 0, "error", "the tests ask nothing of the code", quick);
    answer_error(preflight, 1, "bad_request", "job.targets: nothing that could fail runs in it");
    assert_idle(preflight, 0);
    assert_int_equal(preflight_count(preflight, PREFLIGHT_BROKEN), 2);
    assert_false(preflight_policy(preflight, 0).shared);
    end(&fixture);
    /* Another error of the request is none of the tests. */
    begin(&fixture, &none);
    preflight_want(preflight, 0);
    assert_next(preflight, 0, "isolated");
    answer_error(preflight, 0, "bad_request", "job.code: expected a string");
    assert_idle(preflight, 0);
    assert_int_equal(preflight->tasks[0].state, PREFLIGHT_ERROR);
    end(&fixture);
}

/* The time limit that follows from TIMES; 0: it stays. */
static void assert_limit(const struct gradejob_policy *policy, const int times[3], double expected)
{
    struct fixture fixture;
    begin(&fixture, policy);
    preflight_want(&fixture.preflight, 0);
    assert_next(&fixture.preflight, 0, "isolated");
    answer(&fixture.preflight, 0, "pass", times);
    double timeout_s = fixture.preflight.tasks[0].timeout_s;
    if (timeout_s < expected || timeout_s > expected)
        fail_msg("%d ms: %g, not %g", times[0], timeout_s, expected);
    double used = preflight_policy(&fixture.preflight, 0).timeout_s;
    assert_true(used == (expected > 0 ? expected : policy->timeout_s));
    end(&fixture);
}

static void test_time_limits(void **state)
{
    const struct gradejob_policy one = {.timeout_s = 1}, all = {.timeout_s = 30};
    (void)state;
    assert_limit(&none, (const int[]){750, 0, 700}, 0);
    assert_limit(&none, (const int[]){751, 0, 700}, 3.5);
    assert_limit(&none, (const int[]){2200, 0, 2000}, 9);
    assert_limit(&none, (const int[]){7400, 0, 2000}, 30);
    assert_limit(&none, (const int[]){29000, 0, 2000}, 30);
    assert_limit(&one, (const int[]){250, 0, 250}, 0);
    assert_limit(&one, (const int[]){251, 0, 250}, 1.5);
    assert_limit(&all, (const int[]){29000, 0, 2000}, 0);
    /* Waiting for a CPU is not the reference's fault, but CPU time is never part of it. */
    assert_limit(&none, (const int[]){2000, 1500, 400}, 0);
    assert_limit(&none, (const int[]){2000, 3500, 1000}, 4);
    assert_limit(&none, (const int[]){1000, 0, 9000}, 4);
}

/* Decides a, and takes the note to another preflight. Returns whether that accepts it. */
static bool restores(const struct gradejob_policy *before, const struct gradejob_policy *after,
                     const char *member, json_t *take_value, size_t task)
{
    struct fixture first, second;
    _cleanup_json_ json_t *run = json_object();
    begin(&first, before);
    begin(&second, after);
    preflight_want(&first.preflight, 0);
    assert_next(&first.preflight, 0, before->shared ? "shared" : "isolated");
    if (!before->shared) {
        answer(&first.preflight, 0, "assertion_fail", quick);
        assert_next(&first.preflight, 0, "shared");
    }
    answer(&first.preflight, 0, "pass", (const int[]){2000, 0, 2000});
    assert_int_equal(preflight_put_note(&first.preflight, 0, run), 0);
    json_t *note = json_object_get(run, "preflight");
    assert_non_null(note);
    if (member)
        assert_int_equal(json_object_set_new(note, member, take_value), 0);
    bool done = preflight_restore(&second.preflight, task, note);
    if (done) {
        assert_true(preflight_policy(&second.preflight, task).shared);
        assert_true(preflight_policy(&second.preflight, task).timeout_s == 8);
        preflight_want(&second.preflight, task);
    }
    assert_idle(&second.preflight, 0);
    end(&first);
    end(&second);
    return done;
}

static void test_decisions_of_an_earlier_run(void **state)
{
    const struct gradejob_policy shared = {.shared = true}, slower = {.timeout_s = 2};
    (void)state;
    assert_true(restores(&none, &none, NULL, NULL, 0));
    assert_true(restores(&none, &none, NULL, NULL, 1)); /* it is the same but for its id */
    assert_true(restores(&shared, &shared, NULL, NULL, 0));
    assert_false(restores(&none, &none, NULL, NULL, 2));
    assert_false(restores(&none, &shared, NULL, NULL, 0));
    assert_false(restores(&none, &slower, NULL, NULL, 0));
    assert_false(restores(&none, &none, "reference", json_string("error"), 0));
    assert_false(restores(&none, &none, "reference", json_null(), 0));
    assert_false(restores(&none, &none, "digest", json_string("0"), 0));
    assert_false(restores(&none, &none, "timeout_s", json_real(31), 0));
}

static void test_a_broken_reference_of_an_earlier_run(void **state)
{
    struct fixture fixture;
    struct preflight *preflight = &fixture.preflight;
    _cleanup_json_ json_t *run = json_object();
    (void)state;
    begin(&fixture, &none);
    preflight_want(preflight, 0);
    assert_next(preflight, 0, "isolated");
    answer(preflight, 0, "assertion_fail", quick);
    assert_next(preflight, 0, "shared");
    answer(preflight, 0, "assertion_fail", quick);
    assert_int_equal(preflight_put_note(preflight, 0, run), 0);
    assert_true(preflight_restore(preflight, 1, json_object_get(run, "preflight")));
    assert_true(preflight_is_broken(preflight, 1));
    assert_string_equal(json_string_value(preflight->tasks[1].why), "assertion_fail");
    end(&fixture);
}

static void test_a_job_that_cannot_run(void **state)
{
    struct fixture fixture;
    (void)state;
    begin(&fixture, &none);
    preflight_want(&fixture.preflight, 0);
    assert_next(&fixture.preflight, 0, "isolated");
    assert_int_equal(preflight_fail(&fixture.preflight, 0, "too large"), 0);
    assert_idle(&fixture.preflight, 0);
    assert_string_equal(json_string_value(fixture.preflight.tasks[0].why), "too large");
    end(&fixture);
}

static void test_no_preflight(void **state)
{
    struct preflight preflight = PREFLIGHT_NULL;
    (void)state;
    preflight.policy.timeout_s = 2;
    assert_true(preflight_policy(&preflight, 5).timeout_s == 2);
    assert_false(preflight_is_broken(&preflight, 5));
    assert_false(preflight_knows_lacking(&preflight, "the module x, which"));
    assert_int_equal(preflight_put_note(&preflight, 5, NULL), 0);
    assert_int_equal(preflight_count_shared(&preflight), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_modes),
        cmocka_unit_test(test_shared_by_option),
        cmocka_unit_test(test_errors),
        cmocka_unit_test(test_useless_tests),
        cmocka_unit_test(test_time_limits),
        cmocka_unit_test(test_decisions_of_an_earlier_run),
        cmocka_unit_test(test_a_broken_reference_of_an_earlier_run),
        cmocka_unit_test(test_a_job_that_cannot_run),
        cmocka_unit_test(test_no_preflight),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
