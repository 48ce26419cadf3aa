/* SPDX-License-Identifier: MIT */
/* Tests what the pool knows of classes of jobs: which template a slot's jail has, and which classes
 * could not be loaded. */
#include "daemon/pool/classes.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define MIB (UINT64_C(1) << 20)

static struct slot_class class_named(const char *key, uint64_t affinity)
{
    const char *const parts[] = {key, "mre", NULL};
    const struct launch_class class = {.parts = parts, .affinity = affinity, .bytes_max = 9 * MIB};
    return slot_class_of(&class);
}

static const struct slot_class none = {.affinity = 0};

static void test_a_job_of_no_class(void **state)
{
    const struct launch_class class = {.why_not = "there is no room"};
    struct slot_class job = slot_class_of(&class), mark = class_named("a", 7);
    (void)state;
    assert_string_equal(job.key, "");
    slot_class_begin(&mark, &job); /* its jail ends the template */
    assert_string_equal(mark.key, "");
    assert_int_equal(mark.affinity, 0);
    assert_int_equal(mark.bytes, 0);
}

static void test_a_template_is_kept_for_its_class(void **state)
{
    struct slot_class mark = none, job = class_named("a", 7), other = class_named("b", 8);
    const struct link_loaded loaded = {.digest = "x", .bytes = 4 * MIB};
    (void)state;
    slot_class_begin(&mark, &job);
    assert_int_equal(mark.affinity, 7);
    assert_int_equal(mark.bytes, 9 * MIB); /* so much may it take */
    slot_class_end(&mark, &loaded);
    assert_int_equal(mark.bytes, 4 * MIB);
    slot_class_begin(&mark, &job);
    assert_int_equal(mark.bytes, 4 * MIB);
    slot_class_begin(&mark, &other);
    assert_string_equal(mark.key, "b");
    assert_int_equal(mark.affinity, 8);
    assert_int_equal(mark.bytes, 9 * MIB);
}

static void test_a_jail_cannot_claim_more_than_it_may(void **state)
{
    struct slot_class mark = none, job = class_named("a", 7);
    const struct link_loaded loaded = {.digest = "x", .bytes = UINT64_MAX};
    (void)state;
    slot_class_begin(&mark, &job);
    slot_class_end(&mark, &loaded);
    assert_int_equal(mark.bytes, 9 * MIB);
}

static void test_a_template_that_could_not_be_had(void **state)
{
    struct slot_class mark = none, job = class_named("a", 7);
    const struct link_loaded loaded = {.error = EINVAL, .why = "it prints"};
    (void)state;
    slot_class_begin(&mark, &job);
    slot_class_end(&mark, &loaded);
    assert_string_equal(mark.key, "");
    assert_int_equal(mark.bytes, 0);
}

/* A jail that is about to begin with a job may take what the job may. */
static void test_what_a_template_may_take(void **state)
{
    const struct slot_class small = {.key = "a", .affinity = 7, .bytes = MIB};
    const struct slot_class same = class_named("a", 7), other = class_named("b", 8);
    (void)state;
    assert_int_equal(slot_class_most(&none, &none), 0);
    assert_int_equal(slot_class_most(&none, &other), 9 * MIB);
    assert_int_equal(slot_class_most(&small, &none), MIB);
    assert_int_equal(slot_class_most(&small, &same), MIB);
    assert_int_equal(slot_class_most(&small, &other), 9 * MIB);
    assert_int_equal(slot_class_most(&same, &small), 9 * MIB);
}

static void test_failures_are_remembered_for_a_while(void **state)
{
    static struct class_failures failures;
    const struct link_loaded bad = {.error = EINVAL, .why = "it prints"};
    const uint64_t now = 5000, end = now + CLASS_FAILURE_MS * 1000000;
    (void)state;
    assert_null(class_failures_find(&failures, "a", now));
    class_failures_note(&failures, "a", &bad, now);
    assert_string_equal(class_failures_find(&failures, "a", now), "it prints");
    assert_string_equal(class_failures_find(&failures, "a", end - 1), "it prints");
    assert_null(class_failures_find(&failures, "a", end));
    assert_null(class_failures_find(&failures, "b", now));
}

static void test_only_faults_of_a_class_are_remembered(void **state)
{
    static struct class_failures failures;
    static const int others[] = {0, ENOTSUP, ENOMEM};
    (void)state;
    for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++) {
        const struct link_loaded loaded = {.error = others[i], .why = "of this jail"};
        class_failures_note(&failures, "a", &loaded, 1);
        assert_null(class_failures_find(&failures, "a", 1));
    }
    const struct link_loaded bad = {.error = EINVAL, .why = "of no class"};
    class_failures_note(&failures, "", &bad, 1);
    assert_null(class_failures_find(&failures, "", 1));
}

static void test_the_oldest_failure_is_forgotten_first(void **state)
{
    static struct class_failures failures;
    const struct link_loaded bad = {.error = EINVAL, .why = "it prints"};
    char key[8];
    (void)state;
    for (int i = 0; i <= CLASS_FAILURES_MAX; i++) {
        (void)snprintf(key, sizeof(key), "%d", i);
        class_failures_note(&failures, key, &bad, 1);
        class_failures_note(&failures, key, &bad, 2); /* again: it takes no second place */
    }
    assert_null(class_failures_find(&failures, "0", 3));
    assert_non_null(class_failures_find(&failures, "1", 3));
    assert_non_null(class_failures_find(&failures, key, 3));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_job_of_no_class),
        cmocka_unit_test(test_a_template_is_kept_for_its_class),
        cmocka_unit_test(test_a_jail_cannot_claim_more_than_it_may),
        cmocka_unit_test(test_a_template_that_could_not_be_had),
        cmocka_unit_test(test_what_a_template_may_take),
        cmocka_unit_test(test_failures_are_remembered_for_a_while),
        cmocka_unit_test(test_only_faults_of_a_class_are_remembered),
        cmocka_unit_test(test_the_oldest_failure_is_forgotten_first),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
