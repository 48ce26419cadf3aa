/* SPDX-License-Identifier: MIT */
/* The pool: it launches what is queued, grows and shrinks around running jobs, and stops. */
#include "daemon/jail/children.h"
#include "daemon/pool/pool.h"
#include "tests/unit/caught.h"
#include "tests/unit/daemon/pool/fake_jail.h"

#include <sys/resource.h>

#define ITEMS 8

struct item {
    struct queue_entry entry;
    struct slot *slot;    /* NULL: not launched, or done */
    bool is_cancelled;    /* as pool_cancel_all() told */
    struct slot *session; /* whose command it is; NULL: none */
    enum slot_kill killed;
};

struct fixture {
    struct log log;
    struct confinement confinement, other;
    struct queue queue;
    struct queue_user user;
    struct queue_lane lane;
    struct pool pool;
    struct event_base *base;
    struct item items[ITEMS];
    unsigned launched, started, done, stopped;
};

static void on_launch(struct slot *slot, struct queue_entry *entry, void *userdata)
{
    struct fixture *f = userdata;
    struct item *item = container_of(entry, struct item, entry);
    static const char *const argv[] = {"/bin/true", NULL};
    static const struct bytes no_input = BYTES_NULL;
    struct launch launch = {.argv = argv, .input = &no_input, .confinement = &f->confinement};
    for (size_t limit = 0; limit < LIMIT_COUNT; limit++)
        launch.limits.of[limit] = 30000;
    item->slot = item->session ? item->session : slot;
    if (!item->session) {
        assert_int_equal(slot_run(slot, &launch, ++f->launched, item), 0);
        return;
    }
    launch.act = LAUNCH_EXEC;
    assert_int_equal(slot_continue(item->session, &launch, ++f->launched, item), 0);
    pool_lend(&f->pool, slot, item->session);
}

static void on_moved(struct slot *slot, void *owner, void *userdata)
{
    struct item *item = owner;
    (void)userdata;
    assert_non_null(item->slot);
    item->slot = slot;
}

static void on_started(struct slot *slot, void *owner, uint64_t started_ns, void *userdata)
{
    struct fixture *f = userdata;
    const struct item *item = owner;
    assert_ptr_equal(item->slot, slot);
    assert_true(started_ns > 0);
    f->started++;
}

static void on_done(struct slot *slot, void *owner, const struct slot_result *result,
                    void *userdata)
{
    struct fixture *f = userdata;
    struct item *item = owner;
    assert_ptr_equal(item->slot, slot);
    item->slot = NULL;
    item->killed = result->killed;
    f->done++;
}

static void on_output(struct slot *slot, void *owner, bool is_stderr, const char *data, size_t n,
                      void *userdata)
{
    (void)slot;
    (void)owner;
    (void)is_stderr;
    (void)data;
    (void)n;
    (void)userdata;
    fail_msg("a fake jail's program writes nothing");
}

static void on_idle(void *userdata)
{
    struct fixture *f = userdata;
    while (pool_dispatch(&f->pool))
        continue;
}

static void on_stopped(void *userdata)
{
    struct fixture *f = userdata;
    f->stopped++;
}

static const struct pool_ops ops = {
    .launch = on_launch,
    .moved = on_moved,
    .started = on_started,
    .done = on_done,
    .output = on_output,
    .idle = on_idle,
    .stopped = on_stopped,
};

static void push(struct fixture *f, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        queue_push(&f->queue, &f->lane, &f->items[i].entry);
    while (pool_dispatch(&f->pool))
        continue;
}

#define RUN_UNTIL(f, condition)                                           \
    do {                                                                  \
        while (!(condition))                                              \
            assert_int_equal(event_base_loop((f)->base, EVLOOP_ONCE), 0); \
    } while (0)

static bool all_idle(const struct fixture *f)
{
    struct slot_view view;
    for (unsigned at = 0; pool_look(&f->pool, &at, &view);)
        if (view.activity != SLOT_WAITS)
            return false;
    return true;
}

static unsigned count_shown(const struct fixture *f, unsigned *ret_retiring)
{
    struct slot_view view;
    unsigned shown = 0;
    *ret_retiring = 0;
    for (unsigned at = 0; pool_look(&f->pool, &at, &view); shown++)
        *ret_retiring += view.is_retiring;
    return shown;
}

/* Starts a pool of SIZE slots whose jails behave as BEHAVIOUR, and waits for these. */
static struct fixture *start(const char *behaviour, unsigned size)
{
    struct fixture *f = calloc(1, sizeof(*f));
    assert_non_null(f);
    (void)alarm(60); /* a test that hangs ends here */
    confine(&f->confinement, "/proc/self/exe");
    confine(&f->other, "/proc/self/exe");
    log_set_level(&f->log, -1);
    f->base = event_base_new();
    queue_init(&f->queue, ITEMS, SIZE_MAX, ITEMS);
    queue_user_init(&f->user);
    queue_lane_init(&f->lane, &f->user);
    const struct pool_config config = {
        .base = f->base,
        .log = &f->log,
        .confinement = &f->confinement,
        .work_directory = behaviour,
        .work_directory_fd = -1,
        .slot_count = size,
        .queue = &f->queue,
        .ops = &ops,
        .userdata = f,
    };
    assert_int_equal(pool_init(&f->pool, &config), 0);
    assert_int_equal(pool_size(&f->pool), size);
    RUN_UNTIL(f, all_idle(f));
    return f;
}

static void finish(struct fixture *f)
{
    pool_stop(&f->pool);
    RUN_UNTIL(f, pool_is_stopped(&f->pool));
    assert_int_equal(pool_busy(&f->pool), 0);
    pool_deinit(&f->pool);
    assert_int_equal(f->confinement.references, 1);
    assert_int_equal(f->other.references, 1);
    close_fd(f->confinement.jail.program);
    close_fd(f->other.jail.program);
    while (children_kill(NULL, 0) > 0)
        continue;
    event_base_free(f->base);
    free(f);
    (void)alarm(0);
}

static void test_all_that_is_queued_is_launched(void **state)
{
    struct fixture *f = start(QUICK, 2);
    (void)state;
    assert_false(pool_can_dispatch(&f->pool));
    push(f, ITEMS);
    assert_int_equal(pool_busy(&f->pool), 2);
    RUN_UNTIL(f, f->done == ITEMS);
    assert_int_equal(f->started, ITEMS);
    assert_int_equal(pool_dispatched(&f->pool), ITEMS);
    assert_int_equal(pool_tally(&f->pool)->jails_started, 2);
    finish(f);
}

/* Between two launches those who wait for room may be let in. */
static void test_one_entry_is_launched_at_a_time(void **state)
{
    struct fixture *f = start(SLOW, 2);
    (void)state;
    for (unsigned i = 0; i < 3; i++)
        queue_push(&f->queue, &f->lane, &f->items[i].entry);
    assert_true(pool_dispatch(&f->pool));
    assert_int_equal(pool_dispatched(&f->pool), 1);
    assert_true(pool_dispatch(&f->pool));
    assert_int_equal(pool_dispatched(&f->pool), 2);
    assert_false(pool_dispatch(&f->pool));
    finish(f);
}

/* Which idle slot an entry gets: one with a template of its class, else one without any. */
static void test_a_slot_that_suits(void **state)
{
    static const uint64_t of_slots[] = {7, 0, 9, 0}, of_entries[] = {9, 5, 0, 5};
    static const unsigned expected[] = {2, 1, 3, 0};
    struct fixture *f = start(SLOW, ARRAY_SIZE(of_slots));
    (void)state;
    for (unsigned i = 0; i < ARRAY_SIZE(of_slots); i++)
        f->pool.slots[i]->slot.of_class.affinity = of_slots[i];
    for (unsigned i = 0; i < ARRAY_SIZE(expected); i++) {
        f->items[i].entry.affinity = of_entries[i];
        queue_push(&f->queue, &f->lane, &f->items[i].entry);
        assert_true(pool_dispatch(&f->pool));
        assert_ptr_equal(f->items[i].slot, &f->pool.slots[expected[i]]->slot);
    }
    finish(f);
}

/* Asserts that a job of a class, on the first slot, may have a template of BYTES_MAX bytes, if all
 * may have 8; 0: none. */
static void expect_room(const struct fixture *f, uint64_t bytes_max)
{
    static const char *const parts[] = {"key", NULL};
    struct launch launch = {.of_class = {.parts = parts}};
    pool_settle_class(&f->pool, &f->pool.slots[0]->slot, &launch, 8);
    if (bytes_max > 0) {
        assert_null(launch.of_class.why_not);
        assert_int_equal(launch.of_class.bytes_max, bytes_max);
        return;
    }
    assert_null(launch.of_class.parts);
    assert_string_equal(launch.of_class.why_not, "[warm] classes has no room left");
}

/* Half of what the templates of others leave: also of jobs that have not begun yet. */
static void test_memory_of_templates(void **state)
{
    struct fixture *f = start(QUICK, 3);
    struct slot *second = &f->pool.slots[1]->slot, *third = &f->pool.slots[2]->slot;
    (void)state;
    f->pool.slots[0]->slot.of_class.bytes = 8; /* this one goes */
    expect_room(f, 4);
    second->of_class.bytes = 2;
    expect_room(f, 3);
    third->job.of_class = (struct slot_class){.key = "other", .bytes = 4};
    expect_room(f, 1);
    third->next.of_class = (struct slot_class){.key = "next", .bytes = 6};
    expect_room(f, 0);
    third->job.of_class = third->next.of_class = (struct slot_class){.affinity = 0};
    finish(f);
}

static void test_a_retiring_slot_ends_its_job(void **state)
{
    struct fixture *f = start(SLOW, 2);
    unsigned retiring;
    (void)state;
    push(f, 2);
    RUN_UNTIL(f, f->started == 2);
    assert_int_equal(pool_resize(&f->pool, 1), 0);
    assert_int_equal(pool_size(&f->pool), 1);
    assert_int_equal(pool_retiring(&f->pool), 1);
    assert_int_equal(count_shown(f, &retiring), 2);
    assert_int_equal(retiring, 1);
    assert_int_equal(pool_resize(&f->pool, 2), 0); /* called back */
    assert_int_equal(pool_retiring(&f->pool), 0);
    assert_int_equal(pool_tally(&f->pool)->jails_started, 2);

    assert_int_equal(pool_resize(&f->pool, 1), 0);
    for (unsigned i = 0; i < 2; i++)
        slot_cancel(f->items[i].slot, &f->items[i]);
    RUN_UNTIL(f, f->stopped == 1 && f->done == 2);
    pool_reap(&f->pool);
    assert_int_equal(f->pool.slot_count, 1);
    assert_int_equal(count_shown(f, &retiring), 1);
    assert_int_equal(retiring, 0);
    finish(f);
}

static void test_an_idle_surplus_slot_is_not_shown(void **state)
{
    struct fixture *f = start(QUICK, 3);
    unsigned retiring;
    (void)state;
    assert_int_equal(pool_resize(&f->pool, 1), 0);
    assert_int_equal(count_shown(f, &retiring), 1);
    assert_int_equal(pool_resize(&f->pool, 2),
                     0); /* a new one: a slot that stops does not return */
    assert_int_equal(pool_tally(&f->pool)->jails_started, 4);
    RUN_UNTIL(f, f->stopped == 2);
    pool_reap(&f->pool);
    assert_int_equal(f->pool.slot_count, 2);
    finish(f);
}

/* --- sessions ------------------------------------------------------------------------------ */

static struct slot *open_session(struct fixture *f)
{
    struct slot *slot = NULL;
    assert_int_equal(pool_open_session(&f->pool, &f->other, &slot), 0);
    return slot;
}

/* A command takes the turn of a slot: no job runs beside it where there is one slot. */
static void test_a_command_borrows_a_slot(void **state)
{
    struct fixture *f = start(SLOW, 1);
    struct slot_view view;
    unsigned at = 0, retiring;
    (void)state;
    struct slot *session = open_session(f);
    assert_int_equal(pool_size(&f->pool), 1); /* it does not count */
    assert_int_equal(count_shown(f, &retiring), 1);
    f->items[0].session = session;
    f->items[0].entry.wants_idle = true;
    push(f, 2); /* it waits for its jail, and its turn goes on meanwhile */
    assert_int_equal(pool_dispatched(&f->pool), 1);
    RUN_UNTIL(f, f->started == 1);
    assert_ptr_equal(f->items[0].slot, session);
    assert_int_equal(pool_busy(&f->pool), 1);
    assert_true(pool_look(&f->pool, &at, &view));
    assert_int_equal(view.index, 0);
    assert_int_equal(view.activity, SLOT_WORKS);
    assert_ptr_equal(view.owner, &f->items[0]);
    assert_int_equal(view.jail_pid, slot_jail_pid(session));
    assert_false(pool_can_dispatch(&f->pool));

    slot_cancel(session, &f->items[0]);
    RUN_UNTIL(f, f->started == 2); /* the job has the slot */
    assert_int_equal(f->done, 1);
    assert_ptr_not_equal(f->items[1].slot, session);
    slot_cancel(f->items[1].slot, &f->items[1]);
    RUN_UNTIL(f, f->done == 2);
    assert_false(slot_is_stopped(session)); /* the session goes on */
    pool_close_session(&f->pool, session);
    pool_close_session(&f->pool, session); /* once more does nothing */
    RUN_UNTIL(f, f->stopped == 1);
    pool_reap(&f->pool);
    assert_int_equal(f->pool.slot_count, 1);
    finish(f);
}

/* A slot that retires while it is lent goes when the command is over, or stays if it is called
 * back. */
static void test_a_lent_slot_retires(void **state)
{
    struct fixture *f = start(SLOW, 2);
    unsigned retiring;
    (void)state;
    for (unsigned i = 0; i < 2; i++) {
        f->items[i].session = open_session(f);
        f->items[i].entry.wants_idle = true;
    }
    push(f, 2);
    RUN_UNTIL(f, f->started == 2);
    assert_int_equal(pool_resize(&f->pool, 1), 0);
    assert_int_equal(pool_retiring(&f->pool), 1);
    assert_int_equal(pool_resize(&f->pool, 2), 0);
    assert_int_equal(pool_retiring(&f->pool), 0);
    assert_int_equal(pool_resize(&f->pool, 1), 0);
    for (unsigned i = 0; i < 2; i++)
        slot_cancel(f->items[i].slot, &f->items[i]);
    RUN_UNTIL(f, f->done == 2 && f->stopped == 1);
    pool_reap(&f->pool);
    assert_int_equal(count_shown(f, &retiring), 1);
    assert_int_equal(retiring, 0);
    assert_int_equal(f->pool.slot_count, 3);
    finish(f);
}

/* A command does not go ahead on a quick slot, where it would run beside the job. */
static void test_a_command_waits_for_an_idle_slot(void **state)
{
    struct fixture *f = start(QUICK, 1);
    (void)state;
    struct slot *session = open_session(f);
    push(f, 1); /* so that the slot is known to be quick */
    RUN_UNTIL(f, f->done == 1 && all_idle(f));
    f->items[1].session = session;
    f->items[1].entry.wants_idle = true;
    queue_push(&f->queue, &f->lane, &f->items[2].entry);
    queue_push(&f->queue, &f->lane, &f->items[1].entry);
    queue_push(&f->queue, &f->lane, &f->items[3].entry);
    assert_true(pool_dispatch(&f->pool));
    assert_ptr_equal(queue_peek(&f->queue), &f->items[1].entry);
    assert_false(pool_dispatch(&f->pool)); /* nor does the job behind it */
    RUN_UNTIL(f, f->done == 4);
    finish(f);
}

/* A job gives its slot back if that helps others: not to an idle slot's work, nor to its own
 * connection's. */
static void test_whom_a_slot_is_given_back_for(void **state)
{
    struct fixture *f = start(SLOW, 2);
    struct queue_lane other;
    (void)state;
    queue_lane_init(&other, f->lane.user);
    RUN_UNTIL(f, all_idle(f));
    push(f, 1);
    const struct slot *slot = f->items[0].slot;
    queue_push(&f->queue, &other, &f->items[1].entry);
    assert_false(pool_others_wait(&f->pool, slot, &f->lane)); /* the other slot takes it */
    assert_true(pool_dispatch(&f->pool));
    assert_false(pool_others_wait(&f->pool, slot, &f->lane));
    queue_push(&f->queue, &f->lane, &f->items[2].entry);
    assert_false(pool_others_wait(&f->pool, slot, &f->lane));
    queue_push(&f->queue, &other, &f->items[3].entry);
    assert_true(pool_others_wait(&f->pool, slot, &f->lane));
    finish(f);
}

/* Its jail is of the confinement that it was opened under; a reload does not replace it. */
static void test_a_reload_leaves_sessions_alone(void **state)
{
    struct fixture *f = start(QUICK, 1);
    (void)state;
    struct slot *session = open_session(f);
    RUN_UNTIL(f, slot_is_idle(session));
    pid_t jail = slot_jail_pid(session);
    assert_ptr_equal(session->jail.confinement, &f->other);
    pool_set_confinement(&f->pool, &f->other);
    RUN_UNTIL(f, all_idle(f));
    pool_set_confinement(&f->pool, &f->confinement);
    RUN_UNTIL(f, all_idle(f));
    assert_int_equal(slot_jail_pid(session), jail);
    finish(f);
}

static void test_a_lost_jail_is_noted(void **state)
{
    struct fixture *f = start(QUICK, 1);
    (void)state;
    struct slot *session = open_session(f);
    RUN_UNTIL(f, slot_is_idle(session));
    assert_false(slot_has_lost_jail(session));
    assert_int_equal(kill(slot_jail_pid(session), SIGKILL), 0);
    RUN_UNTIL(f, slot_has_lost_jail(session));
    assert_false(pool_has_no_jail(&f->pool)); /* the other slot has one */
    finish(f);
}

static void lend_a_busy_one(struct fixture *f)
{
    pool_lend(&f->pool, f->items[0].slot, f->items[0].slot);
}

static void test_no_busy_slot_is_lent(void **state)
{
    struct fixture *f = start(SLOW, 1);
    (void)state;
    push(f, 1);
    RUN_UNTIL(f, f->started == 1);
    assert_caught(lend_a_busy_one(f));
    finish(f);
}

static void mark(void *owner)
{
    struct item *item = owner;
    item->is_cancelled = true;
}

static void test_all_jobs_are_cancelled(void **state)
{
    struct fixture *f = start(SLOW, 2);
    (void)state;
    push(f, 2);
    RUN_UNTIL(f, f->started == 2);
    pool_cancel_all(&f->pool, mark);
    RUN_UNTIL(f, f->done == 2);
    for (unsigned i = 0; i < 2; i++) {
        assert_true(f->items[i].is_cancelled);
        assert_int_equal(f->items[i].killed, SLOT_KILL_CANCELLED);
    }
    finish(f);
}

static void test_idle_jails_are_replaced(void **state)
{
    struct fixture *f = start(QUICK, 2);
    (void)state;
    pool_set_confinement(&f->pool, &f->other);
    assert_false(all_idle(f));
    RUN_UNTIL(f, all_idle(f));
    assert_int_equal(pool_tally(&f->pool)->jails_started, 4);
    assert_int_equal(pool_tally(&f->pool)->jails_lost, 0);
    assert_false(pool_has_no_jail(&f->pool));
    finish(f);
}

/* Waits for an event. Lets no slot wait for its next attempt at a jail. */
static void hurry(struct fixture *f)
{
    for (unsigned i = 0; i < f->pool.slot_count; i++)
        if (f->pool.slots[i]->slot.jail.state == SLOT_JAIL_SWEEPING)
            timer_set(&f->pool.slots[i]->slot.jail.timer, 1);
    assert_int_equal(event_base_loop(f->base, EVLOOP_ONCE), 0);
}

/* Jobs are told why there is no jail once every slot has tried often enough. */
static void test_no_jail_can_be_started(void **state)
{
    struct fixture *f = start(QUICK, 2);
    (void)state;
    f->pool.slot_config.work_directory = UNFIT;
    f->pool.slots[0]->slot.jail.host.work_directory = UNFIT;
    f->pool.slots[1]->slot.jail.host.work_directory = HASTY;
    pool_set_confinement(&f->pool, &f->other);
    const struct slot_jail *jails[] = {&f->pool.slots[0]->slot.jail, &f->pool.slots[1]->slot.jail};
    while (jails[0]->failed_starts < SLOT_ATTEMPTS && jails[1]->failed_starts < SLOT_ATTEMPTS)
        hurry(f);
    assert_true(pool_has_no_jail(&f->pool));
    while (jails[0]->failed_starts < SLOT_ATTEMPTS) {
        assert_null(pool_why_no_jail(&f->pool));
        hurry(f);
    }
    while (jails[1]->failed_starts < SLOT_ATTEMPTS) {
        assert_null(pool_why_no_jail(&f->pool)); /* not while one slot may still succeed */
        hurry(f);
    }
    assert_string_equal(pool_why_no_jail(&f->pool), "it sends what is not expected of it");
    assert_string_equal(jails[0]->trouble, "a step: No space left on device");
    assert_int_equal(pool_tally(&f->pool)->jails_lost,
                     jails[0]->failed_starts + jails[1]->failed_starts);
    f->pool.slots[1]->slot.jail.host.work_directory = QUICK;
    while (pool_has_no_jail(&f->pool))
        hurry(f);
    assert_null(pool_why_no_jail(&f->pool));
    finish(f);
}

/* Lets this process open no more than N further files, or as many as before if N is negative. */
static void let_open(int n)
{
    static struct rlimit before;
    struct rlimit limit;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    if (n >= 0) {
        int next = dup(STDERR_FILENO);
        assert_true(next >= 0);
        (void)close(next);
        before = limit;
        limit.rlim_cur = (rlim_t)(next + n);
    }
    assert_int_equal(setrlimit(RLIMIT_NOFILE, n < 0 ? &before : &limit), 0);
}

/* The pool keeps the slots that it has, and none of those that it has made meanwhile. */
static void test_slots_that_cannot_be_made(void **state)
{
    struct fixture *f = start(QUICK, 2);
    (void)state;
    let_open(1); /* the second timer of a slot is one too many */
    assert_int_equal(pool_resize(&f->pool, 5), -EMFILE);
    let_open(-1);
    assert_int_equal(pool_size(&f->pool), 2);
    push(f, 2);
    RUN_UNTIL(f, f->done == 2);
    finish(f);
}

static void test_a_pool_that_cannot_be_made(void **state)
{
    struct fixture *f = start(QUICK, 1);
    (void)state;
    const struct pool_config config = {
        .base = f->base,
        .log = &f->log,
        .confinement = &f->confinement,
        .work_directory = QUICK,
        .work_directory_fd = -1,
        .slot_count = 3,
        .queue = &f->queue,
        .ops = &ops,
        .userdata = f,
    };
    struct pool pool;
    let_open(0);
    assert_int_equal(pool_init(&pool, &config), -EMFILE);
    let_open(-1);
    assert_int_equal(pool_size(&pool), 0);
    pool_deinit(&pool);
    finish(f); /* it counts references */
}

/* Active, Retiring, retired (G), Closing, of a Session: each with those that may follow. */
static void test_the_arrows_between_memberships(void **state)
{
    static const char letters[] = "ARGCS";
    static const char *const next[] = {"RC", "AG", "", "", "C"};
    (void)state;
    for (unsigned from = 0; from < strlen(letters); from++)
        for (unsigned to = 0; to < strlen(letters); to++)
            if (pool_may_become(from, to) != (strchr(next[from], letters[to]) != NULL))
                fail_msg("%c to %c", letters[from], letters[to]);
}

/* Frees a stopped slot that still has a job. */
static void reap_a_job(struct fixture *f)
{
    f->pool.slots[0]->slot.jail.state = SLOT_JAIL_STOPPED;
    f->pool.slots[0]->slot.job.owner = f;
    pool_reap(&f->pool);
}

static void test_what_must_not_be_is_caught(void **state)
{
    struct fixture *f = start(QUICK, 1);
    (void)state;
    assert_caught(reap_a_job(f));
    finish(f);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_that_is_queued_is_launched),
        cmocka_unit_test(test_one_entry_is_launched_at_a_time),
        cmocka_unit_test(test_a_slot_that_suits),
        cmocka_unit_test(test_memory_of_templates),
        cmocka_unit_test(test_a_retiring_slot_ends_its_job),
        cmocka_unit_test(test_an_idle_surplus_slot_is_not_shown),
        cmocka_unit_test(test_a_command_borrows_a_slot),
        cmocka_unit_test(test_a_lent_slot_retires),
        cmocka_unit_test(test_a_command_waits_for_an_idle_slot),
        cmocka_unit_test(test_whom_a_slot_is_given_back_for),
        cmocka_unit_test(test_a_reload_leaves_sessions_alone),
        cmocka_unit_test(test_a_lost_jail_is_noted),
        cmocka_unit_test(test_no_busy_slot_is_lent),
        cmocka_unit_test(test_all_jobs_are_cancelled),
        cmocka_unit_test(test_idle_jails_are_replaced),
        cmocka_unit_test(test_no_jail_can_be_started),
        cmocka_unit_test(test_slots_that_cannot_be_made),
        cmocka_unit_test(test_a_pool_that_cannot_be_made),
        cmocka_unit_test(test_the_arrows_between_memberships),
        cmocka_unit_test(test_what_must_not_be_is_caught),
    };
    if (is_fake_jail(argc, argv))
        return be_fake_jail(argv[1]);
    prepare_for_fake_jails();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
