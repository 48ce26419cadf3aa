/* SPDX-License-Identifier: MIT */
/* When the attempts to reconnect are due, when they end, and which changes of state are not
 * allowed. */
#include "client/connection/reconnect.h"
#include "tests/unit/caught.h"

#include <event2/buffer.h>
#include <stdlib.h>
#include <string.h>

#define PATIENCE_MS 200

struct fixture {
    struct session session;
    struct reconnect reconnect;
};

/* A session that has lost its daemon; nothing listens at its path. */
static int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));
    assert_non_null(f);
    f->session = (struct session)SESSION_NULL;
    f->session.in = evbuffer_new();
    f->session.out = evbuffer_new();
    f->session.where = strdup("/proc/self/none/s");
    assert_non_null(f->session.where);
    reconnect_init(&f->reconnect, PATIENCE_MS);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    session_deinit(&f->session);
    free(f);
    return 0;
}

static void test_delays_grow_until_the_patience_ends(void **state)
{
    struct fixture *f = *state;
    assert_true(reconnect_is_connected(&f->reconnect));
    assert_int_equal(reconnect_due(&f->reconnect), INT64_MAX);
    reconnect_begin(&f->reconnect, &f->session, NULL, 1000);
    assert_false(reconnect_is_connected(&f->reconnect));
    assert_string_equal(f->reconnect.why.text, "");
    assert_int_equal(reconnect_due(&f->reconnect), 1000);
    assert_int_equal(reconnect_go_on(&f->reconnect, &f->session, 1000), RECONNECT_GOES_ON);
    assert_string_equal(f->reconnect.why.text, "/proc/self/none/s: No such file or directory");
    assert_int_equal(reconnect_due(&f->reconnect), 1050);
    assert_int_equal(reconnect_go_on(&f->reconnect, &f->session, 1050), RECONNECT_GOES_ON);
    assert_int_equal(reconnect_due(&f->reconnect), 1150);
    assert_int_equal(reconnect_go_on(&f->reconnect, &f->session, 1150), RECONNECT_GOES_ON);
    assert_int_equal(reconnect_due(&f->reconnect), 1200);
    assert_int_equal(reconnect_go_on(&f->reconnect, &f->session, 1200), RECONNECT_GIVEN_UP);
    reconnect_give_up(&f->reconnect, &f->session);
    assert_true(reconnect_is_connected(&f->reconnect));
    assert_int_equal(reconnect_due(&f->reconnect), INT64_MAX);
    assert_string_equal(f->reconnect.why.text, "/proc/self/none/s: No such file or directory");
}

/* The reason of the loss stays until an attempt fails, even if it is the one of the struct itself.
 */
static void test_reason_of_the_loss(void **state)
{
    struct fixture *f = *state;
    const struct fault why = {.text = "rubricd closed the connection"};
    reconnect_begin(&f->reconnect, &f->session, &why, 0);
    assert_string_equal(f->reconnect.why.text, why.text);
    reconnect_give_up(&f->reconnect, &f->session);
    reconnect_begin(&f->reconnect, &f->session, &f->reconnect.why, 0);
    assert_string_equal(f->reconnect.why.text, why.text);
}

static void test_wrong_changes_abort(void **state)
{
    struct fixture *f = *state;
    assert_caught(reconnect_give_up(&f->reconnect, &f->session));
    assert_not_caught(reconnect_begin(&f->reconnect, &f->session, NULL, 0));
    reconnect_begin(&f->reconnect, &f->session, NULL, 0);
    assert_caught(reconnect_begin(&f->reconnect, &f->session, NULL, 0));
    assert_not_caught(reconnect_give_up(&f->reconnect, &f->session));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_delays_grow_until_the_patience_ends, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_reason_of_the_loss, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_wrong_changes_abort, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
