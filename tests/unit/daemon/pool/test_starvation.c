/* SPDX-License-Identifier: MIT */
/* What a job has lost to others, and what becomes of its deadline: arithmetic, without a clock. */
#include "daemon/base/clock.h"
#include "daemon/pool/starvation.h"
#include "proto/util.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define MS(n) ((uint64_t)(n)*NS_PER_MS)

/* --- what others took ---------------------------------------------------------------------- */

/* Times in milliseconds; a host with two CPUs. */
static void test_lost(void **state)
{
    static const struct {
        uint64_t elapsed, run, wait, lost;
    } cases[] = {
        {3000, 0, 0, 0},         /* asleep */
        {3000, 5, 3, 3},         /* asleep, but for a moment */
        {3000, 3000, 0, 0},      /* alone */
        {3000, 750, 2250, 2250}, /* three others on its CPU */
        {3000, 500, 500, 500},   /* the same for a second, and asleep */
        {3000, 0, 3000, 3000},   /* never ran */
        /* Two threads that compute: */
        {3000, 6000, 0, 0},       /* alone */
        {3000, 1500, 4500, 2250}, /* with three others on each CPU */
        {3000, 3000, 3000, 1500}, /* with one other on each */
        /* A hundred: those that wait for each other have lost nothing. */
        {3000, 6000, 294000, 0},
        {3000, 5400, 294000, 300}, /* others took a tenth of the CPUs */
        {3000, 1500, 298500, 2250},
        /* What cannot be: a jail that lies. */
        {3000, 0, UINT64_MAX / NS_PER_MS, 3000},
        {3000, UINT64_MAX / NS_PER_MS, UINT64_MAX / NS_PER_MS, 0},
        {0, 1000, 1000, 0},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct starvation s = {.elapsed_ns = MS(cases[i].elapsed),
                               .run_ns = MS(cases[i].run),
                               .wait_ns = MS(cases[i].wait),
                               .cpu_percent = 200};
        if (starvation_lost_ns(&s) / NS_PER_MS != cases[i].lost)
            fail_msg("case %zu: %f ms", i, (double)starvation_lost_ns(&s) / NS_PER_MS);
    }
}

/* Of a part of the time nothing is known: the job may have had all CPUs. */
static void test_nothing_is_lost_in_time_that_is_unknown(void **state)
{
    struct starvation s = {.elapsed_ns = MS(3000), .cpu_percent = 200};
    (void)state;
    s.unknown_ns = MS(2000);
    s.run_ns = MS(250);
    s.wait_ns = MS(750); /* of the other second */
    assert_int_equal(starvation_lost_ns(&s), MS(750));
    s.wait_ns = MS(9000);
    assert_in_range(starvation_lost_ns(&s), MS(750), MS(1000));
    s.unknown_ns = MS(3000);
    assert_int_equal(starvation_lost_ns(&s), 0);
    s.unknown_ns = UINT64_MAX; /* a jail that lies */
    assert_int_equal(starvation_lost_ns(&s), 0);
}

/* A job that may use half a CPU waits for its own limit. */
static void test_lost_to_its_own_limit(void **state)
{
    struct starvation s = {.elapsed_ns = MS(3000),
                           .run_ns = MS(1500),
                           .wait_ns = MS(1500),
                           .pressure_ns = MS(1500),
                           .cpu_percent = 50};
    (void)state;
    assert_int_equal(starvation_lost_ns(&s), 0);
    s.run_ns = MS(750);
    s.wait_ns = s.pressure_ns = MS(2250);
    assert_int_equal(starvation_lost_ns(&s), MS(1500));
    s.cpu_percent = 1; /* the least that can be configured: 20 ms take 2 s */
    s.run_ns = MS(20);
    s.wait_ns = s.pressure_ns = MS(2980);
    assert_int_equal(starvation_lost_ns(&s), MS(1000));
}

/* The cgroup knows of processes that are gone. */
static void test_lost_by_the_cgroup(void **state)
{
    struct starvation s = {
        .elapsed_ns = MS(3000), .run_ns = MS(750), .pressure_ns = MS(2000), .cpu_percent = 200};
    (void)state;
    assert_int_equal(starvation_lost_ns(&s), MS(2000));
    s.wait_ns = MS(2250);
    assert_int_equal(starvation_lost_ns(&s), MS(2250));
    s.pressure_ns = UINT64_MAX;
    assert_int_equal(starvation_lost_ns(&s), MS(2625)); /* it ran for 375 ms at the least */
}

/* --- what becomes of the deadline ---------------------------------------------------------- */

static uint64_t judged_ahead(uint64_t limit_ms, uint64_t elapsed_ms, uint64_t lost_ms,
                             uint64_t due_ms, enum starvation_verdict verdict)
{
    uint64_t deadline_ns = MS(1);
    assert_int_equal(
        starvation_judge(MS(limit_ms), MS(elapsed_ms), MS(lost_ms), MS(due_ms), &deadline_ns),
        verdict);
    return deadline_ns / NS_PER_MS;
}

static uint64_t judged(uint64_t limit_ms, uint64_t elapsed_ms, uint64_t lost_ms,
                       enum starvation_verdict verdict)
{
    return judged_ahead(limit_ms, elapsed_ms, lost_ms, elapsed_ms, verdict);
}

/* Before the deadline the question is the same: whether the job has had its time then. */
static void test_ahead_of_the_deadline(void **state)
{
    (void)state;
    (void)judged_ahead(3000, 2990, 0, 3000, STARVATION_OVER);
    (void)judged_ahead(3000, 2990, 130, 3000, STARVATION_OVER);
    assert_int_equal(judged_ahead(3000, 2990, 160, 3000, STARVATION_MOVE), 3160);
    (void)judged_ahead(3000, 5990, 2995, 6000, STARVATION_OVER);
    /* It depends on what it gets in the last 10 ms. */
    (void)judged_ahead(3000, 2990, 145, 3000, STARVATION_OPEN);
    (void)judged_ahead(3000, 29990, 28000, 30000, STARVATION_OPEN);
    (void)judged(3000, 30000, 28000, STARVATION_STARVED);
}

static void test_moves(void **state)
{
    (void)state;
    /* By what was lost, and no more. */
    assert_int_equal(judged(3000, 3000, 2250, STARVATION_MOVE), 5250);
    assert_int_equal(judged(3000, 5250, 3937, STARVATION_MOVE), 6937);
    assert_int_equal(judged(3000, 3000, 1500, STARVATION_MOVE), 4500);
    /* It has lost nothing since. */
    (void)judged(3000, 5250, 2250, STARVATION_OVER);
    (void)judged(3000, 5250, 2399, STARVATION_OVER);
    /* The time that it had counts, not the number of the deadline. */
    assert_int_equal(judged(3000, 5000, 3000, STARVATION_MOVE), 6000);
    /* A daemon that comes late finds that the job has had its time. */
    (void)judged(3000, 12000, 9000, STARVATION_OVER);
    (void)judged(3000, 20000, 15000, STARVATION_OVER);
}

static void test_small_waits_move_nothing(void **state)
{
    (void)state;
    (void)judged(3000, 3000, 0, STARVATION_OVER);
    (void)judged(3000, 3001, 140, STARVATION_OVER);
    (void)judged(3000, 3000, 149, STARVATION_OVER);
    assert_int_equal(judged(3000, 3000, 150, STARVATION_MOVE), 3150);
    /* at least 10 ms */
    (void)judged(20, 20, 9, STARVATION_OVER);
    assert_int_equal(judged(20, 20, 10, STARVATION_MOVE), 30);
}

static void test_bounds(void **state)
{
    (void)state;
    assert_int_equal(judged(3000, 3000, 3000, STARVATION_MOVE), 6000);
    assert_int_equal(judged(3000, 29000, 28000, STARVATION_MOVE), 30000);
    (void)judged(3000, 30000, 28000, STARVATION_STARVED);
    (void)judged(3000, 30001, 27000, STARVATION_OVER);
    (void)judged(3000, 31000, 28500, STARVATION_STARVED);
    /* More lost than has passed. */
    assert_int_equal(judged(3000, 3000, 9000, STARVATION_MOVE), 6000);
}

/* One that goes on losing time ends within the bounds, after a number of moves that is bounded,
 * too; and it has had its time, unless it is starved. */
static void test_it_ends(void **state)
{
    const uint64_t limit_ns = MS(700);
    (void)state;
    for (unsigned percent = 0; percent <= 100; percent++) {
        uint64_t now_ns = limit_ns, lost_ns = now_ns / 100 * percent, deadline_ns = 0;
        enum starvation_verdict verdict;
        unsigned moves = 0;
        while ((verdict = starvation_judge(limit_ns, now_ns, lost_ns, now_ns, &deadline_ns)) ==
               STARVATION_MOVE) {
            assert_true(deadline_ns > now_ns);
            now_ns = deadline_ns;
            lost_ns = now_ns / 100 * percent;
            moves++;
        }
        assert_int_equal(verdict, percent > 90 ? STARVATION_STARVED : STARVATION_OVER);
        assert_in_range(now_ns, limit_ns, limit_ns * STARVATION_FACTOR_MAX);
        assert_in_range(moves, 0, 30);
        if (verdict == STARVATION_OVER)
            assert_in_range(now_ns - lost_ns, limit_ns - starvation_step_ns(limit_ns), limit_ns);
    }
}

/* The most moves: by the least step each. */
static void test_the_most_moves(void **state)
{
    const uint64_t limit_ns = MS(700);
    uint64_t now_ns = limit_ns, deadline_ns = 0;
    unsigned moves = 0;
    (void)state;
    while (starvation_judge(limit_ns, now_ns, now_ns - limit_ns + starvation_step_ns(limit_ns),
                            now_ns, &deadline_ns) == STARVATION_MOVE) {
        now_ns = deadline_ns;
        moves++;
    }
    assert_int_equal(moves, 180);
    assert_int_equal(now_ns, limit_ns * STARVATION_FACTOR_MAX);
}

/* One that was starved until its limit, and then sleeps, has as much again as it has lost. */
static void test_one_that_is_starved_at_first(void **state)
{
    const uint64_t limit_ns = MS(1000), lost_ns = MS(950);
    uint64_t now_ns = limit_ns, deadline_ns = 0;
    (void)state;
    while (starvation_judge(limit_ns, now_ns, lost_ns, now_ns, &deadline_ns) == STARVATION_MOVE)
        now_ns = deadline_ns;
    assert_int_equal(now_ns, limit_ns + lost_ns);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lost),
        cmocka_unit_test(test_nothing_is_lost_in_time_that_is_unknown),
        cmocka_unit_test(test_lost_to_its_own_limit),
        cmocka_unit_test(test_lost_by_the_cgroup),
        cmocka_unit_test(test_moves),
        cmocka_unit_test(test_ahead_of_the_deadline),
        cmocka_unit_test(test_small_waits_move_nothing),
        cmocka_unit_test(test_bounds),
        cmocka_unit_test(test_it_ends),
        cmocka_unit_test(test_the_most_moves),
        cmocka_unit_test(test_one_that_is_starved_at_first),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
