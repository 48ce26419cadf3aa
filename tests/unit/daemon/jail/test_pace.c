/* SPDX-License-Identifier: MIT */
/* How long the jail waits after a look. */
#include "daemon/jail/pace.h"
#include "proto/util.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <time.h>

#include <cmocka.h>

#define LEAST_MS 50
#define LOOK_MS 60
/* CPU time of looks whose part of a CPU is below the longest wait, and above it. */
#define SHORT_MS 6
#define LONG_MS 20

static void test_a_short_look(void **state)
{
    (void)state;
    const struct pace pace = pace_begin();
    assert_true(pace_next_ms(&pace, LEAST_MS) >= LEAST_MS);
}

static struct pace look_for(uint64_t cpu_ms)
{
    const struct pace pace = pace_begin();
    while (clock_cpu_ns() - pace.began_cpu_ns < cpu_ms * NS_PER_MS)
        continue;
    return pace;
}

/* It takes CPU time, of which looks have a part. */
static void test_a_look_that_computes(void **state)
{
    (void)state;
    const struct pace pace = look_for(SHORT_MS);
    assert_true(pace_next_ms(&pace, LEAST_MS) >= SHORT_MS * PACE_SHARE);
}

/* A job that makes looks take long does not go unseen for longer. */
static void test_a_look_that_takes_long(void **state)
{
    (void)state;
    const struct pace pace = look_for(LONG_MS);
    assert_int_equal(pace_next_ms(&pace, LEAST_MS), PACE_MOST_MS);
    assert_int_equal(pace_next_ms(&pace, 2 * PACE_MOST_MS), 2 * PACE_MOST_MS);
}

/* It waits for a CPU, or for a lock. */
static void test_a_look_that_waits(void **state)
{
    (void)state;
    const struct pace pace = pace_begin();
    (void)nanosleep(&(struct timespec){.tv_nsec = LOOK_MS * NS_PER_MS}, NULL);
    uint64_t took_ms = (clock_now_ns() - pace.began_ns) / NS_PER_MS;
    int next_ms = pace_next_ms(&pace, LEAST_MS);
    assert_true(next_ms >= LOOK_MS);
    assert_true((uint64_t)next_ms < took_ms * PACE_SHARE);
    assert_true(next_ms <= (int)PACE_MOST_MS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_short_look),
        cmocka_unit_test(test_a_look_that_computes),
        cmocka_unit_test(test_a_look_that_takes_long),
        cmocka_unit_test(test_a_look_that_waits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
