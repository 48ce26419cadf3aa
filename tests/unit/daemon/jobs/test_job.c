/* SPDX-License-Identifier: MIT */
/* Tests the places of a job, the count of running jobs, and the set of a connection's jobs. */
#include "daemon/jobs/jobset.h"
#include "daemon/kinds/kind.h"
#include "proto/util.h"
#include "tests/unit/caught.h"

#include <string.h>

/* Returns a pointer that nothing dereferences. */
static struct slot *slot_number(uintptr_t number)
{
    return (struct slot *)(0x1000 * number);
}

static void no_more_jobs_stop_than_run(void **state)
{
    struct job_set set;
    (void)state;
    job_set_init(&set);
    assert_caught(job_set_count(&set, -1));
    job_set_count(&set, 1);
    assert_not_caught(job_set_count(&set, -1));
}

static void running_jobs_are_counted(void **state)
{
    struct queue_lane lane = {.count = 1};
    struct job_set set;
    char ids[] = "ab";
    struct job jobs[] = {{.id = {ids, 1}}, {.id = {ids + 1, 1}}};
    (void)state;
    job_set_init(&set);
    for (size_t i = 0; i < ARRAY_SIZE(jobs); i++) {
        assert_int_equal(job_set_add(&set, &jobs[i]), 0);
        jobs[i].entry.lane = &lane;
        job_enter(&jobs[i], JOB_QUEUED, NULL);
        jobs[i].entry.lane = NULL;
    }
    assert_int_equal(job_set_running(&set), 0);
    job_enter(&jobs[0], JOB_ON_SLOT, slot_number(1));
    job_enter(&jobs[1], JOB_ON_SLOT, slot_number(2));
    assert_int_equal(job_set_running(&set), 2);
    job_enter(&jobs[0], JOB_ON_SLOT, slot_number(3)); /* to another slot */
    assert_int_equal(job_set_running(&set), 2);
    assert_ptr_equal(jobs[0].slot, slot_number(3));
    job_enter(&jobs[0], JOB_ENDED, NULL);
    assert_int_equal(job_set_running(&set), 1);
    assert_null(jobs[0].slot);
    job_set_remove(&set, &jobs[0]);
    assert_int_equal(job_set_running(&set), 1);
    job_set_remove(&set, &jobs[1]); /* its client has gone; the job still runs */
    assert_int_equal(job_set_running(&set), 0);
    job_enter(&jobs[1], JOB_ENDED, NULL);
    assert_int_equal(job_set_running(&set), 0);
    assert_true(TAILQ_EMPTY(&set.list));
    assert_null(set.by_id);
}

static void places_that_may_follow(void **state)
{
    static const bool legal[JOB_ENDED + 1][JOB_ENDED + 1] = {
        [JOB_ADMITTED] = {[JOB_QUEUED] = true, [JOB_ENDED] = true},
        [JOB_QUEUED] = {[JOB_ON_SLOT] = true, [JOB_ENDED] = true},
        [JOB_ON_SLOT] = {[JOB_QUEUED] = true, [JOB_ON_SLOT] = true, [JOB_ENDED] = true},
    };
    struct queue_lane lane = {.count = 1};
    (void)state;
    for (enum job_place from = 0; from <= JOB_ENDED; from++)
        for (enum job_place to = 0; to <= JOB_ENDED; to++) {
            struct job job = {.place = from, .entry.lane = to == JOB_QUEUED ? &lane : NULL};
            struct slot *slot = to == JOB_ON_SLOT ? slot_number(1) : NULL;
            if (aborts(job_enter(&job, to, slot), !legal[from][to]) == legal[from][to])
                fail_msg("from %d to %d", (int)from, (int)to);
        }
}

/* A job's lane and slot must agree with its place. */
static void a_place_agrees_with_queue_and_slot(void **state)
{
    struct queue_lane lane = {.count = 1};
    struct job admitted = {.number = 1}, queued = {.place = JOB_QUEUED, .entry.lane = &lane};
    (void)state;
    assert_caught(job_enter(&admitted, JOB_QUEUED, NULL));
    assert_caught(job_enter(&queued, JOB_ON_SLOT, slot_number(1)));
    queued.entry.lane = NULL;
    assert_not_caught(job_enter(&queued, JOB_ON_SLOT, slot_number(1)));
    assert_caught(job_enter(&queued, JOB_ON_SLOT, NULL));
    assert_caught(job_enter(&queued, JOB_ENDED, slot_number(1)));
}

/* --- a job in use is not freed ----------------------------------------------------------- */

static struct job *new_job(void)
{
    struct job *job = calloc(1, sizeof(*job));
    assert_non_null(job);
    job->spec = calloc(1, sizeof(*job->spec));
    assert_non_null(job->spec);
    return job;
}

static void a_job_in_use_is_not_freed(void **state)
{
    struct queue_lane lane = {.count = 1};
    struct job_set set;
    struct job *job = new_job();
    (void)state;
    job_set_init(&set);
    assert_not_caught(job_free(job));
    assert_int_equal(job_set_add(&set, job), 0);
    assert_caught(job_free(job));
    job_set_remove(&set, job);
    job->entry.lane = &lane;
    job_enter(job, JOB_QUEUED, NULL);
    assert_caught(job_free(job));
    job->entry.lane = NULL;
    job_enter(job, JOB_ON_SLOT, slot_number(1));
    assert_caught(job_free(job));
    job_enter(job, JOB_ENDED, NULL);
    job_free(job);
}

/* --- turns --------------------------------------------------------------------------------- */

static void count_parts(void *parts)
{
    ++*(unsigned *)parts;
}

/* What a job goes on with is its own until it has a slot again. */
static void a_job_keeps_its_next_step_between_two_turns(void **state)
{
    struct queue_lane lane = {.count = 1};
    unsigned freed = 0;
    (void)state;
    for (int is_dropped = 0; is_dropped < 2; is_dropped++) {
        struct job *job = new_job();
        struct kind_plan plan = {.parts = &freed, .free_parts = count_parts, .more = true};
        job->place = JOB_ON_SLOT;
        job->steps.turn_ns = 5;
        assert_false(job_is_between_turns(job));
        assert_int_equal(job_end_turn(job, &plan), 0);
        assert_null(plan.parts); /* taken */
        assert_int_equal(job->steps.turn_ns, 0);
        job->entry.lane = &lane;
        job_enter(job, JOB_QUEUED, NULL);
        assert_true(job_is_between_turns(job));
        job->entry.lane = NULL;
        if (!is_dropped) {
            struct kind_plan next = job_begin_turn(job);
            assert_false(job_is_between_turns(job));
            assert_true(next.more && next.parts == &freed);
            kind_plan_deinit(&next);
        }
        job_enter(job, JOB_ENDED, NULL);
        job_free(job);
        assert_int_equal(freed, is_dropped + 1);
    }
}

/* What a plan borrows of a result is gone when its turn comes. */
static void a_step_that_uses_a_result_does_not_wait(void **state)
{
    struct job job = {.place = JOB_ON_SLOT};
    struct kind_plan plan = {.uses_result = true};
    (void)state;
    assert_caught(job_end_turn(&job, &plan));
}

/* --- what is noted of a job ---------------------------------------------------------------- */

static void a_job_begins_once(void **state)
{
    struct job job = {.queued_ns = 1};
    (void)state;
    job_begin(&job, 7);
    assert_int_equal(job.began_ns, 7);
    assert_caught(job_begin(&job, 8));
}

static void only_a_job_on_a_slot_is_killed_by_a_drain(void **state)
{
    struct job job = {.place = JOB_QUEUED};
    (void)state;
    assert_caught(job_mark_draining(&job));
    job_enter(&job, JOB_ON_SLOT, slot_number(1));
    job_mark_draining(&job);
    assert_true(job.draining);
    job_mark_draining(&job); /* a second signal */
}

static void a_job_is_orphaned_outside_of_its_set(void **state)
{
    char id[] = "a";
    struct job_set set;
    struct job job = {.id = {id, 1}, .conn = (struct conn *)(uintptr_t)0x1000};
    (void)state;
    job_set_init(&set);
    assert_int_equal(job_set_add(&set, &job), 0);
    assert_caught(job_orphan(&job));
    job_set_remove(&set, &job);
    job_orphan(&job);
    assert_null(job.conn);
}

/* --- the set ------------------------------------------------------------------------------- */

static void jobs_are_found_by_any_bytes(void **state)
{
    static char zero[] = {'a', '\0', 'b'}, other[] = {'a', '\0', 'c'}, empty[] = "";
    struct job jobs[] = {
        {.id = {zero, 3}}, {.id = {other, 3}}, {.id = {zero, 1}}, {.id = {empty, 0}}};
    struct job_set set;
    size_t i = 0;
    (void)state;
    job_set_init(&set);
    for (i = 0; i < ARRAY_SIZE(jobs); i++) {
        assert_null(job_set_find(&set, &jobs[i].id));
        assert_int_equal(job_set_add(&set, &jobs[i]), 0);
    }
    for (i = 0; i < ARRAY_SIZE(jobs); i++)
        assert_ptr_equal(job_set_find(&set, &jobs[i].id), &jobs[i]);
    i = 0;
    const struct job *job;
    TAILQ_FOREACH(job, &set.list, of_conn)
    assert_ptr_equal(job, &jobs[i++]);
    for (i = 0; i < ARRAY_SIZE(jobs); i++) {
        job_set_remove(&set, &jobs[i]);
        assert_null(job_set_find(&set, &jobs[i].id));
    }
}

static void a_job_is_in_one_set(void **state)
{
    struct job_set first, second;
    char id[] = "a";
    struct job job = {.id = {id, 1}};
    (void)state;
    job_set_init(&first);
    job_set_init(&second);
    assert_int_equal(job_set_add(&first, &job), 0);
    assert_caught(job_set_add(&second, &job));
    assert_caught(job_set_remove(&second, &job));
    job_set_remove(&first, &job);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_more_jobs_stop_than_run),
        cmocka_unit_test(running_jobs_are_counted),
        cmocka_unit_test(places_that_may_follow),
        cmocka_unit_test(a_job_keeps_its_next_step_between_two_turns),
        cmocka_unit_test(a_step_that_uses_a_result_does_not_wait),
        cmocka_unit_test(a_place_agrees_with_queue_and_slot),
        cmocka_unit_test(a_job_in_use_is_not_freed),
        cmocka_unit_test(a_job_begins_once),
        cmocka_unit_test(only_a_job_on_a_slot_is_killed_by_a_drain),
        cmocka_unit_test(a_job_is_orphaned_outside_of_its_set),
        cmocka_unit_test(jobs_are_found_by_any_bytes),
        cmocka_unit_test(a_job_is_in_one_set),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
