/* SPDX-License-Identifier: MIT */
#include "daemon/observe/health.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static const char stuck[] = "jobs wait, slots are idle, and nothing is started";
static const char overdue[] = "a job runs on past its deadline";
static const char broken[] = "jobs wait, and no slot can start a jail";

static void look(struct health *health, struct health_view view, const char *expected)
{
    const char *found = health_look(health, &view);
    if (expected)
        assert_string_equal(found, expected);
    else
        assert_null(found);
}

static void test_nothing_to_do(void **state)
{
    struct health health = {.stuck = 0};
    (void)state;
    for (int i = 0; i < 100; i++)
        look(&health, (struct health_view){.dispatched = 7}, NULL);
}

/* All slots run long jobs, and other jobs wait. */
static void test_busy_for_long(void **state)
{
    struct health health = {.stuck = 0};
    (void)state;
    for (int i = 0; i < 100; i++)
        look(&health, (struct health_view){.dispatched = 7, .has_jobs = true}, NULL);
}

/* A look may come just before a dispatch at any time. */
static void test_about_to_dispatch(void **state)
{
    struct health health = {.stuck = 0};
    (void)state;
    for (uint64_t i = 0; i < 100; i++)
        look(&health, (struct health_view){.can_dispatch = true, .dispatched = i, .has_jobs = true},
             NULL);
    for (int i = 0; i < 100; i++)
        look(&health, (struct health_view){.can_dispatch = i % 2, .dispatched = 7}, NULL);
}

static void test_stuck(void **state)
{
    struct health health = {.stuck = 0};
    struct health_view view = {.can_dispatch = true, .dispatched = 7, .has_jobs = true};
    (void)state;
    look(&health, view, NULL);
    look(&health, view, stuck);
    look(&health, view, stuck);
    /* It dispatched meanwhile: that it can dispatch again shows nothing yet. */
    view.dispatched++;
    look(&health, view, NULL);
    look(&health, view, stuck);
    view.can_dispatch = false;
    look(&health, view, NULL);
    view.can_dispatch = true;
    look(&health, view, NULL);
}

static void test_stuck_from_the_start(void **state)
{
    struct health health = {.stuck = 0};
    struct health_view view = {.can_dispatch = true, .has_jobs = true};
    (void)state;
    look(&health, view, NULL);
    look(&health, view, stuck);
}

/* A daemon that was stopped (SIGSTOP) and continues may look before its timers have run. */
static void test_overdue(void **state)
{
    struct health health = {.stuck = 0};
    (void)state;
    for (int i = 0; i < 10; i++)
        look(&health, (struct health_view){.is_overdue = i % 2}, NULL);
    look(&health, (struct health_view){.is_overdue = true}, overdue);
    look(&health, (struct health_view){.is_overdue = false}, NULL);
}

static void test_no_jail(void **state)
{
    struct health health = {.stuck = 0};
    struct health_view view = {.has_no_jail = true, .has_jobs = true};
    (void)state;
    for (int i = 1; i < HEALTH_BROKEN_LOOKS; i++)
        look(&health, view, NULL);
    look(&health, view, broken);
    look(&health, view, broken);
    view.has_no_jail = false;
    look(&health, view, NULL);
    view.has_no_jail = true;
    look(&health, view, NULL);
}

static void test_no_jail_and_nobody_waits(void **state)
{
    struct health health = {.stuck = 0};
    (void)state;
    for (int i = 0; i < 100; i++)
        look(&health, (struct health_view){.has_no_jail = true}, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nothing_to_do),
        cmocka_unit_test(test_busy_for_long),
        cmocka_unit_test(test_about_to_dispatch),
        cmocka_unit_test(test_stuck),
        cmocka_unit_test(test_stuck_from_the_start),
        cmocka_unit_test(test_overdue),
        cmocka_unit_test(test_no_jail),
        cmocka_unit_test(test_no_jail_and_nobody_waits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
