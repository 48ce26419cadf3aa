/* SPDX-License-Identifier: MIT */
/* Tests who gets a share of the receive budget, and when. */
#include "daemon/net/receive_budget.h"

#include "daemon/base/clock.h"
#include "proto/frame.h"
#include "proto/util.h"
#include "tests/unit/caught.h"

#include <sys/socket.h>

#define SHARES 3
#define STEP ((size_t)SMALL_FRAME_MAX)

struct fixture {
    struct event_base *base;
    struct receive_budget budget;
    struct receive_share share[SHARES];
    struct user users[2];
    const struct receive_share *lost; /* the last one */
    unsigned woken[SHARES];
    int other[SHARES];
};

static void on_readable(struct bufferevent *bev, void *userdata)
{
    unsigned *woken = userdata;
    (void)bev;
    ++*woken;
}

static void on_lost(struct receive_share *share)
{
    struct fixture *f = container_of(share->budget, struct fixture, budget);
    f->lost = share;
}

static int setup(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));
    assert_non_null(f);
    f->base = event_base_new();
    assert_non_null(f->base);
    assert_int_equal(receive_budget_init(&f->budget, f->base, on_lost), 0);
    receive_budget_bound(&f->budget, 100 * STEP, 1000);
    for (size_t i = 0; i < SHARES; i++) {
        int fds[2];
        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
        struct bufferevent *bev = bufferevent_socket_new(f->base, fds[0], BEV_OPT_CLOSE_ON_FREE);
        assert_non_null(bev);
        bufferevent_setcb(bev, on_readable, NULL, NULL, &f->woken[i]);
        receive_share_init(&f->share[i], &f->budget, &f->users[0], bev);
        f->other[i] = fds[1];
    }
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;
    for (size_t i = 0; i < SHARES; i++)
        receive_share_give_back(&f->share[i]);
    (void)event_base_loop(f->base, EVLOOP_NONBLOCK); /* those that this has woken */
    for (size_t i = 0; i < SHARES; i++) {
        bufferevent_free(f->share[i].bev);
        close_fd(f->other[i]);
    }
    assert_int_equal(f->budget.reserved, 0);
    assert_true(TAILQ_EMPTY(&f->budget.waiting));
    assert_true(TAILQ_EMPTY(&f->budget.holders));
    assert_null(f->budget.guest);
    receive_budget_deinit(&f->budget);
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

/* How much may be buffered of a frame whose share has BYTES. */
static size_t bound(size_t bytes)
{
    return SMALL_FRAME_MAX + FRAME_HEADER_SIZE + bytes;
}

/* Takes all of SIZE as if it arrived; returns how much has arrived when it has to wait. */
static size_t take_all(struct receive_share *share, size_t size)
{
    size_t arrived = bound(share->bytes);
    while (arrived < size && receive_share_take(share, size, arrived))
        arrived = bound(share->bytes);
    return MIN(arrived, size);
}

static void small_frames_need_none(void **state)
{
    struct fixture *f = *state;
    receive_budget_bound(&f->budget, 0, 1000);
    assert_true(receive_share_take(&f->share[1], SMALL_FRAME_MAX, SMALL_FRAME_MAX));
    assert_int_equal(f->budget.reserved, 0);
}

static void memory_follows_what_has_arrived(void **state)
{
    struct fixture *f = *state;
    struct receive_share *share = &f->share[0];
    assert_true(receive_share_take(share, 64 * STEP, 4));
    assert_true(receive_share_take(share, 64 * STEP, bound(0) - 1));
    assert_int_equal(f->budget.reserved, 0);
    for (size_t has = 0, next = STEP; next < 32 * STEP; has = next, next *= 2) {
        assert_true(receive_share_take(share, 64 * STEP, bound(has)));
        assert_int_equal(share->bytes, has ? 2 * has : STEP);
        assert_int_equal(share->user->received, share->bytes);
    }
}

static void one_frame_may_be_larger_than_the_budget(void **state)
{
    struct fixture *f = *state;
    assert_int_equal(take_all(&f->share[0], 1000 * STEP), 1000 * STEP);
    assert_ptr_equal(f->budget.guest, &f->share[0]);
    /* It takes nothing from the others. */
    assert_int_equal(take_all(&f->share[1], 4 * STEP), 4 * STEP);
    assert_int_equal(take_all(&f->share[2], 4 * STEP), 4 * STEP);
}

static void look_now(struct fixture *f)
{
    event_active(f->budget.timer, EV_TIMEOUT, 0);
    (void)event_base_loop(f->base, EVLOOP_NONBLOCK);
}

/* Others wait, and it goes on sending. */
static void who_sends_is_not_lost(void **state)
{
    struct fixture *f = *state;
    receive_budget_bound(&f->budget, 100 * STEP, 60000);
    assert_int_equal(take_all(&f->share[0], 1000 * STEP), 1000 * STEP);
    assert_true(take_all(&f->share[1], 1000 * STEP) < f->budget.max);
    assert_true(f->share[1].is_waiting);
    look_now(f);
    assert_null(f->lost);
    f->share[0].seen_ns -= 60000 * NS_PER_MS;
    look_now(f);
    assert_ptr_equal(f->lost, &f->share[0]);
}

static void there_is_one_guest(void **state)
{
    struct fixture *f = *state;
    assert_int_equal(take_all(&f->share[0], 1000 * STEP), 1000 * STEP);
    assert_true(take_all(&f->share[1], 1000 * STEP) < f->budget.max);
    assert_true(f->share[1].is_waiting);
    expect_woken(f, 0, 0, 0);
    receive_share_give_back(&f->share[0]);
    expect_woken(f, 0, 1, 0);
    assert_int_equal(take_all(&f->share[1], 1000 * STEP), 1000 * STEP);
    assert_false(f->share[1].is_waiting);
}

/* However much one user takes, and however much one of his connections, there is room for a frame.
 */
static void there_is_room_for_the_next(void **state)
{
    struct fixture *f = *state;
    (void)take_all(&f->share[0], 1000 * STEP); /* the guest */
    (void)take_all(&f->share[1], 1000 * STEP);
    assert_true(f->share[1].is_waiting);
    f->share[2].user = &f->users[1];
    size_t another = take_all(&f->share[2], 1000 * STEP);
    assert_true(another >= 8 * STEP);
    receive_share_give_back(&f->share[2]);
    f->share[2].user = &f->users[0];
    size_t same = take_all(&f->share[2], 1000 * STEP);
    assert_true(same >= 4 * STEP && same <= another);
}

static void one_that_leaves_the_line_wakes_the_next(void **state)
{
    struct fixture *f = *state;
    (void)take_all(&f->share[0], 1000 * STEP);
    (void)take_all(&f->share[1], 1000 * STEP);
    (void)take_all(&f->share[2], 1000 * STEP);
    receive_share_give_back(&f->share[0]);
    receive_share_pause(&f->share[1], true, false);
    (void)event_base_loop(f->base, EVLOOP_NONBLOCK);
    assert_true(f->woken[2] > 0);
}

/* A frame that is whole may have to wait for as long as the jobs of its user take. Others do not
 * wait for that. */
static void a_guest_that_is_whole_makes_way(void **state)
{
    struct fixture *f = *state;
    f->share[2].user = &f->users[1];
    (void)take_all(&f->share[0], 1000 * STEP); /* the guest */
    (void)take_all(&f->share[1], 1000 * STEP);
    (void)take_all(&f->share[2], 1000 * STEP);
    assert_true(f->share[1].is_waiting && f->share[2].is_waiting);
    receive_share_pause(&f->share[0], true, true);
    assert_null(f->budget.guest);
    assert_int_equal(f->budget.beyond, f->share[0].bytes);
    /* Its user has one frame beyond the budget already: the other user's is the next, though it
     * came later. */
    (void)event_base_loop(f->base, EVLOOP_NONBLOCK);
    assert_true(f->woken[2] > 0);
    assert_false(receive_share_take(&f->share[1], 1000 * STEP, bound(f->share[1].bytes)));
    assert_int_equal(take_all(&f->share[2], 1000 * STEP), 1000 * STEP);
    assert_ptr_equal(f->budget.guest, &f->share[2]);
    receive_share_give_back(&f->share[2]);
    (void)event_base_loop(f->base, EVLOOP_NONBLOCK);
    assert_false(receive_share_take(&f->share[1], 1000 * STEP, bound(f->share[1].bytes)));
    assert_null(f->budget.guest);
    /* Once that frame is handled, it is the turn of the same user's next. */
    f->woken[1] = 0;
    receive_share_give_back(&f->share[0]);
    (void)event_base_loop(f->base, EVLOOP_NONBLOCK);
    assert_true(f->woken[1] > 0);
    assert_int_equal(take_all(&f->share[1], 1000 * STEP), 1000 * STEP);
    assert_int_equal(f->budget.beyond, f->share[1].bytes);
}

/* What the guest has moves with it. */
static void a_guest_moves_to_another_user(void **state)
{
    struct fixture *f = *state;
    (void)take_all(&f->share[0], 1000 * STEP);
    assert_ptr_equal(f->budget.guest, &f->share[0]);
    receive_share_move(&f->share[0], &f->users[1]);
    assert_int_equal(f->users[0].beyond, 0);
    assert_int_equal(f->users[1].beyond, f->share[0].bytes);
    receive_share_give_back(&f->share[0]);
    assert_int_equal(f->users[1].beyond, 0);
    assert_int_equal(f->budget.beyond, 0);
}

/* One that was woken as the next guest finds room instead. If it then has to wait behind the
 * others, they must not wait for each other. */
static void the_place_of_the_guest_does_not_stay_empty(void **state)
{
    struct fixture *f = *state;
    for (size_t i = 0; i < SHARES; i++)
        (void)take_all(&f->share[i], 1000 * STEP);
    receive_share_give_back(&f->share[0]);
    expect_woken(f, 0, 1, 0);
    receive_budget_bound(&f->budget, 200 * STEP, 1000);
    size_t before = f->share[1].bytes;
    (void)take_all(&f->share[1], 1000 * STEP);
    assert_true(f->share[1].bytes > before && f->share[1].is_waiting);
    assert_null(f->budget.guest);
    f->woken[1] = 0;
    (void)event_base_loop(f->base, EVLOOP_NONBLOCK);
    assert_true(f->woken[2] > 0);
    /* It finds room as well, and has to wait again. */
    (void)take_all(&f->share[2], 1000 * STEP);
    assert_true(f->share[2].is_waiting);
    (void)event_base_loop(f->base, EVLOOP_NONBLOCK);
    assert_true(f->woken[1] > 0);
    assert_int_equal(take_all(&f->share[1], 1000 * STEP), 1000 * STEP);
    assert_ptr_equal(f->budget.guest, &f->share[1]);
}

static void expect_lost(struct fixture *f, const struct receive_share *lost)
{
    uint64_t end = clock_now_ns() + 10 * NS_PER_S;
    while (!f->lost && clock_now_ns() < end)
        (void)event_base_loop(f->base, EVLOOP_ONCE);
    assert_ptr_equal(f->lost, lost);
}

static void who_stalls_loses_his_share(void **state)
{
    struct fixture *f = *state;
    receive_budget_bound(&f->budget, 100 * STEP, 20);
    (void)take_all(&f->share[0], 4 * STEP);         /* has enough, and sends no more */
    (void)take_all(&f->share[1], 1000 * STEP);      /* the guest */
    (void)take_all(&f->share[2], 1000 * STEP);      /* waits */
    receive_share_pause(&f->share[1], true, false); /* a guest that does not read */
    expect_lost(f, &f->share[0]);                   /* it has sent nothing for longer */
    receive_share_give_back(&f->share[0]);
    f->lost = NULL;
    expect_lost(f, &f->share[1]);
}

/* It arrives so fast that it never counts as stalled. */
static void a_guest_that_takes_long_loses_its_share(void **state)
{
    struct fixture *f = *state;
    receive_budget_bound(&f->budget, 100 * STEP, 100);
    (void)take_all(&f->share[0], 100000 * STEP); /* the guest */
    (void)take_all(&f->share[1], 1000 * STEP);   /* waits */
    size_t arrived = f->share[0].seen;
    uint64_t end = clock_now_ns() + 10 * NS_PER_S;
    while (!f->lost && clock_now_ns() < end) {
        arrived += STEP;
        assert_true(receive_share_take(&f->share[0], 100000 * STEP, arrived));
        (void)event_base_loop(f->base, EVLOOP_ONCE);
    }
    assert_ptr_equal(f->lost, &f->share[0]);
}

/* The guest's place goes to a user who has less, whoever has waited for longer. */
static void users_take_turns_as_guests(void **state)
{
    struct fixture *f = *state;
    receive_budget_bound(&f->budget, 60 * STEP, 1000);
    f->share[2].user = &f->users[1];
    (void)take_all(&f->share[0], 1000 * STEP); /* the guest */
    (void)take_all(&f->share[1], 1000 * STEP);
    (void)take_all(&f->share[2], 1000 * STEP);
    assert_true(f->share[1].is_waiting && f->share[2].is_waiting);
    receive_share_give_back(&f->share[0]);
    assert_true(f->users[1].received < f->users[0].received);
    /* It is at hand sooner than the one whose turn it is. */
    assert_false(receive_share_take(&f->share[1], 1000 * STEP, bound(f->share[1].bytes)));
    assert_null(f->budget.guest);
    assert_int_equal(take_all(&f->share[2], 1000 * STEP), 1000 * STEP);
    assert_ptr_equal(f->budget.guest, &f->share[2]);
}

/* What a connection has counts for its new user. */
static void a_share_moves_to_another_user(void **state)
{
    struct fixture *f = *state;
    (void)take_all(&f->share[0], 4 * STEP);
    (void)take_all(&f->share[1], 2 * STEP);
    size_t moved = f->share[0].bytes, stays = f->share[1].bytes;
    assert_true(moved > 0 && stays > 0);
    receive_share_move(&f->share[0], &f->users[1]);
    assert_int_equal(f->users[0].received, stays);
    assert_int_equal(f->users[1].received, moved);
    receive_share_give_back(&f->share[0]);
    assert_int_equal(f->users[1].received, 0);
}

static void nobody_loses_a_share_that_nobody_wants(void **state)
{
    struct fixture *f = *state;
    receive_budget_bound(&f->budget, 100 * STEP, 1);
    (void)take_all(&f->share[0], 4 * STEP);
    assert_false(event_pending(f->budget.timer, EV_TIMEOUT, NULL));
}

static void no_more_is_given_back_than_was_taken(void **state)
{
    struct fixture *f = *state;
    (void)take_all(&f->share[0], 3 * STEP);
    f->budget.reserved = 0;
    assert_caught(receive_share_give_back(&f->share[0]));
    f->budget.reserved = f->share[0].bytes;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(small_frames_need_none, setup, teardown),
        cmocka_unit_test_setup_teardown(memory_follows_what_has_arrived, setup, teardown),
        cmocka_unit_test_setup_teardown(one_frame_may_be_larger_than_the_budget, setup, teardown),
        cmocka_unit_test_setup_teardown(who_sends_is_not_lost, setup, teardown),
        cmocka_unit_test_setup_teardown(there_is_one_guest, setup, teardown),
        cmocka_unit_test_setup_teardown(there_is_room_for_the_next, setup, teardown),
        cmocka_unit_test_setup_teardown(one_that_leaves_the_line_wakes_the_next, setup, teardown),
        cmocka_unit_test_setup_teardown(a_guest_that_is_whole_makes_way, setup, teardown),
        cmocka_unit_test_setup_teardown(a_guest_moves_to_another_user, setup, teardown),
        cmocka_unit_test_setup_teardown(the_place_of_the_guest_does_not_stay_empty, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(who_stalls_loses_his_share, setup, teardown),
        cmocka_unit_test_setup_teardown(a_guest_that_takes_long_loses_its_share, setup, teardown),
        cmocka_unit_test_setup_teardown(users_take_turns_as_guests, setup, teardown),
        cmocka_unit_test_setup_teardown(a_share_moves_to_another_user, setup, teardown),
        cmocka_unit_test_setup_teardown(nobody_loses_a_share_that_nobody_wants, setup, teardown),
        cmocka_unit_test_setup_teardown(no_more_is_given_back_than_was_taken, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
