/* SPDX-License-Identifier: MIT */
#include "client/grade/tally.h"
#include "proto/printer.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static void add(struct tally *tally, const char *id, unsigned passed, unsigned failed,
                unsigned none)
{
    ssize_t task = tally_task(tally, id);
    assert_true(task >= 0);
    while (passed-- > 0)
        tally_add(tally, (size_t)task, GRADE_PASSED);
    while (failed-- > 0)
        tally_add(tally, (size_t)task, GRADE_FAILED);
    while (none-- > 0)
        tally_add(tally, (size_t)task, GRADE_NONE);
}

static void assert_put(const struct tally *tally, const char *ks_text, const char *expected)
{
    _cleanup_free_ char *text = NULL;
    size_t n;
    struct passk_ks ks;
    assert_int_equal(passk_parse_ks(ks_text, &ks, NULL), 0);
    FILE *out = open_memstream(&text, &n);
    tally_put(out, tally, &ks);
    (void)fclose(out);
    assert_string_equal(text, expected);
}

static void test_mean_over_tasks(void **state)
{
    _cleanup_tally_ struct tally tally = TALLY_NULL;
    size_t too_few;
    (void)state;
    assert_int_equal(tally_init(&tally), 0);
    add(&tally, "a", 1, 1, 0);
    add(&tally, "b", 1, 3, 0);
    add(&tally, "a", 0, 2, 0);
    /* Tasks count the same, however many samples they have. */
    assert_true(fabs(tally_pass_at_k(&tally, 1, &too_few) - 0.25) < 1e-12);
    assert_int_equal(too_few, 0);
    add(&tally, "a", 0, 6, 0);
    assert_true(fabs(tally_pass_at_k(&tally, 1, &too_few) - 0.175) < 1e-12);
    assert_true(isnan(tally_pass_at_k(&tally, 5, &too_few)));
    assert_int_equal(too_few, 1);
    assert_put(&tally, "1,4,5,11",
               "2 tasks, 14 samples, 2 correct\n"
               "pass@1:    0.1750\n"
               "pass@4:    0.7000\n"
               "pass@5:    not computed: 1 of 2 tasks have fewer than 5 samples\n"
               "pass@11:   not computed: 2 of 2 tasks have fewer than 11 samples\n");
}

static void test_nothing(void **state)
{
    _cleanup_tally_ struct tally tally = TALLY_NULL;
    size_t too_few;
    (void)state;
    assert_int_equal(tally_init(&tally), 0);
    assert_true(isnan(tally_pass_at_k(&tally, 1, &too_few)));
    assert_int_equal(too_few, 0);
}

static void test_incomplete(void **state)
{
    _cleanup_tally_ struct tally tally = TALLY_NULL;
    (void)state;
    assert_int_equal(tally_init(&tally), 0);
    add(&tally, "a", 1, 0, 2);
    assert_put(&tally, "1,2",
               "1 task, 1 sample, 1 correct\n"
               "incomplete: 2 not graded (an error, no verdict)\n"
               "pass@1:    1.0000 (incomplete)\n"
               "pass@2:    not computed: 1 of 1 task has fewer than 2 graded samples\n");
    tally.not_graded = 0;
    tally.cut_short = true;
    assert_put(&tally, "1",
               "1 task, 1 sample, 1 correct\n"
               "incomplete: not all samples were read\n"
               "pass@1:    1.0000 (incomplete)\n");
    tally.unusable = 3;
    tally.unanswered = 4;
    assert_put(&tally, "1",
               "1 task, 1 sample, 1 correct\n"
               "incomplete: 4 unanswered; 3 unusable (named above); not all samples were read\n"
               "pass@1:    1.0000 (incomplete)\n");
}

/* What verdicts are worth stands beside each number that rests on them. */
static void test_labels(void **state)
{
    _cleanup_tally_ struct tally tally = TALLY_NULL;
    (void)state;
    assert_int_equal(tally_init(&tally), 0);
    add(&tally, "a", 2, 0, 0);
    add(&tally, "b", 1, 1, 0);
    tally_note(&tally, 0, true, false);
    tally_note(&tally, 0, true, false);
    tally_note(&tally, 1, false, false);
    assert_put(&tally, "1",
               "2 tasks, 4 samples, 3 correct\n"
               "shared: 2 samples of 1 task ran in one process with the tests, where code can "
               "forge its verdict\n"
               "pass@1:    0.7500 (1 task shared)\n");
    tally_note(&tally, 1, false, true);
    tally.refused = 2;
    assert_put(&tally, "1",
               "2 tasks, 4 samples, 3 correct\n"
               "incomplete: 2 refused (a shared verdict; --isolated-only)\n"
               "shared: 2 samples of 1 task ran in one process with the tests, where code can "
               "forge its verdict\n"
               "broken: 1 task that the data set's own solution fails\n"
               "pass@1:    0.7500 (incomplete; 1 task shared; 1 task broken)\n");
    tally_refuse(&tally, 1);
    assert_put(&tally, "1,3",
               "2 tasks, 4 samples, 3 correct\n"
               "incomplete: 2 refused (a shared verdict; --isolated-only)\n"
               "shared: 2 samples of 1 task ran in one process with the tests, where code can "
               "forge its verdict\n"
               "broken: 1 task that the data set's own solution fails\n"
               "pass@1:    1.0000 (incomplete; 1 task refused; 1 task shared; 1 task broken)\n"
               "pass@3:    not computed: 1 of 1 task has fewer than 3 samples\n");
    tally_clear(&tally);
    assert_put(&tally, "1",
               "2 tasks, 0 samples, 0 correct\n"
               "incomplete: 2 refused (a shared verdict; --isolated-only)\n"
               "pass@1:    not computed: 1 of 1 task has fewer than 1 sample\n");
    tally_refuse(&tally, 0);
    assert_put(&tally, "1",
               "2 tasks, 0 samples, 0 correct\n"
               "incomplete: 2 refused (a shared verdict; --isolated-only)\n"
               "pass@1:    not computed: every task was refused\n");
}

/* The own fields of a sample say nothing about how it was judged. */
static void assert_notes(const char *text, bool shared, bool broken)
{
    _cleanup_tally_ struct tally tally = TALLY_NULL;
    _cleanup_json_ json_t *line = json_loads(text, 0, NULL);
    assert_non_null(line);
    assert_int_equal(tally_init(&tally), 0);
    add(&tally, "a", 1, 0, 0);
    tally_note_line(&tally, 0, line);
    assert_int_equal(tally.tasks[0].shared, shared);
    assert_int_equal(tally.tasks[0].broken, broken);
    assert_int_equal(tally_is_shared(line), shared);
}

static void test_lines(void **state)
{
    (void)state;
    assert_notes("{}", false, false);
    assert_notes("{\"mode\":\"shared\"}", true, false);
    assert_notes("{\"mode\":\"shared\",\"run\":{\"id\":\"a\",\"mode\":\"isolated\"}}", false,
                 false);
    assert_notes("{\"run\":{\"id\":\"a\",\"mode\":\"shared\"}}", true, false);
    assert_notes("{\"run\":{\"id\":\"a\",\"mode\":\"isolated\",\"preflight\":{\"reference\":"
                 "\"broken\"}}}",
                 false, true);
    assert_notes("{\"preflight\":{\"reference\":\"broken\"}}", false, false);
}

static void test_json(void **state)
{
    _cleanup_tally_ struct tally tally = TALLY_NULL;
    _cleanup_bytes_ struct bytes text = BYTES_NULL;
    struct passk_ks ks;
    (void)state;
    assert_int_equal(tally_init(&tally), 0);
    add(&tally, "a", 1, 1, 1);
    assert_int_equal(passk_parse_ks("1,3", &ks, NULL), 0);
    _cleanup_json_ json_t *object = tally_json(&tally, &ks);
    assert_non_null(object);
    assert_int_equal(json_print(object, &text), 0);
    assert_string_equal(
        text.data,
        "{\"tasks\":1,\"unusable_tasks\":0,\"unusable_task_samples\":0,\"sampleless_"
        "tasks\":0,\"unselected_tasks\":0,\"samples\":2,"
        "\"correct\":1,\"not_graded\":1,\"unanswered\":0,"
        "\"refused\":0,\"unusable\":0,\"not_in_input\":0,\"shared_tasks\":0,\"shared_samples\":0,"
        "\"broken_tasks\":0,\"complete\":false,\"pass_at_k\":{\"1\":0.5,\"3\":null},"
        "\"too_few_samples\":{\"3\":1},\"languages\":{}}");
}

static void test_many_tasks(void **state)
{
    _cleanup_tally_ struct tally tally = TALLY_NULL;
    size_t too_few;
    (void)state;
    assert_int_equal(tally_init(&tally), 0);
    for (int i = 0; i < 2000; i++) {
        char id[16];
        (void)snprintf(id, sizeof(id), "%d", i % 1000);
        add(&tally, id, i < 1000, i >= 1000, 0);
    }
    assert_int_equal(tally.n, 1000);
    assert_true(fabs(tally_pass_at_k(&tally, 1, &too_few) - 0.5) < 1e-12);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_mean_over_tasks), cmocka_unit_test(test_nothing),
        cmocka_unit_test(test_incomplete),      cmocka_unit_test(test_json),
        cmocka_unit_test(test_many_tasks),      cmocka_unit_test(test_labels),
        cmocka_unit_test(test_lines),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
