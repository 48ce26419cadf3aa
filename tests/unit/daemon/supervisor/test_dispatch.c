/* SPDX-License-Identifier: MIT */
/* Tests how a job of several steps goes from its launch to its one answer: with a kind of its own,
 * in a slot whose jails are fake. */
#include "daemon/jail/children.h"
#include "daemon/kinds/kind.h"
#include "daemon/supervisor/dispatch.h"
#include "tests/unit/daemon/pool/fake_jail.h"

#include <string.h>

#define STEPS 6

/* What the kind is asked and says: the `kept` of its job. */
struct plot {
    unsigned steps;     /* of the job */
    unsigned planned;   /* steps so far */
    unsigned ended;     /* results that next() was shown */
    unsigned ahead;     /* how many were planned ahead */
    unsigned last_step; /* after which next() says that none follows */
    int error;          /* what next() returns then instead of 0; a negative errno */
    unsigned judged, judged_step, dropped, freed;
};

struct fixture {
    struct supervisor supervisor;
    struct confinement confinement;
    struct settings *settings;
    struct slot_tally tally;
    struct slot_config config;
    struct slot slot;
    struct plot plot;
};

/* --- the kind ------------------------------------------------------------------------------ */

static const struct bytes no_input = BYTES_NULL;
static struct plot *current; /* the operations of a kind have no other way to it */

static void plan_step(struct kind_plan *plan)
{
    static const char *const argv[] = {"/bin/true", NULL};
    plan->launch = (struct launch){.argv = argv, .input = &no_input};
    for (size_t limit = 0; limit < LIMIT_COUNT; limit++)
        plan->launch.limits.of[limit] = 30000;
    plan->more = ++current->planned < current->steps;
}

static int plan_first(struct kind_plan *plan, const struct job_spec *spec,
                      const struct kind_host *host, enum error_code *ret_code, struct fault *fault)
{
    (void)spec, (void)host, (void)ret_code, (void)fault;
    plan->kept = current;
    plan_step(plan);
    return 0;
}

static int next(struct kind_plan *plan, const struct job_spec *spec, void *kept,
                const struct kind_host *host, const struct slot_result *result,
                enum error_code *ret_code, struct fault *fault)
{
    struct plot *plot = kept;
    (void)spec, (void)host;
    assert_int_equal(result->step, plot->ended++);
    assert_int_equal(result->end, SLOT_END_EXITED);
    assert_true(result->more);
    /* A plan is asked for if there is none. */
    assert_int_equal(plan != NULL, plot->planned == plot->ended);
    if (result->step == plot->last_step) {
        *ret_code = ERROR_NOT_PERMITTED;
        (void)fault_set(fault, "no further");
        return plot->error;
    }
    if (plan)
        plan_step(plan);
    return 1;
}

static int ahead(struct kind_plan *plan, const struct job_spec *spec, void *kept,
                 const struct kind_host *host)
{
    struct plot *plot = kept;
    (void)spec, (void)host;
    assert_true(plot->planned < plot->steps);
    plot->ahead++;
    plan_step(plan);
    return 1;
}

static int judge(const struct kind_run *run, struct judgement *ret)
{
    current->judged++;
    current->judged_step = run->result->step;
    return bench_score_pass(&ret->score);
}

static const char *label(const struct job_spec *spec)
{
    (void)spec;
    return "a plot";
}

static void drop_input(struct job_spec *spec)
{
    (void)spec;
    current->dropped++;
}

static void free_kept(void *kept)
{
    ((struct plot *)kept)->freed++;
}

static struct kind_ops kind = {
    .label = label,
    .plan = plan_first,
    .next = next,
    .judge = judge,
    .drop_input = drop_input,
    .free_kept = free_kept,
};

/* In the place of the function that finds the kinds there are (tests/unit/meson.build). */
const struct kind_ops *__wrap_kind_ops_get(enum job_kind_id id);
const struct kind_ops *__wrap_kind_ops_get(enum job_kind_id id)
{
    (void)id;
    return &kind;
}

/* --- the slot ------------------------------------------------------------------------------ */

static void on_idle(struct slot *slot, void *userdata)
{
    (void)slot, (void)userdata;
}

static int on_sweep(void *userdata)
{
    struct supervisor *supervisor = userdata;
    struct fixture *f = container_of(supervisor, struct fixture, supervisor);
    const pid_t jail = slot_jail_pid(&f->slot);
    return children_kill(&jail, 1);
}

static void on_turn(evutil_socket_t fd, short what, void *userdata)
{
    (void)fd, (void)what, (void)userdata;
}

static struct slot_ops slot_ops = {.idle = on_idle, .sweep = on_sweep, .stopped = on_idle};

/* Runs the loop until CONDITION; nothing may keep it from running on. */
#define RUN_UNTIL(f, condition)                                                  \
    do {                                                                         \
        while (!(condition))                                                     \
            assert_int_equal(event_base_loop((f)->config.base, EVLOOP_ONCE), 0); \
    } while (0)

static struct fixture *start(const char *behaviour, bool looks_ahead)
{
    struct fixture *f = calloc(1, sizeof(*f));
    assert_non_null(f);
    (void)alarm(60); /* whatever waits for ever ends here */
    confine(&f->confinement, "/proc/self/exe");
    f->settings = calloc(1, sizeof(*f->settings));
    assert_non_null(f->settings);
    f->settings->references = 1;
    f->settings->confinement = &f->confinement;
    assert_int_equal(bytes_copy("{}", 2, &f->settings->isolation.of_jobs), 0);
    assert_int_equal(stats_init(&f->supervisor.stats, clock_now_ns()), 0);
    log_set_level(&f->supervisor.log, -1);
    f->supervisor.base = event_base_new();
    f->supervisor.turn = event_new(f->supervisor.base, -1, 0, on_turn, NULL);
    slot_ops.started = dispatch_pool_ops.started;
    slot_ops.done = dispatch_pool_ops.done;
    f->config = (struct slot_config){
        .base = f->supervisor.base,
        .log = &f->supervisor.log,
        .confinement = &f->confinement,
        .work_directory = behaviour,
        .work_directory_fd = -1,
        .tally = &f->tally,
        .ops = &slot_ops,
        .userdata = &f->supervisor,
    };
    assert_int_equal(slot_init(&f->slot, &f->config, 0), 0);
    RUN_UNTIL(f, slot_is_idle(&f->slot));
    f->plot = (struct plot){.steps = STEPS, .last_step = UINT32_MAX};
    current = &f->plot;
    kind.ahead = looks_ahead ? ahead : NULL;
    return f;
}

static struct job *submit(struct fixture *f)
{
    struct job *job = calloc(1, sizeof(*job));
    assert_non_null(job);
    job->spec = calloc(1, sizeof(*job->spec));
    assert_non_null(job->spec);
    job->spec->kind = JOB_SANDBOX;
    job->number = 7;
    job->settings = settings_ref(f->settings);
    job->place = JOB_QUEUED; /* and just popped */
    job->queued_ns = clock_now_ns();
    dispatch_pool_ops.launch(&f->slot, &job->entry, &f->supervisor);
    return job;
}

/* The job was answered once, and nothing of it is left. */
static void finish(struct fixture *f, unsigned passed, enum error_code code)
{
    const struct stats_kind *of = &f->supervisor.stats.kinds[JOB_SANDBOX];
    RUN_UNTIL(f, f->plot.freed == 1 && !slot_has_job(&f->slot));
    assert_int_equal(of->passed, passed);
    assert_int_equal(of->failed, 0);
    for (unsigned i = 0; i < STATS_ERROR_CODES; i++)
        assert_int_equal(of->errors[i], passed == 0 && i == (unsigned)code);
    assert_int_equal(f->plot.judged, passed);
    slot_deinit(&f->slot);
    event_free(f->supervisor.turn);
    assert_int_equal(event_base_get_num_events(f->config.base, EVENT_BASE_COUNT_ADDED), 0);
    assert_int_equal(f->confinement.references, 1);
    assert_int_equal(f->settings->references, 1);
    stats_deinit(&f->supervisor.stats);
    bytes_deinit(&f->settings->isolation.of_jobs);
    free(f->settings);
    close_fd(f->confinement.jail.program);
    while (children_kill(NULL, 0) > 0)
        continue;
    event_base_free(f->config.base);
    free(f);
    (void)alarm(0);
}

/* --- tests --------------------------------------------------------------------------------- */

static void test_each_step_follows_the_one_before(void **state)
{
    struct fixture *f = start(QUICK, false);
    (void)state;
    (void)submit(f);
    RUN_UNTIL(f, f->plot.freed == 1);
    assert_int_equal(f->plot.planned, STEPS);
    assert_int_equal(f->plot.ended, STEPS - 1); /* the last one is judged */
    assert_int_equal(f->plot.judged_step, STEPS - 1);
    assert_int_equal(f->plot.dropped, 1);
    finish(f, 1, 0);
}

static void test_steps_go_ahead(void **state)
{
    struct fixture *f = start(QUICK, true);
    (void)state;
    (void)submit(f);
    RUN_UNTIL(f, f->plot.freed == 1);
    assert_int_equal(f->plot.planned, STEPS);
    assert_int_equal(f->plot.ended, STEPS - 1);
    assert_int_equal(f->plot.judged_step, STEPS - 1);
    /* The first shows that they are quick. The second is behind it, and all others go ahead. */
    assert_int_equal(f->plot.ahead, STEPS - 2);
    finish(f, 1, 0);
}

/* The answer is that to the step after which none follows; the one that is ahead counts for
 * nothing, and the answer waits for its end. */
static void test_a_step_ahead_that_is_not_wanted(void **state)
{
    (void)state;
    for (unsigned last = 0; last < STEPS - 1; last++) {
        struct fixture *f = start(QUICK, true);
        f->plot.last_step = last;
        (void)submit(f);
        RUN_UNTIL(f, f->plot.judged == 1);
        assert_int_equal(f->plot.judged_step, last);
        assert_int_equal(f->plot.freed, f->plot.planned == last + 1);
        finish(f, 1, 0);
    }
}

static void test_an_error_between_steps(void **state)
{
    (void)state;
    for (int looks_ahead = 0; looks_ahead < 2; looks_ahead++) {
        struct fixture *f = start(QUICK, looks_ahead);
        f->plot.last_step = 2;
        f->plot.error = -EINVAL;
        (void)submit(f);
        finish(f, 0, ERROR_NOT_PERMITTED);
    }
}

static void test_a_cancelled_job(void **state)
{
    (void)state;
    for (int looks_ahead = 0; looks_ahead < 2; looks_ahead++) {
        struct fixture *f = start(QUICK, looks_ahead);
        struct job *job = submit(f);
        RUN_UNTIL(f, f->plot.ended == 2);
        slot_cancel(&f->slot, job);
        finish(f, 0, ERROR_CANCELLED);
    }
}

/* The step ahead does not run in the next jail as if nothing had happened. */
static void test_a_jail_that_is_lost(void **state)
{
    (void)state;
    for (int looks_ahead = 0; looks_ahead < 2; looks_ahead++) {
        struct fixture *f = start(QUICK, looks_ahead);
        (void)submit(f);
        RUN_UNTIL(f, f->plot.ended == 2);
        slot_jail_give_up(&f->slot.jail, "a test");
        finish(f, 0, ERROR_SANDBOX_FAILED);
    }
}

static void test_no_further_jail(void **state)
{
    struct fixture *f = start(QUICK, true);
    (void)state;
    (void)submit(f);
    RUN_UNTIL(f, f->plot.ended == 2);
    f->slot.jail.host.work_directory = UNFIT;
    slot_jail_give_up(&f->slot.jail, "a test");
    finish(f, 0, ERROR_SANDBOX_FAILED);
}

/* Others wait, and the job has had its turn: nothing more goes ahead, so that it can give its slot
 * back. It goes on where it was when it gets a slot again. */
static void test_a_job_gives_its_slot_back(void **state)
{
    (void)state;
    for (int looks_ahead = 0; looks_ahead < 2; looks_ahead++) {
        struct fixture *f = start(QUICK, looks_ahead);
        struct queue *queue = &f->supervisor.queue;
        struct queue_user user;
        struct queue_entry other = {.size = 1};
        struct queue_lane lane_of_other;
        struct conn *conn = calloc(1, sizeof(*conn));
        assert_non_null(conn);
        queue_init(queue, 9, 9, 9);
        queue_user_init(&user);
        queue_lane_init(&conn->lane, &user);
        queue_lane_init(&lane_of_other, &user);
        f->supervisor.pool.queue = queue;
        struct job *job = submit(f);
        RUN_UNTIL(f, f->plot.ended == 1);
        job->conn = conn; /* for its lane alone */
        job->steps.turn_ns = 1;
        queue_push(queue, &lane_of_other, &other);
        RUN_UNTIL(f, f->plot.freed > 0 || job_is_between_turns(job));
        assert_int_equal(f->plot.freed, 0);
        job->conn = NULL;
        assert_false(slot_has_job(&f->slot));
        unsigned ended = f->plot.ended;
        assert_int_equal(f->plot.planned, ended + 1);
        RUN_UNTIL(f, slot_is_idle(&f->slot));
        assert_ptr_equal(queue_pop(queue), &other);
        assert_ptr_equal(queue_pop(queue), &job->entry);
        dispatch_pool_ops.launch(&f->slot, &job->entry, &f->supervisor);
        RUN_UNTIL(f, f->plot.freed == 1);
        assert_int_equal(f->plot.planned, STEPS);
        assert_int_equal(f->plot.judged_step, STEPS - 1);
        finish(f, 1, 0);
        free(conn);
    }
}

int main(int argc, char **argv)
{
    if (is_fake_jail(argc, argv))
        return be_fake_jail(argv[1]);
    prepare_for_fake_jails();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_step_follows_the_one_before),
        cmocka_unit_test(test_steps_go_ahead),
        cmocka_unit_test(test_a_step_ahead_that_is_not_wanted),
        cmocka_unit_test(test_an_error_between_steps),
        cmocka_unit_test(test_a_cancelled_job),
        cmocka_unit_test(test_a_jail_that_is_lost),
        cmocka_unit_test(test_no_further_jail),
        cmocka_unit_test(test_a_job_gives_its_slot_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
