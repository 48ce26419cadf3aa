/* SPDX-License-Identifier: MIT */
/* Tests how a connection is parked and unparked, and how it ends. Integration tests cover how it
 * receives and sends. */
#include "daemon/base/clock.h"
#include "tests/unit/caught.h"
#include "tests/unit/connections.h"

#include <sys/time.h>

struct fixture {
    struct connections all;
    size_t last_size;
    const struct settings *last_settings;
};

static void on_request(struct connections *all, struct conn *conn, size_t size,
                       const struct settings *settings)
{
    struct fixture *f = container_of(all, struct fixture, all);
    (void)conn;
    f->last_size = size;
    f->last_settings = settings;
}

static int setup(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));
    assert_non_null(f);
    connections_init(&f->all, on_request);
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;
    connections_deinit(&f->all);
    /* Each parked request gave its reference back. */
    assert_int_equal(f->all.settings.references, 1);
    free(f);
    return 0;
}

static void is_paused_until_it_is_unparked(void **state)
{
    struct fixture *f = *state;
    struct conn *conn = f->all.conn[0];
    connections_park(&f->all, 0);
    assert_ptr_equal(TAILQ_FIRST(&f->all.env.parked), conn);
    assert_int_equal(f->all.settings.references, 2);
    connections_send(&f->all, 0, PING);
    connections_turn(&f->all);
    assert_int_equal(f->all.requests, 1);
    f->last_size = 0;
    f->last_settings = NULL;
    conn_unpark(conn);
    /* The parked one again, as it was, and the one behind it. */
    connections_turn(&f->all);
    assert_int_equal(f->all.requests, 3);
    assert_int_equal(f->last_size, strlen(PING));
    assert_ptr_equal(f->last_settings, &f->all.settings);
    assert_false(conn_is_parked(conn));
    assert_true(TAILQ_EMPTY(&f->all.env.parked));
    assert_int_equal(f->all.settings.references, 1);
}

static void goes_to_the_end_when_it_is_parked_again(void **state)
{
    struct fixture *f = *state;
    struct conn *const *conn = f->all.conn;
    for (size_t i = 0; i < CONNECTIONS; i++)
        connections_park(&f->all, i);
    f->all.parks = true;
    conn_unpark(conn[0]);
    assert_int_equal(f->all.requests, CONNECTIONS + 1);
    assert_ptr_equal(TAILQ_FIRST(&f->all.env.parked), conn[1]);
    assert_ptr_equal(TAILQ_NEXT(conn[1], of_parked), conn[2]);
    assert_ptr_equal(TAILQ_NEXT(conn[2], of_parked), conn[0]);
    assert_null(TAILQ_NEXT(conn[0], of_parked));
}

/* A reload changes the settings of what arrives later, not of what is parked. */
static void keeps_the_settings_that_it_was_decoded_under(void **state)
{
    struct fixture *f = *state;
    struct settings later = {.references = 1};
    connections_park(&f->all, 0);
    f->all.env.settings = &later;
    conn_unpark(f->all.conn[0]);
    assert_ptr_equal(f->last_settings, &f->all.settings);
    connections_send(&f->all, 0, PING);
    connections_turn(&f->all);
    assert_ptr_equal(f->last_settings, &later);
}

static void is_in_no_list_once_its_client_is_gone(void **state)
{
    struct fixture *f = *state;
    connections_park(&f->all, 0);
    connections_park(&f->all, 1);
    f->all.client[0] = close_fd(f->all.client[0]);
    connections_turn(&f->all);
    assert_int_equal(f->all.gone, 1);
    assert_int_equal(f->all.closed, 1);
    assert_null(f->all.conn[0]);
    assert_ptr_equal(TAILQ_FIRST(&f->all.env.parked), f->all.conn[1]);
    assert_null(TAILQ_NEXT(f->all.conn[1], of_parked));
    assert_int_equal(f->all.settings.references, 2);
}

/* Sends a request on connection 0 that has to wait for the next turn of the loop. */
static void stand_in_line(struct fixture *f)
{
    char text[LIGHT_FRAME_MAX + 100];
    (void)snprintf(text, sizeof(text), "%-*s", (int)sizeof(text) - 1, PING);
    f->all.env.line.spent_ns[FRAME_HEAVY] = FRAME_BUDGET_MS * NS_PER_MS;
    connections_send(&f->all, 0, text);
    connections_send(&f->all, 1, PING);
    for (int i = 0; i < 10 && !f->all.conn[0]->turn.is_waiting; i++)
        (void)event_base_loop(f->all.base, EVLOOP_ONCE | EVLOOP_NONBLOCK);
    assert_true(f->all.conn[0]->turn.is_waiting);
}

static void does_not_delay_another_by_a_large_frame(void **state)
{
    struct fixture *f = *state;
    stand_in_line(f);
    assert_int_equal(f->all.requests, 1);
    assert_int_equal(f->last_size, strlen(PING));
    connections_send(&f->all, 0, PING); /* behind its large frame */
    connections_turn(&f->all);
    assert_int_equal(f->all.requests, 3);
    assert_false(f->all.conn[0]->turn.is_waiting);
    assert_true(TAILQ_EMPTY(&f->all.env.line.waiting[FRAME_HEAVY]));
}

static void leaves_the_line_when_its_client_is_gone(void **state)
{
    struct fixture *f = *state;
    stand_in_line(f);
    conn_close(f->all.conn[0]);
    assert_true(TAILQ_EMPTY(&f->all.env.line.waiting[FRAME_HEAVY]));
    connections_turn(&f->all);
    assert_int_equal(f->all.requests, 1);
}

/* Of libevent. */
static bool is_memory_short;

static void *allocate(size_t size)
{
    if (!is_memory_short)
        return malloc(size);
    errno = ENOMEM;
    return NULL;
}

static void *reallocate(void *memory, size_t size)
{
    if (!is_memory_short)
        return realloc(memory, size);
    errno = ENOMEM;
    return NULL;
}

/* It waits, and nothing is lost. */
static void has_no_memory_for_what_comes(void **state)
{
    struct fixture *f = *state;
    char text[6000]; /* more than libevent has kept of the last buffer */
    struct event *timer = f->all.conn[0]->again_timer;
    assert_int_equal(event_add(timer, &(struct timeval){.tv_sec = 60}), 0); /* room among timers */
    assert_int_equal(event_del(timer), 0);
    connections_send(&f->all, 0, PING);
    connections_turn(&f->all);
    assert_int_equal(f->all.requests, 1);
    (void)snprintf(text, sizeof(text), "%-*s", (int)sizeof(text) - 1, PING);
    is_memory_short = true;
    connections_send(&f->all, 0, text);
    for (int i = 0; i < 3; i++)
        (void)event_base_loop(f->all.base, EVLOOP_ONCE | EVLOOP_NONBLOCK);
    assert_int_equal(f->all.conn[0]->state, CONN_OPEN);
    assert_true(event_pending(timer, EV_TIMEOUT, NULL));
    is_memory_short = false;
    assert_int_equal(f->all.requests, 1);
    while (f->all.requests == 1 && event_pending(timer, EV_TIMEOUT, NULL))
        (void)event_base_loop(f->all.base, EVLOOP_ONCE);
    connections_turn(&f->all);
    assert_int_equal(f->all.requests, 2);
}

static void is_gone_once_however_often_it_is_closed(void **state)
{
    struct fixture *f = *state;
    struct conn *conn = f->all.conn[0];
    connections_park(&f->all, 0);
    conn_close(conn);
    conn_close(conn);
    assert_int_equal(f->all.gone, 1);
    assert_true(TAILQ_EMPTY(&f->all.env.parked));
    assert_int_equal(conn->state, CONN_LINGERING); /* nothing is unsent */
    connections_send(&f->all, 0, PING);            /* thrown away */
    connections_turn(&f->all);
    assert_int_equal(f->all.requests, 1);
    f->all.client[0] = close_fd(f->all.client[0]);
    connections_turn(&f->all);
    assert_int_equal(f->all.gone, 1);
    assert_int_equal(f->all.closed, 1);
}

static void half_closed_ends_when_nothing_is_left(void **state)
{
    struct fixture *f = *state;
    connections_park(&f->all, 0);
    assert_int_equal(shutdown(f->all.client[0], SHUT_WR), 0);
    connections_turn(&f->all);
    assert_int_equal(f->all.gone, 0);
    conn_unpark(f->all.conn[0]);
    connections_turn(&f->all);
    assert_int_equal(f->all.requests, 2);
    assert_int_equal(f->all.gone, 1);
    assert_int_equal(f->all.closed, 1);
}

/* Reads some of what connection 0 has sent, and returns how much. */
static size_t read_some(struct fixture *f)
{
    char buffer[4096];
    ssize_t n = read(f->all.client[0], buffer, sizeof(buffer));
    assert_true(n > 0);
    connections_turn(&f->all);
    return (size_t)n;
}

/* How many seconds connection 0 has left to be read from. */
static time_t seconds_left(const struct fixture *f)
{
    struct timeval due = {0}, now;
    assert_true(event_pending(f->all.conn[0]->timer, EV_TIMEOUT, &due));
    (void)gettimeofday(&now, NULL);
    return due.tv_sec - now.tv_sec;
}

/* Whoever reads the last replies has time for all of them, and not for a few bytes of them. */
static void reading_prolongs_the_time_for_the_last_replies(void **state)
{
    enum { SIZE = 8 << 20, STEP = SIZE / LAST_REPLIES_STEPS, IN_SOCKET = 256 << 10 };
    struct fixture *f = *state;
    struct conn *conn = f->all.conn[0];
    struct bytes payload = {.data = calloc(1, SIZE), .length = SIZE};
    size_t total = 0;
    assert_non_null(payload.data);
    conn_send(conn, &payload);
    conn_close(conn);
    assert_in_range(seconds_left(f), 1, 10);
    connections_turn(&f->all);
    for (int i = 0; i < 8; i++) {
        size_t took = 0;
        start_timer(conn->timer, 3600 * 1000);
        while (seconds_left(f) > 10)
            took += read_some(f);
        assert_in_range(took, STEP - IN_SOCKET, STEP + IN_SOCKET);
        total += took;
    }
    while (total < SIZE + FRAME_HEADER_SIZE)
        total += read_some(f);
    assert_int_equal(conn->state, CONN_LINGERING);
    assert_int_equal(f->all.gone, 1);
}

/* The first job decides for whom the connection is. */
static void joins_one_share(void **state)
{
    struct fixture *f = *state;
    struct conn *first = f->all.conn[0], *second = f->all.conn[1], *third = f->all.conn[2];
    struct user *before = first->user;
    assert_int_equal(conn_join_share(first, "alice"), 0);
    assert_int_equal(conn_join_share(first, "alice"), 0);
    assert_int_equal(conn_join_share(first, "bob"), -EEXIST);
    assert_int_equal(conn_join_share(first, NULL), -EEXIST);
    assert_int_equal(conn_join_share(second, NULL), 0);
    assert_int_equal(conn_join_share(second, "alice"), -EEXIST);
    assert_int_equal(conn_join_share(third, "alice"), 0);
    assert_ptr_equal(first->user, third->user);
    assert_ptr_equal(first->lane.user, &third->user->queue);
    assert_ptr_equal(second->user, before);
    assert_int_equal(first->user->connections, 2);
    assert_int_equal(before->connections, 1);
}

/* --- assertions ---------------------------------------------------------------------------- */

static void park(struct conn *conn)
{
    struct request request = REQUEST_NULL;
    conn_park(conn, &request, 1, conn->env->settings);
}

static void parking_is_asserted(void **state)
{
    struct fixture *f = *state;
    struct conn *conn = f->all.conn[0];
    assert_caught(conn_unpark(conn));
    assert_not_caught(park(conn));
    connections_park(&f->all, 0);
    assert_caught(park(conn));
    conn_close(conn);
    assert_caught(park(conn));
}

static void a_connection_with_jobs_is_not_freed(void **state)
{
    struct fixture *f = *state;
    struct job job = {.number = 1};
    assert_int_equal(job_set_add(&f->all.conn[0]->jobs, &job), 0);
    assert_caught(conn_free(f->all.conn[0]));
    job_set_remove(&f->all.conn[0]->jobs, &job);
    assert_not_caught(conn_free(f->all.conn[0]));
}

int main(void)
{
    event_set_mem_functions(allocate, reallocate, free);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(is_paused_until_it_is_unparked, setup, teardown),
        cmocka_unit_test_setup_teardown(goes_to_the_end_when_it_is_parked_again, setup, teardown),
        cmocka_unit_test_setup_teardown(keeps_the_settings_that_it_was_decoded_under, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(is_in_no_list_once_its_client_is_gone, setup, teardown),
        cmocka_unit_test_setup_teardown(does_not_delay_another_by_a_large_frame, setup, teardown),
        cmocka_unit_test_setup_teardown(leaves_the_line_when_its_client_is_gone, setup, teardown),
        cmocka_unit_test_setup_teardown(is_gone_once_however_often_it_is_closed, setup, teardown),
        cmocka_unit_test_setup_teardown(has_no_memory_for_what_comes, setup, teardown),
        cmocka_unit_test_setup_teardown(half_closed_ends_when_nothing_is_left, setup, teardown),
        cmocka_unit_test_setup_teardown(reading_prolongs_the_time_for_the_last_replies, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(joins_one_share, setup, teardown),
        cmocka_unit_test_setup_teardown(parking_is_asserted, setup, teardown),
        cmocka_unit_test_setup_teardown(a_connection_with_jobs_is_not_freed, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
