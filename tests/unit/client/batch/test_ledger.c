/* SPDX-License-Identifier: MIT */
#include "client/batch/ledger.h"
#include "client/batch/runinfo.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define SOME "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define THIRD "ccccccccccccccccaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define OTHER "bbbbbbbbbbbbbbbbaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"

static json_t *run_of(const char *digest)
{
    return json_pack("{s:s}", "job_digest", digest);
}

static void add(struct ledger *ledger, const char *id, const char *digest, bool answered,
                bool passed)
{
    _cleanup_json_ json_t *run = run_of(digest);
    const struct result_line line = {
        .id = id,
        .id_length = strlen(id),
        .run = run,
        .answered = answered,
        .passed = passed,
        .cost_usd = 0.25,
    };
    assert_int_equal(ledger_add_line(ledger, &line), 0);
}

static int take(struct ledger *ledger, const char *id, const char *digest)
{
    _cleanup_json_ json_t *run = run_of(digest);
    return ledger_take_job(ledger, id, strlen(id), run);
}

static int take_with_rubric(struct ledger *ledger, const char *digest, const char *rubric)
{
    _cleanup_json_ json_t *run =
        json_pack("{s:s,s:s}", "job_digest", digest, "rubric_digest", rubric);
    return ledger_take_job(ledger, "a", 1, run);
}

/* What has changed: nothing, the rubric, the job, or both. */
static void test_what_has_changed(void **state)
{
    static const struct {
        const char *job, *rubric;
        int fate;
    } rows[] = {
        {SOME, SOME, LEDGER_KEPT},         {SOME, OTHER, LEDGER_RUBRIC_CHANGED},
        {OTHER, SOME, LEDGER_CHANGED},     {OTHER, THIRD, LEDGER_CHANGED},
        {SOME, "", LEDGER_RUBRIC_CHANGED},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct ledger ledger = LEDGER_NULL;
        _cleanup_json_ json_t *run =
            json_pack("{s:s,s:s}", "job_digest", SOME, "rubric_digest", SOME);
        const struct result_line line = {
            .id = "a", .id_length = 1, .run = run, .answered = true, .passed = true};
        assert_int_equal(ledger_add_line(&ledger, &line), 0);
        assert_int_equal(take_with_rubric(&ledger, rows[i].job, rows[i].rubric), rows[i].fate);
        assert_int_equal(ledger.rubric_changed, rows[i].fate == LEDGER_RUBRIC_CHANGED);
        assert_int_equal(ledger.changed, rows[i].fate == LEDGER_CHANGED);
        ledger_deinit(&ledger);
    }
}

static void test_new(void **state)
{
    struct ledger ledger = LEDGER_NULL;
    (void)state;
    assert_int_equal(take(&ledger, "a", SOME), LEDGER_NEW);
    assert_int_equal(take(&ledger, "a", SOME), LEDGER_DUPLICATE);
    assert_int_equal(take(&ledger, "a", OTHER), LEDGER_DUPLICATE);
    assert_int_equal(take(&ledger, "b", SOME), LEDGER_NEW);
    assert_true(ledger_has_job(&ledger, "a", 1));
    assert_false(ledger_has_job(&ledger, "c", 1));
    assert_int_equal(ledger.superseded, 0);
    ledger_deinit(&ledger);
}

static void test_of_a_file(void **state)
{
    struct ledger ledger = LEDGER_NULL;
    (void)state;
    add(&ledger, "passed", SOME, true, true);
    add(&ledger, "failed", SOME, true, false);
    add(&ledger, "error", SOME, false, false);
    add(&ledger, "changed", SOME, true, true);
    add(&ledger, "gone", SOME, true, true);
    assert_int_equal(ledger.lines[LEDGER_PASSED], 3);
    assert_int_equal(take(&ledger, "passed", SOME), LEDGER_KEPT);
    assert_int_equal(take(&ledger, "failed", SOME), LEDGER_KEPT);
    assert_int_equal(take(&ledger, "error", SOME), LEDGER_AGAIN);
    assert_int_equal(take(&ledger, "changed", OTHER), LEDGER_CHANGED);
    assert_int_equal(take(&ledger, "new", SOME), LEDGER_NEW);
    assert_int_equal(take(&ledger, "passed", SOME), LEDGER_DUPLICATE);
    assert_int_equal(ledger.lines[LEDGER_PASSED], 2);
    assert_int_equal(ledger.lines[LEDGER_FAILED], 1);
    assert_int_equal(ledger.lines[LEDGER_ERROR], 0);
    assert_int_equal(ledger.superseded, 2);
    assert_int_equal(ledger.kept, 2);
    assert_true(ledger.cost_usd == 1.25);
    assert_false(ledger_has_job(&ledger, "gone", 4));
    ledger_deinit(&ledger);
}

static void test_last_line_counts(void **state)
{
    struct ledger ledger = LEDGER_NULL;
    (void)state;
    add(&ledger, "a", SOME, false, false);
    add(&ledger, "a", OTHER, true, false);
    add(&ledger, "a", SOME, true, true);
    assert_int_equal(ledger.lines[LEDGER_ERROR], 0);
    assert_int_equal(ledger.lines[LEDGER_FAILED], 0);
    assert_int_equal(ledger.lines[LEDGER_PASSED], 1);
    assert_int_equal(ledger.superseded, 2);
    assert_int_equal(take(&ledger, "a", SOME), LEDGER_KEPT);
    ledger_deinit(&ledger);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_new),
        cmocka_unit_test(test_of_a_file),
        cmocka_unit_test(test_what_has_changed),
        cmocka_unit_test(test_last_line_counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
