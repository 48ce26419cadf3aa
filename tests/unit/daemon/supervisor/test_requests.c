/* SPDX-License-Identifier: MIT */
/* Tests the order in which parked connections resume. */
#include "daemon/base/clock.h"
#include "daemon/supervisor/requests.h"
#include "rubricdir/digests.h"
#include "tests/unit/connections.h"
#include "tests/unit/files.h"

struct fixture {
    struct supervisor supervisor;
    struct connections all;
    uint64_t order[2 * CONNECTIONS]; /* of connections, as they were unparked */
    size_t count;
    struct conn *ends; /* closed when the first one is unparked; NULL: none */
    bool takes_long;   /* to handle a request takes as long as there is in a turn */
};

static void on_request(struct connections *all, struct conn *conn, size_t size,
                       const struct settings *settings)
{
    struct fixture *f = container_of(all, struct fixture, all);
    (void)size;
    (void)settings;
    assert_in_range(f->count, 0, ARRAY_SIZE(f->order) - 1);
    f->order[f->count++] = conn->number;
    if (f->ends)
        conn_close(TAKE_PTR(f->ends));
    uint64_t until_ns = clock_now_ns() + (f->takes_long ? FRAME_BUDGET_MS * NS_PER_MS : 0);
    while (clock_now_ns() < until_ns)
        ;
}

/* All connections are those of the supervisor, and parked in their order. */
static int setup(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));
    assert_non_null(f);
    connections_init(&f->all, on_request);
    queue_init(&f->supervisor.queue, 10, 1000, 10);
    f->supervisor.conn_env = f->all.env;
    users_init(&f->supervisor.conn_env.users);
    TAILQ_INIT(&f->supervisor.conn_env.parked);
    TAILQ_INIT(&f->supervisor.conn_env.choked);
    for (size_t i = 0; i < CONNECTIONS; i++) {
        f->all.conn[i]->env = &f->supervisor.conn_env;
        connections_park(&f->all, i);
    }
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;
    connections_deinit(&f->all);
    free(f);
    return 0;
}

static void expect_order(const struct fixture *f, const char *expected)
{
    char order[ARRAY_SIZE(f->order) + 1] = "";
    for (size_t i = 0; i < f->count; i++)
        order[i] = (char)('0' + f->order[i]);
    assert_string_equal(order, expected);
}

static void the_oldest_first(void **state)
{
    struct fixture *f = *state;
    assert_true(requests_resume(&f->supervisor));
    expect_order(f, "123");
}

static void none_while_the_queue_is_full(void **state)
{
    struct fixture *f = *state;
    struct queue_entry entry = {.size = 1};
    queue_bound(&f->supervisor.queue, 1, 1000, 10);
    queue_push(&f->supervisor.queue, &f->all.conn[2]->lane, &entry);
    assert_true(requests_resume(&f->supervisor));
    expect_order(f, "");
    queue_remove(&f->supervisor.queue, &entry);
    assert_true(requests_resume(&f->supervisor));
    expect_order(f, "123");
}

/* One with its share queued does not hold up the others. */
static void a_full_lane_is_passed_over(void **state)
{
    struct fixture *f = *state;
    struct queue_entry entry = {.size = 1};
    queue_bound(&f->supervisor.queue, 10, 1000, 1);
    queue_push(&f->supervisor.queue, &f->all.conn[0]->lane, &entry);
    assert_true(requests_resume(&f->supervisor));
    expect_order(f, "23");
    queue_remove(&f->supervisor.queue, &entry);
    assert_true(requests_resume(&f->supervisor));
    expect_order(f, "231");
}

/* To be refused, there need not be room. */
static void all_once_jobs_are_refused(void **state)
{
    struct fixture *f = *state;
    queue_bound(&f->supervisor.queue, 0, 0, 0);
    assert_true(requests_resume(&f->supervisor));
    expect_order(f, "");
    state_enter(&f->supervisor, PHASE_REFUSING);
    assert_true(requests_resume(&f->supervisor));
    expect_order(f, "123");
}

static void the_next_one_may_end_meanwhile(void **state)
{
    struct fixture *f = *state;
    f->ends = f->all.conn[1];
    assert_true(requests_resume(&f->supervisor));
    expect_order(f, "13");
    assert_true(TAILQ_EMPTY(&f->supervisor.conn_env.parked));
}

/* What takes long is left for the next turn; not so what is refused, which takes nothing. */
static void they_share_the_time_of_a_turn(void **state)
{
    struct fixture *f = *state;
    f->takes_long = true;
    assert_false(requests_resume(&f->supervisor));
    expect_order(f, "1");
    assert_false(requests_resume(&f->supervisor));
    expect_order(f, "12");
    connections_park(&f->all, 0);
    state_enter(&f->supervisor, PHASE_REFUSING);
    assert_true(requests_resume(&f->supervisor));
    expect_order(f, "1231");
}

/* Has connection I wait for a directory of DIGESTS that is being read. */
static void wait_for_directory(struct fixture *f, size_t i, struct digests *digests,
                               const char *top)
{
    const struct tree_place place = {open(top, O_PATH | O_DIRECTORY | O_CLOEXEC), "d"};
    struct digests_asker asker = {.user = 0};
    struct job_spec *spec = calloc(1, sizeof(*spec));
    assert_non_null(spec);
    assert_false(digests_prepare(digests, top, &place, 1, &asker));
    close_fd(place.root);
    spec->kind = JOB_RUBRIC;
    spec->rubric.awaits = asker.awaits;
    f->all.settings.kind_host.rubric_roots.digests = digests;
    f->all.conn[i]->parked.request.job = spec;
}

/* One that waits for a directory is passed over until that was read. Once it is asked it goes on:
 * it names no bench root. */
static void asked_only_when_it_is_due(void **state)
{
    struct fixture *f = *state;
    char top[] = "/tmp/rubricd-requests-XXXXXX", path[64];
    struct digests *digests;
    bool is_ready = false;
    assert_non_null(mkdtemp(top));
    (void)snprintf(path, sizeof(path), "%s/d", top);
    assert_int_equal(mkdir(path, 0755), 0);
    (void)snprintf(path, sizeof(path), "%s/d/rubric.py", top);
    close_fd(open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0644));
    assert_int_equal(digests_new(&digests), 0);
    wait_for_directory(f, 0, digests, top);
    assert_true(requests_resume(&f->supervisor));
    expect_order(f, "23");
    while (!is_ready)
        wait_ms(MAX(digests_work(digests, UINT64_MAX, &is_ready), 0));
    assert_true(requests_resume(&f->supervisor));
    expect_order(f, "231");
    remove_tree(top);
    assert_null(digests_free(digests));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_oldest_first, setup, teardown),
        cmocka_unit_test_setup_teardown(none_while_the_queue_is_full, setup, teardown),
        cmocka_unit_test_setup_teardown(a_full_lane_is_passed_over, setup, teardown),
        cmocka_unit_test_setup_teardown(all_once_jobs_are_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(the_next_one_may_end_meanwhile, setup, teardown),
        cmocka_unit_test_setup_teardown(they_share_the_time_of_a_turn, setup, teardown),
        cmocka_unit_test_setup_teardown(asked_only_when_it_is_due, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
