/* SPDX-License-Identifier: MIT */
/* The states of a session, when it is due to end, and what its commands get of it. */
#include "daemon/base/clock.h"
#include "daemon/jobs/session.h"
#include "proto/jobkinds.h"
#include "tests/unit/caught.h"

#include <event2/event.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

struct fixture {
    struct event_base *base;
    struct session session;
    unsigned due;
};

static void on_due(evutil_socket_t fd, short what, void *userdata)
{
    struct fixture *f = userdata;
    (void)fd;
    (void)what;
    f->due++;
    (void)event_base_loopbreak(f->base);
}

static int setup(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));
    assert_non_null(f);
    (void)alarm(60); /* a test that hangs ends here */
    f->base = event_base_new();
    f->session.timer = event_new(f->base, -1, 0, on_due, f);
    f->session.opened_ns = f->session.idle_since_ns = clock_now_ns();
    f->session.wish.lease_ms = 100000;
    f->session.wish.idle_ms = 10000;
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;
    event_free(f->session.timer);
    event_base_free(f->base);
    free(f);
    (void)alarm(0);
    return 0;
}

static void skip_a_state(struct session *session)
{
    session_enter(session, SESSION_ENDED);
}

static void end_with_a_command(struct session *session)
{
    session_enter(session, SESSION_ENDED);
}

static void begin(struct session *session)
{
    session_begin(session, (struct job *)(uintptr_t)1);
}

static void test_the_arrows_between_states(void **state)
{
    struct fixture *f = *state;
    struct session *session = &f->session;
    assert_caught(skip_a_state(session));
    assert_caught(session_enter(session, SESSION_OPEN));
    begin(session);
    assert_int_equal(session->commands, 1);
    assert_caught(begin(session)); /* it has one */
    session_enter(session, SESSION_ENDING);
    assert_caught(end_with_a_command(session));
    session_forget(session);
    assert_caught(session_forget(session));
    assert_caught(begin(session)); /* not while it ends */
    session_enter(session, SESSION_ENDED);
    assert_int_equal(session->state, SESSION_ENDED);
}

static void test_when_it_is_due(void **state)
{
    struct fixture *f = *state;
    struct session *session = &f->session;
    uint64_t opened_ns = session->opened_ns;
    enum session_end why;
    assert_int_equal(session_due_ms(session, opened_ns, &why), 10000);
    assert_int_equal(why, SESSION_IDLE);
    assert_int_equal(session_due_ms(session, opened_ns + 1, &why), 10000); /* rounded up */
    assert_int_equal(session_due_ms(session, opened_ns + 10000 * NS_PER_MS, &why), 0);
    begin(session); /* a command is not idle */
    assert_int_equal(session_due_ms(session, opened_ns, &why), 100000);
    assert_int_equal(why, SESSION_LEASE_OVER);
    assert_int_equal(session_due_ms(session, opened_ns + 100001 * NS_PER_MS, &why), 0);
    session_forget(session);
    session->idle_since_ns = opened_ns + 95000 * NS_PER_MS;
    assert_int_equal(session_due_ms(session, opened_ns + 95000 * NS_PER_MS, &why), 5000);
    assert_int_equal(why, SESSION_LEASE_OVER); /* the earlier one */
}

/* The end of a command sets the timer, since the idle time may be over before the lease, for which
 * it was set while the command ran. */
static void test_the_timer(void **state)
{
    struct fixture *f = *state;
    f->session.wish.idle_ms = 10;
    begin(&f->session);
    session_arm(&f->session);
    session_forget(&f->session);
    assert_int_equal(event_base_loop(f->base, 0), 0);
    assert_int_equal(f->due, 1);
    session_enter(&f->session, SESSION_ENDING);
    session_arm(&f->session);
    assert_false(event_pending(f->session.timer, EV_TIMEOUT, NULL));
}

static void test_what_commands_get(void **state)
{
    struct fixture *f = *state;
    char *env[] = {(char[]){"A=b"}, NULL};
    struct job_spec spec = {.kind = JOB_SESSION, .limits = job_kind_get(JOB_SESSION)->defaults};
    f->session.wish.env = env;
    for (enum limit limit = 0; limit < LIMIT_COUNT; limit++)
        f->session.wish.limits.of[limit] = 1000 + limit;
    spec.limits.of[LIMIT_WALL_CLOCK] = 7;
    spec.session.limits_given = 1u << LIMIT_WALL_CLOCK;
    session_settle(&f->session, &spec);
    for (enum limit limit = 0; limit < LIMIT_COUNT; limit++)
        assert_int_equal(spec.limits.of[limit],
                         limit == LIMIT_WALL_CLOCK ? 7 : (uint64_t)1000 + limit);
    assert_ptr_equal(spec.session.common_env, env);
}

static void test_each_end_has_a_name(void **state)
{
    (void)state;
    for (enum session_end end = 0; end < SESSION_ENDS; end++)
        for (enum session_end other = 0; other < end; other++)
            assert_string_not_equal(session_end_name(end), session_end_name(other));
}

#define WITH_SESSION(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_SESSION(test_the_arrows_between_states),
        WITH_SESSION(test_when_it_is_due),
        WITH_SESSION(test_the_timer),
        WITH_SESSION(test_what_commands_get),
        cmocka_unit_test(test_each_end_has_a_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
