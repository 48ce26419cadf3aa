/* SPDX-License-Identifier: MIT */
/* A slot and its jails, from job to job and from jail to jail. */
#include "daemon/base/clock.h"
#include "daemon/jail/children.h"
#include "daemon/pool/slot_view.h"
#include "tests/unit/caught.h"
#include "tests/unit/daemon/pool/fake_jail.h"

#include <string.h>

/* --- the slot ------------------------------------------------------------------------------ */

#define JOBS 4

struct fixture {
    struct log log;
    struct confinement confinement, unusable;
    struct slot_tally tally;
    struct slot_config config;
    struct slot slot;
    unsigned started, idle, stopped;
    unsigned done;
    int owners[JOBS]; /* each is the owner of a job */
    void *done_owner[JOBS];
    struct slot_result result[JOBS];
    unsigned steps_to_come; /* on_done() has the slot go on with so many */
    int continued;          /* what the slot said to the last of them */
};

static int go_on(struct fixture *f, unsigned i, unsigned step, bool more);

static void on_started(struct slot *slot, void *owner, uint64_t started_ns, void *userdata)
{
    struct fixture *f = userdata;
    assert_ptr_equal(slot, &f->slot);
    assert_non_null(owner);
    assert_true(started_ns > 0);
    f->started++;
}

static void on_done(struct slot *slot, void *owner, const struct slot_result *result,
                    void *userdata)
{
    struct fixture *f = userdata;
    assert_ptr_equal(slot, &f->slot);
    assert_in_range(f->done, 0, JOBS - 1);
    f->done_owner[f->done] = owner;
    f->result[f->done++] = *result;
    if (f->steps_to_come > 0) {
        f->steps_to_come--;
        f->continued =
            go_on(f, (unsigned)((int *)owner - f->owners), result->step + 1, f->steps_to_come > 0);
    }
}

static void on_idle(struct slot *slot, void *userdata)
{
    struct fixture *f = userdata;
    assert_true(slot_is_idle(slot) || slot_takes_next(slot) || slot_holds_next(slot) ||
                slot_lacks_jail(slot));
    f->idle++;
}

static int on_sweep(void *userdata)
{
    struct fixture *f = userdata;
    const pid_t jail = slot_jail_pid(&f->slot);
    return children_kill(&jail, 1);
}

static void on_stopped(struct slot *slot, void *userdata)
{
    struct fixture *f = userdata;
    assert_true(slot_is_stopped(slot));
    f->stopped++;
}

static const struct slot_ops ops = {
    .started = on_started,
    .done = on_done,
    .idle = on_idle,
    .sweep = on_sweep,
    .stopped = on_stopped,
};

/* Starts a slot whose jails behave as BEHAVIOUR, and waits for the first. */
static struct fixture *start(const char *behaviour)
{
    struct fixture *f = calloc(1, sizeof(*f));
    assert_non_null(f);
    (void)alarm(60); /* whatever waits for ever ends here */
    confine(&f->confinement, "/proc/self/exe");
    confine(&f->unusable, "/dev/null");
    log_set_level(&f->log, -1);
    f->config = (struct slot_config){
        .base = event_base_new(),
        .log = &f->log,
        .confinement = &f->confinement,
        .work_directory = behaviour,
        .work_directory_fd = -1,
        .tally = &f->tally,
        .ops = &ops,
        .userdata = f,
    };
    assert_int_equal(slot_init(&f->slot, &f->config, 7), 0);
    assert_false(slot_is_idle(&f->slot));
    while (!slot_is_idle(&f->slot))
        assert_int_equal(event_base_loop(f->config.base, EVLOOP_ONCE), 0);
    assert_int_equal(f->idle, 1);
    return f;
}

static void finish(struct fixture *f)
{
    slot_deinit(&f->slot);
    assert_int_equal(event_base_get_num_events(f->config.base, EVENT_BASE_COUNT_ADDED), 0);
    assert_int_equal(f->confinement.references, 1);
    assert_int_equal(f->unusable.references, 1);
    close_fd(f->confinement.jail.program);
    close_fd(f->unusable.jail.program);
    while (children_kill(NULL, 0) > 0)
        continue;
    event_base_free(f->config.base);
    free(f);
    (void)alarm(0);
}

static struct launch make_launch(struct confinement *confinement)
{
    static const char *const argv[] = {"/bin/true", NULL};
    static const struct bytes no_input = BYTES_NULL;
    struct launch launch = {.argv = argv, .input = &no_input, .confinement = confinement};
    for (size_t limit = 0; limit < LIMIT_COUNT; limit++)
        launch.limits.of[limit] = 30000;
    return launch;
}

static int submit_with(struct fixture *f, unsigned i, struct confinement *confinement, bool network)
{
    struct launch launch = make_launch(confinement);
    launch.network = network;
    return slot_run(&f->slot, &launch, i + 1, &f->owners[i]);
}

/* Submits the first step of job I. */
static int submit_step(struct fixture *f, unsigned i)
{
    struct launch launch = make_launch(&f->confinement);
    launch.more = true;
    return slot_run(&f->slot, &launch, i + 1, &f->owners[i]);
}

static int go_on(struct fixture *f, unsigned i, unsigned step, bool more)
{
    struct launch launch = make_launch(&f->confinement);
    launch.step = step;
    launch.more = more;
    return slot_continue(&f->slot, &launch, i + 1, &f->owners[i]);
}

static int submit(struct fixture *f, unsigned i)
{
    return submit_with(f, i, &f->confinement, false);
}

/* Runs the loop until CONDITION; nothing may keep it from running on. */
#define RUN_UNTIL(f, condition)                                                  \
    do {                                                                         \
        while (!(condition))                                                     \
            assert_int_equal(event_base_loop((f)->config.base, EVLOOP_ONCE), 0); \
    } while (0)

static void expect_done(const struct fixture *f, unsigned n, unsigned i, enum slot_end end)
{
    assert_true(f->done > n);
    assert_ptr_equal(f->done_owner[n], &f->owners[i]);
    assert_int_equal(f->result[n].end, end);
}

static void stop(struct fixture *f)
{
    slot_stop(&f->slot);
    RUN_UNTIL(f, f->stopped > 0);
    assert_int_equal(f->stopped, 1);
    assert_true(slot_is_stopped(&f->slot));
    assert_int_equal(slot_jail_pid(&f->slot), 0);
    assert_false(slot_has_job(&f->slot));
}

/* --- tests --------------------------------------------------------------------------------- */

static void test_one_job_after_the_other(void **state)
{
    struct fixture *f = start(QUICK);
    (void)state;
    for (unsigned i = 0; i < JOBS; i++) {
        assert_int_equal(submit(f, i), 0);
        assert_true(slot_has_job(&f->slot));
        RUN_UNTIL(f, f->done == i + 1);
        expect_done(f, i, i, SLOT_END_EXITED);
        assert_true(slot_is_idle(&f->slot) && !slot_has_job(&f->slot));
    }
    assert_int_equal(f->started, JOBS);
    assert_int_equal(f->idle, JOBS + 1);
    stop(f);
    assert_int_equal(f->tally.jails_started, 1);
    assert_int_equal(f->tally.jails_lost, 0);
    finish(f);
}

/* A job whose output is at its end when it ends is over then. The slot would otherwise wait for the
 * end of the output, a second for each. */
static void test_a_job_that_is_over_is_not_waited_for(void **state)
{
    struct fixture *f = start(QUICK);
    const uint64_t began_ns = clock_now_ns();
    (void)state;
    for (unsigned i = 0; i < 30; i++) {
        f->done = 0;
        assert_int_equal(submit(f, 0), 0);
        RUN_UNTIL(f, f->done == 1);
    }
    assert_true(clock_now_ns() - began_ns < 20000 * NS_PER_MS);
    finish(f);
}

static void test_a_quick_slot_takes_a_job_ahead(void **state)
{
    struct fixture *f = start(QUICK);
    (void)state;
    assert_int_equal(submit(f, 0), 0);
    assert_false(slot_takes_next(&f->slot)); /* nobody knows yet that it is quick */
    RUN_UNTIL(f, f->done == 1);
    assert_int_equal(submit(f, 1), 0);
    assert_true(slot_takes_next(&f->slot));
    assert_int_equal(submit(f, 2), 0);
    assert_false(slot_takes_next(&f->slot));
    RUN_UNTIL(f, f->done == 3);
    expect_done(f, 1, 1, SLOT_END_EXITED);
    expect_done(f, 2, 2, SLOT_END_EXITED);
    stop(f);
    finish(f);
}

static void test_one_step_after_the_other(void **state)
{
    struct fixture *f = start(QUICK);
    (void)state;
    f->steps_to_come = JOBS - 1;
    assert_int_equal(submit_step(f, 2), 0);
    RUN_UNTIL(f, f->done == JOBS);
    for (unsigned i = 0; i < JOBS; i++) {
        expect_done(f, i, 2, SLOT_END_EXITED);
        assert_int_equal(f->result[i].step, i);
        assert_int_equal(f->result[i].more, i < JOBS - 1);
    }
    assert_int_equal(f->started, JOBS);
    /* At the beginning, behind the last step, and at the end. */
    assert_int_equal(f->idle, 3);
    assert_true(slot_is_idle(&f->slot) && !slot_has_job(&f->slot));
    stop(f);
    finish(f);
}

/* As long as a step may follow there is no place for another job behind it. */
static void test_a_step_goes_ahead_and_no_other_job(void **state)
{
    struct fixture *f = start(QUICK);
    (void)state;
    assert_int_equal(submit(f, 0), 0);
    RUN_UNTIL(f, f->done == 1);
    assert_int_equal(submit_step(f, 1), 0);
    assert_false(slot_takes_next(&f->slot));
    assert_false(slot_takes_step(&f->slot, &f->owners[0]));
    assert_true(slot_takes_step(&f->slot, &f->owners[1]));
    assert_int_equal(go_on(f, 1, 1, false), 0);
    assert_false(slot_takes_step(&f->slot, &f->owners[1]));
    assert_int_not_equal(f->slot.job.link_no, f->slot.next.link_no);
    RUN_UNTIL(f, f->done == 2);
    assert_int_equal(f->slot.state, SLOT_LAUNCHING); /* the jail has had it */
    assert_true(slot_takes_next(&f->slot));          /* it is the last one */
    RUN_UNTIL(f, f->done == 3);
    expect_done(f, 1, 1, SLOT_END_EXITED);
    expect_done(f, 2, 1, SLOT_END_EXITED);
    assert_int_equal(f->result[2].step, 1);
    stop(f);
    finish(f);
}

/* A step stays behind that of its own job, though its jail does not have it. */
static void test_a_step_that_is_held_is_not_for_others(void **state)
{
    struct fixture *f = start(QUICK);
    (void)state;
    assert_int_equal(submit(f, 0), 0);
    RUN_UNTIL(f, f->done == 1);
    assert_int_equal(submit_step(f, 1), 0);
    struct launch launch = make_launch(&f->confinement);
    launch.step = 1;
    launch.network = true; /* another jail */
    assert_int_equal(slot_continue(&f->slot, &launch, 2, &f->owners[1]), 0);
    assert_int_equal(f->slot.next.phase, SLOT_JOB_PENDING);
    assert_false(slot_holds_next(&f->slot));
    RUN_UNTIL(f, f->done == 3);
    expect_done(f, 2, 1, SLOT_END_EXITED);
    assert_int_equal(f->tally.jails_started, 2);
    finish(f);
}

static void test_a_cancelled_job_loses_the_step_ahead_too(void **state)
{
    struct fixture *f = start(QUICK);
    (void)state;
    assert_int_equal(submit(f, 0), 0);
    RUN_UNTIL(f, f->done == 1);
    assert_int_equal(submit_step(f, 1), 0);
    assert_int_equal(go_on(f, 1, 1, true), 0);
    slot_cancel(&f->slot, &f->owners[1]);
    RUN_UNTIL(f, f->done == 3);
    for (unsigned i = 1; i < 3; i++) {
        assert_ptr_equal(f->done_owner[i], &f->owners[1]);
        assert_int_equal(f->result[i].killed, SLOT_KILL_CANCELLED);
        assert_true(f->result[i].cancelled);
    }
    assert_true(slot_is_idle(&f->slot) && !slot_has_job(&f->slot));
    finish(f);
}

/* A step may follow in the next jail where this one could not clean up after the last, be it that
 * the next jail has come up by then or not. */
static void test_a_step_after_a_spent_jail(void **state)
{
    static const char *const behaviours[] = {SPENT, TIRED};
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(behaviours); i++) {
        struct fixture *f = start(behaviours[i]);
        f->steps_to_come = 1;
        assert_int_equal(submit_step(f, 0), 0);
        RUN_UNTIL(f, f->done == 2);
        assert_int_equal(f->continued, 0);
        expect_done(f, 0, 0, SLOT_END_EXITED);
        expect_done(f, 1, 0, SLOT_END_EXITED);
        assert_true(f->tally.jails_started > 1);
        finish(f);
    }
}

static void test_a_slot_that_stops_takes_no_step(void **state)
{
    struct fixture *f = start(SPENT);
    (void)state;
    f->steps_to_come = 1;
    assert_int_equal(submit_step(f, 0), 0);
    slot_stop(&f->slot);
    RUN_UNTIL(f, f->stopped == 1);
    assert_int_equal(f->done, 1);
    assert_int_equal(f->continued, -ESHUTDOWN);
    assert_false(slot_has_job(&f->slot));
    finish(f);
}

static void test_a_job_ahead_of_another_shape_is_held(void **state)
{
    struct fixture *f = start(QUICK);
    (void)state;
    assert_int_equal(submit(f, 0), 0);
    RUN_UNTIL(f, f->done == 1);
    assert_int_equal(submit(f, 1), 0);
    assert_int_equal(submit_with(f, 2, &f->confinement, true), 0);
    assert_true(slot_holds_next(&f->slot));
    assert_false(slot_delays_next(&f->slot));
    slot_cancel(&f->slot, &f->owners[2]);
    expect_done(f, 1, 2, SLOT_END_JAIL_LOST);
    assert_int_equal(f->result[1].killed, SLOT_KILL_CANCELLED);
    RUN_UNTIL(f, f->done == 3);
    expect_done(f, 2, 1, SLOT_END_EXITED);
    assert_int_equal(f->tally.jails_started, 1);
    finish(f);
}

/* The job that the lost jail had is given back at the first failure, the one behind it when it is
 * clear that no jail comes; both with the reason. */
static void test_a_job_ahead_without_a_jail(void **state)
{
    struct fixture *f = start(QUICK);
    (void)state;
    assert_int_equal(submit(f, 0), 0);
    RUN_UNTIL(f, f->done == 1);
    assert_int_equal(submit(f, 1), 0);
    assert_int_equal(submit_with(f, 2, &f->confinement, true), 0);
    f->slot.jail.host.work_directory = UNFIT;
    slot_jail_give_up(&f->slot.jail, "a test");
    RUN_UNTIL(f, f->done == 2);
    expect_done(f, 1, 1, SLOT_END_JAIL_LOST);
    assert_int_equal(f->slot.jail.failed_starts, 1);
    RUN_UNTIL(f, f->done == 3);
    expect_done(f, 2, 2, SLOT_END_JAIL_LOST);
    assert_int_equal(f->slot.jail.failed_starts, SLOT_ATTEMPTS);
    assert_string_equal(f->result[1].no_jail, "a step: No space left on device");
    assert_string_equal(f->result[2].no_jail, "a step: No space left on device");
    finish(f);
}

/* A jail whose first word is not that it is ready is given up, and so is one that says it twice. */
static void test_a_jail_that_is_hasty(void **state)
{
    struct fixture *f = start(QUICK);
    (void)state;
    f->slot.jail.host.work_directory = HASTY;
    slot_jail_replace(&f->slot.jail);
    RUN_UNTIL(f, slot_lacks_jail(&f->slot));
    assert_string_equal(f->slot.jail.trouble, "it sends what is not expected of it");
    f->slot.jail.host.work_directory = TWICE;
    RUN_UNTIL(f, f->slot.jail.state == SLOT_JAIL_UP);
    RUN_UNTIL(f, f->slot.jail.state != SLOT_JAIL_UP);
    assert_int_equal(f->tally.jails_lost, 2);
    finish(f);
}

static void test_a_job_of_another_shape_gets_another_jail(void **state)
{
    struct fixture *f = start(QUICK);
    const pid_t jail = slot_jail_pid(&f->slot);
    (void)state;
    assert_int_equal(submit_with(f, 0, &f->confinement, true), 0);
    RUN_UNTIL(f, f->done == 1);
    expect_done(f, 0, 0, SLOT_END_EXITED);
    assert_int_not_equal(slot_jail_pid(&f->slot), jail);
    assert_int_equal(f->tally.jails_started, 2);
    assert_int_equal(f->tally.jails_lost, 0);
    finish(f);
}

static void test_a_cancelled_job(void **state)
{
    struct fixture *f = start(SLOW);
    (void)state;
    assert_int_equal(submit(f, 0), 0);
    RUN_UNTIL(f, f->started == 1);
    slot_cancel(&f->slot, &f->owners[0]);
    assert_int_equal(f->slot.state, SLOT_ENDING);
    slot_stop(&f->slot); /* this jail does not report the end */
    RUN_UNTIL(f, f->stopped == 1);
    expect_done(f, 0, 0, SLOT_END_JAIL_LOST);
    assert_int_equal(f->result[0].killed, SLOT_KILL_CANCELLED);
    assert_int_equal(f->tally.jails_lost, 0); /* it was stopped */
    finish(f);
}

static void test_what_can_be_seen(void **state)
{
    struct fixture *f = start(SLOW);
    struct slot_view view;
    (void)state;
    slot_look(&f->slot, &view);
    assert_int_equal(view.index, 7);
    assert_int_equal(view.activity, SLOT_WAITS);
    assert_int_equal(view.jail_pid, slot_jail_pid(&f->slot));
    assert_null(view.owner);
    assert_int_equal(submit(f, 0), 0);
    slot_look(&f->slot, &view);
    assert_int_equal(view.activity, SLOT_WORKS);
    assert_int_equal(view.started_ns, 0);
    assert_int_equal(view.remaining_ms, 0);
    RUN_UNTIL(f, f->started == 1);
    slot_look(&f->slot, &view);
    assert_ptr_equal(view.owner, &f->owners[0]);
    assert_true(view.started_ns > 0);
    assert_in_range(view.remaining_ms, 1, 30000);
    assert_false(slot_is_overdue(&f->slot, clock_now_ns(), 0));
    assert_true(slot_is_overdue(&f->slot, clock_now_ns() + 31000 * NS_PER_MS, 0));
    assert_false(slot_is_overdue(&f->slot, clock_now_ns() + 31000 * NS_PER_MS, 2000));
    slot_stop(&f->slot);
    slot_look(&f->slot, &view);
    assert_int_equal(view.activity, SLOT_IS_BROKEN);
    assert_int_equal(view.remaining_ms, 0);
    finish(f);
}

static void test_a_jail_that_lies(void **state)
{
    struct fixture *f = start(LIAR);
    (void)state;
    assert_int_equal(submit(f, 0), 0);
    RUN_UNTIL(f, f->done == 1);
    expect_done(f, 0, 0, SLOT_END_JAIL_LOST);
    assert_int_equal(f->tally.jails_lost, 1);
    RUN_UNTIL(f, slot_is_idle(&f->slot)); /* a job that is lost waits for the next jail */
    assert_int_equal(f->tally.jails_started, 2);
    finish(f);
}

/* The job that wants it is given back at the first failure; the slot is well again later. */
static void test_a_jail_that_does_not_come_up(void **state)
{
    struct fixture *f = start(QUICK);
    (void)state;
    assert_int_equal(submit_with(f, 0, &f->unusable, false), 0);
    RUN_UNTIL(f, f->done == 1);
    expect_done(f, 0, 0, SLOT_END_JAIL_LOST);
    assert_true(slot_lacks_jail(&f->slot));
    assert_false(slot_is_idle(&f->slot));
    RUN_UNTIL(f, slot_is_idle(&f->slot));
    assert_false(slot_lacks_jail(&f->slot));
    assert_int_equal(f->tally.jails_lost, 1);
    finish(f);
}

/* Nor does a shape that one job wanted and that cannot be had keep the slot from the others. */
static void test_a_shape_that_cannot_be_had(void **state)
{
    struct fixture *f = start(QUICK);
    (void)state;
    f->confinement.probe.networked.layers = LAYER_BIT(LAYER_SECCOMP); /* fake jails have none */
    assert_int_equal(submit_with(f, 0, &f->confinement, true), 0);
    RUN_UNTIL(f, f->done == 1);
    expect_done(f, 0, 0, SLOT_END_JAIL_LOST);
    assert_string_equal(f->result[0].no_jail, "it lacks a layer of isolation");
    RUN_UNTIL(f, slot_is_idle(&f->slot));
    assert_int_equal(submit(f, 1), 0);
    RUN_UNTIL(f, f->done == 2);
    expect_done(f, 1, 1, SLOT_END_EXITED);
    finish(f);
}

/* The jail that could not clean up is gone: its job keeps its result, and must not cost the next
 * one its life. */
static void test_a_spent_jail_is_replaced_once(void **state)
{
    struct fixture *f = start(SPENT);
    (void)state;
    assert_int_equal(submit(f, 0), 0);
    RUN_UNTIL(f, f->done == 1);
    expect_done(f, 0, 0, SLOT_END_EXITED);
    RUN_UNTIL(f, slot_is_idle(&f->slot));
    assert_int_equal(f->tally.jails_started, 2);
    assert_int_equal(f->tally.jails_lost, 1);
    finish(f);
}

static void test_a_slot_stops_after_a_spent_jail(void **state)
{
    struct fixture *f = start(SPENT);
    (void)state;
    assert_int_equal(submit(f, 0), 0);
    RUN_UNTIL(f, slot_jail_pid(&f->slot) == 0); /* a sweep comes, and the next jail after that */
    assert_int_equal(f->started, 1);
    stop(f);
    expect_done(f, 0, 0, SLOT_END_EXITED);
    finish(f);
}

static void test_a_slot_stops_while_a_job_is_launched(void **state)
{
    struct fixture *f = start(SILENT);
    (void)state;
    assert_int_equal(submit(f, 0), 0);
    stop(f);
    expect_done(f, 0, 0, SLOT_END_JAIL_LOST);
    assert_int_equal(f->done, 1);
    finish(f);
}

/* --- assertions ---------------------------------------------------------------------------- */

static void run_without_a_job(struct fixture *f)
{
    f->slot.state = SLOT_RUNNING;
    f->slot.timer.callback(&f->slot);
}

/* Its jail is up, which it is not after the sweep that the jail's timer would begin. */
static void sweep_around_a_jail(struct fixture *f)
{
    f->slot.jail.state = SLOT_JAIL_SWEEPING;
    f->slot.jail.timer.callback(&f->slot.jail);
}

static void test_what_must_not_be_is_caught(void **state)
{
    const struct jail_wish networked = {.networked = true};
    struct fixture *f = start(SILENT);
    (void)state;
    assert_caught(slot_cancel(&f->slot, &f->owners[0])); /* the slot does not have it */
    assert_caught(slot_pass_on(&f->slot, &f->slot));
    assert_caught(slot_jail_start(&f->slot.jail)); /* one is up */
    assert_caught(slot_jail_reshape(&f->slot.jail, &f->confinement, &networked));
    assert_caught(f->slot.jail.host.ops->up(&f->slot)); /* idle to idle */
    assert_caught(run_without_a_job(f));
    assert_caught(sweep_around_a_jail(f));
    assert_int_equal(submit(f, 0), 0);
    assert_caught(submit(f, 1)); /* nobody knows that the slot is quick */
    assert_not_caught(slot_cancel(&f->slot, &f->owners[0]));
    stop(f);
    assert_caught(slot_jail_start(&f->slot.jail));
    finish(f);
}

/* LETTERS names the states in their order; NEXT has the letters of those that may follow each. */
#define CHECK_ARROWS(may_pass, letters, next)                                                \
    do {                                                                                     \
        for (unsigned from_ = 0; from_ < strlen(letters); from_++)                           \
            for (unsigned to_ = 0; to_ < strlen(letters); to_++)                             \
                if (may_pass(from_, to_) != (strchr((next)[from_], (letters)[to_]) != NULL)) \
                    fail_msg("%c to %c", (letters)[from_], (letters)[to_]);                  \
    } while (0)

/* A slot that is RUNNING has a jail that has taken its job, and a program. */
static void test_a_running_slot_is_consistent(void **state)
{
    struct fixture *f = start(SLOW);
    (void)state;
    assert_int_equal(submit(f, 0), 0);
    RUN_UNTIL(f, f->slot.state == SLOT_RUNNING);
    assert_true(slot_is_consistent(&f->slot));
    const int program = f->slot.job.program_pidfd;
    f->slot.job.program_pidfd = -1;
    assert_false(slot_is_consistent(&f->slot));
    f->slot.job.program_pidfd = program;
    f->slot.job.phase = SLOT_JOB_SENT;
    assert_false(slot_is_consistent(&f->slot));
    f->slot.job.phase = SLOT_JOB_TAKEN;
    f->slot.jail.state = SLOT_JAIL_DYING;
    assert_false(slot_is_consistent(&f->slot));
    f->slot.jail.state = SLOT_JAIL_UP;
    stop(f);
    finish(f);
}

static void test_the_arrows_between_states(void **state)
{
    /* Down, Idle, Launching, Running, Ending */
    static const char *const of_slot[] = {"I", "LD", "RID", "RED", "EID"};
    /* Sweeping, spawned (P), Up, Leaving, Dying, stopped (X) */
    static const char *const of_jail[] = {"SPX", "UD", "LD", "D", "S", ""};
    (void)state;
    CHECK_ARROWS(slot_may_enter, "DILRE", of_slot);
    CHECK_ARROWS(slot_jail_may_enter, "SPULDX", of_jail);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_job_after_the_other),
        cmocka_unit_test(test_a_job_that_is_over_is_not_waited_for),
        cmocka_unit_test(test_a_quick_slot_takes_a_job_ahead),
        cmocka_unit_test(test_one_step_after_the_other),
        cmocka_unit_test(test_a_step_goes_ahead_and_no_other_job),
        cmocka_unit_test(test_a_step_that_is_held_is_not_for_others),
        cmocka_unit_test(test_a_cancelled_job_loses_the_step_ahead_too),
        cmocka_unit_test(test_a_step_after_a_spent_jail),
        cmocka_unit_test(test_a_slot_that_stops_takes_no_step),
        cmocka_unit_test(test_a_job_ahead_of_another_shape_is_held),
        cmocka_unit_test(test_a_job_ahead_without_a_jail),
        cmocka_unit_test(test_a_jail_that_is_hasty),
        cmocka_unit_test(test_a_job_of_another_shape_gets_another_jail),
        cmocka_unit_test(test_a_cancelled_job),
        cmocka_unit_test(test_what_can_be_seen),
        cmocka_unit_test(test_a_jail_that_lies),
        cmocka_unit_test(test_a_jail_that_does_not_come_up),
        cmocka_unit_test(test_a_shape_that_cannot_be_had),
        cmocka_unit_test(test_a_spent_jail_is_replaced_once),
        cmocka_unit_test(test_a_slot_stops_after_a_spent_jail),
        cmocka_unit_test(test_a_slot_stops_while_a_job_is_launched),
        cmocka_unit_test(test_what_must_not_be_is_caught),
        cmocka_unit_test(test_a_running_slot_is_consistent),
        cmocka_unit_test(test_the_arrows_between_states),
    };
    if (is_fake_jail(argc, argv))
        return be_fake_jail(argv[1]);
    prepare_for_fake_jails();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
