/* SPDX-License-Identifier: MIT */
/* Tests who gets a share of the receive budget, and when. */
#include "daemon/net/receive_budget.h"
#include "proto/util.h"
#include "tests/unit/caught.h"

#include <sys/socket.h>

#define SHARES 3
#define LARGE ((size_t)SMALL_FRAME_MAX + 1)

struct fixture {
    struct event_base *base;
    struct receive_budget budget;
    struct receive_share share[SHARES];
    unsigned woken[SHARES];
    int other[SHARES];
};

static void on_readable(struct bufferevent *bev, void *userdata)
{
    unsigned *woken = userdata;
    (void)bev;
    ++*woken;
}

static int setup(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));
    assert_non_null(f);
    f->base = event_base_new();
    assert_non_null(f->base);
    receive_budget_init(&f->budget, 3 * LARGE);
    for (size_t i = 0; i < SHARES; i++) {
        int fds[2];
        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
        struct bufferevent *bev = bufferevent_socket_new(f->base, fds[0], BEV_OPT_CLOSE_ON_FREE);
        assert_non_null(bev);
        bufferevent_setcb(bev, on_readable, NULL, NULL, &f->woken[i]);
        receive_share_init(&f->share[i], &f->budget, bev);
        f->other[i] = fds[1];
    }
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;
    for (size_t i = 0; i < SHARES; i++) {
        receive_share_give_back(&f->share[i]);
        bufferevent_free(f->share[i].bev);
        close_fd(f->other[i]);
    }
    assert_int_equal(f->budget.reserved, 0);
    assert_true(TAILQ_EMPTY(&f->budget.waiting));
    event_base_free(f->base);
    free(f);
    return 0;
}

static void expect_woken(struct fixture *f, unsigned first, unsigned second, unsigned third)
{
    (void)event_base_loop(f->base, EVLOOP_NONBLOCK);
    assert_int_equal(f->woken[0], first);
    assert_int_equal(f->woken[1], second);
    assert_int_equal(f->woken[2], third);
}

static void small_frames_need_none(void **state)
{
    struct fixture *f = *state;
    receive_budget_set_max(&f->budget, 0);
    assert_true(receive_share_take(&f->share[0], LARGE)); /* alone */
    assert_true(receive_share_take(&f->share[1], SMALL_FRAME_MAX));
    assert_int_equal(f->budget.reserved, LARGE);
}

static void what_exceeds_the_budget_waits(void **state)
{
    struct fixture *f = *state;
    assert_true(receive_share_take(&f->share[0], 2 * LARGE));
    assert_true(receive_share_take(&f->share[0], 2 * LARGE)); /* it has it already */
    assert_false(receive_share_take(&f->share[1], 2 * LARGE));
    assert_false(receive_share_take(&f->share[1], 2 * LARGE));
    assert_int_equal(f->budget.reserved, 2 * LARGE);
    expect_woken(f, 0, 0, 0);
    receive_share_give_back(&f->share[0]);
    expect_woken(f, 0, 1, 0);
    assert_true(receive_share_take(&f->share[1], 2 * LARGE));
    assert_false(f->share[1].is_waiting);
}

/* One that would fit does not overtake the first in line. */
static void the_line_is_kept(void **state)
{
    struct fixture *f = *state;
    assert_true(receive_share_take(&f->share[0], 2 * LARGE));
    assert_false(receive_share_take(&f->share[1], 2 * LARGE));
    assert_false(receive_share_take(&f->share[2], LARGE));
    receive_share_leave_line(&f->share[1]);
    expect_woken(f, 0, 0, 1);
    assert_true(receive_share_take(&f->share[2], LARGE));
}

static void no_more_is_given_back_than_was_taken(void **state)
{
    struct fixture *f = *state;
    assert_true(receive_share_take(&f->share[0], LARGE));
    f->budget.reserved--;
    assert_caught(receive_share_give_back(&f->share[0]));
    f->budget.reserved++;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(small_frames_need_none, setup, teardown),
        cmocka_unit_test_setup_teardown(what_exceeds_the_budget_waits, setup, teardown),
        cmocka_unit_test_setup_teardown(the_line_is_kept, setup, teardown),
        cmocka_unit_test_setup_teardown(no_more_is_given_back_than_was_taken, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
