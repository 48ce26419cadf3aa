/* SPDX-License-Identifier: MIT */
/* Tests which connection ends when the replies that clients leave unread take too much memory. */
#include "daemon/supervisor/relieve.h"

#include "daemon/base/clock.h"
#include "daemon/supervisor/state.h"
#include "tests/unit/connections.h"

#include <event2/buffer.h>

#define MIB ((size_t)1 << 20)

struct fixture {
    struct supervisor supervisor;
    struct connections all;
};

static void on_request(struct connections *all, struct conn *conn, size_t size,
                       const struct settings *settings)
{
    (void)all;
    (void)conn;
    (void)size;
    (void)settings;
}

/* The first connection is one user's, and the two others are another's. */
static int setup(void **state)
{
    static const char *const shares[CONNECTIONS] = {"one", "many", "many"};
    struct fixture *f = calloc(1, sizeof(*f));
    assert_non_null(f);
    connections_init(&f->all, on_request);
    queue_init(&f->supervisor.queue, 10, 1000, 10);
    f->supervisor.settings = &f->all.settings;
    f->supervisor.conn_env = f->all.env;
    users_init(&f->supervisor.conn_env.users);
    TAILQ_INIT(&f->supervisor.conn_env.parked);
    TAILQ_INIT(&f->supervisor.conn_env.choked);
    TAILQ_INIT(&f->supervisor.conns);
    for (size_t i = 0; i < CONNECTIONS; i++) {
        f->all.conn[i]->env = &f->supervisor.conn_env;
        assert_int_equal(conn_join_share(f->all.conn[i], shares[i]), 0);
        state_add_conn(&f->supervisor, f->all.conn[i]);
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

/* Leaves SIZE bytes more unread by client I. Nobody touches most of that memory. */
static void leave_unread(struct fixture *f, size_t i, size_t size)
{
    struct bytes payload = {.data = malloc(size), .length = size};
    assert_non_null(payload.data);
    memset(payload.data, ' ', MIN(size, MIB)); /* what the socket takes */
    conn_send(f->all.conn[i], &payload);
    connections_turn(&f->all);
}

/* Looks at what all leave twice, with MS between. */
static void look_twice(struct fixture *f, uint64_t ms)
{
    relieve_memory(&f->supervisor);
    for (size_t i = 0; i < CONNECTIONS; i++) {
        f->all.conn[i]->choked_ns -= ms * NS_PER_MS;
        f->all.conn[i]->seen_ns -= f->all.conn[i]->seen_ns > 0 ? ms * NS_PER_MS : 0;
    }
    relieve_memory(&f->supervisor);
}

/* Takes SIZE bytes of what client I leaves unread, as if it read them. */
static void let_read(struct fixture *f, size_t i, size_t size)
{
    struct evbuffer *unsent = bufferevent_get_output(f->all.conn[i]->bev);
    assert_int_equal(evbuffer_unfreeze(unsent, 1), 0);
    assert_int_equal(evbuffer_drain(unsent, size), 0);
    assert_int_equal(evbuffer_freeze(unsent, 1), 0);
}

/* Expects that those connections are still there which are 1 in THERE. */
static void expect_there(const struct fixture *f, const char *there)
{
    char found[CONNECTIONS + 1] = "";
    for (size_t i = 0; i < CONNECTIONS; i++)
        found[i] = f->all.conn[i]->state == CONN_CLOSED ? '0' : '1';
    assert_string_equal(found, there);
}

static void nobody_while_it_is_not_too_much(void **state)
{
    struct fixture *f = *state;
    for (size_t i = 0; i < CONNECTIONS; i++)
        leave_unread(f, i, 40 * MIB);
    look_twice(f, 2000);
    expect_there(f, "111");
}

static void the_user_who_leaves_most(void **state)
{
    struct fixture *f = *state;
    leave_unread(f, 0, 60 * MIB);
    leave_unread(f, 1, 40 * MIB);
    leave_unread(f, 2, 50 * MIB);
    look_twice(f, 2000);
    expect_there(f, "110");
    assert_int_equal(f->all.left_unread, 1);
}

static void nobody_who_may_still_read(void **state)
{
    struct fixture *f = *state;
    for (size_t i = 0; i < CONNECTIONS; i++)
        leave_unread(f, i, 50 * MIB);
    look_twice(f, 500);
    expect_there(f, "111");
}

static void nobody_who_reads(void **state)
{
    struct fixture *f = *state;
    leave_unread(f, 0, 20 * MIB);
    leave_unread(f, 1, 60 * MIB);
    leave_unread(f, 2, 60 * MIB);
    relieve_memory(&f->supervisor);
    let_read(f, 1, MIB / 8);
    let_read(f, 2, 100); /* that is none */
    look_twice(f, 2000);
    expect_there(f, "110");
}

/* One that is closing reads its last replies, or does not. */
static void one_that_is_closing(void **state)
{
    struct fixture *f = *state;
    leave_unread(f, 0, 100 * MIB);
    leave_unread(f, 1, 40 * MIB);
    conn_close(f->all.conn[0]);
    look_twice(f, 2000);
    expect_there(f, "011");
    assert_int_equal(f->all.left_unread, 0);
}

/* However they read, there is an end. */
static void the_largest_of_what_is_far_too_much(void **state)
{
    struct fixture *f = *state;
    leave_unread(f, 0, 100 * MIB);
    leave_unread(f, 1, 75 * MIB);
    leave_unread(f, 2, 80 * MIB);
    relieve_memory(&f->supervisor);
    expect_there(f, "111");
    leave_unread(f, 0, 10 * MIB);
    relieve_memory(&f->supervisor);
    expect_there(f, "110");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(nobody_while_it_is_not_too_much, setup, teardown),
        cmocka_unit_test_setup_teardown(the_user_who_leaves_most, setup, teardown),
        cmocka_unit_test_setup_teardown(nobody_who_may_still_read, setup, teardown),
        cmocka_unit_test_setup_teardown(nobody_who_reads, setup, teardown),
        cmocka_unit_test_setup_teardown(one_that_is_closing, setup, teardown),
        cmocka_unit_test_setup_teardown(the_largest_of_what_is_far_too_much, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
