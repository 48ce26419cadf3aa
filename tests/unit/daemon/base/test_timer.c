/* SPDX-License-Identifier: MIT */
/* Checks times, not durations: a timer may be late on a busy machine, but never early. */
#include "daemon/base/await.h"
#include "daemon/base/clock.h"
#include "daemon/base/timer.h"
#include "proto/util.h"
#include "tests/unit/scenario.h"

#include <signal.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/wait.h>

struct fixture {
    struct event_base *base;
    struct timer timer;
    unsigned calls;
    uint64_t called_ns;
    uint64_t again_ms; /* set again by the callback */
};

static void on_timer(void *userdata)
{
    struct fixture *f = userdata;
    f->calls++;
    f->called_ns = clock_now_ns();
    if (f->again_ms > 0)
        timer_set(&f->timer, f->again_ms);
    f->again_ms = 0;
}

static int setup(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));
    assert_non_null(f);
    f->base = event_base_new();
    assert_non_null(f->base);
    assert_int_equal(timer_init(&f->timer, f->base, on_timer, f), 0);
    (void)alarm(60); /* ends whatever waits for ever */
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;
    timer_deinit(&f->timer);
    timer_deinit(&f->timer); /* accepts an empty timer */
    event_base_free(f->base);
    free(f);
    (void)alarm(0);
    return 0;
}

static void await_calls(struct fixture *f, unsigned calls)
{
    while (f->calls < calls)
        assert_int_equal(event_base_loop(f->base, EVLOOP_ONCE), 0);
}

static bool is_armed(const struct timer *timer)
{
    struct itimerspec left;
    assert_int_equal(timerfd_gettime(timer->fd, &left), 0);
    return left.it_value.tv_sec > 0 || left.it_value.tv_nsec > 0;
}

static void test_once(void **state)
{
    struct fixture *f = *state;
    uint64_t began_ns = clock_now_ns();
    timer_set(&f->timer, 20);
    await_calls(f, 1);
    assert_true(f->called_ns >= began_ns + 20 * NS_PER_MS);
    assert_false(is_armed(&f->timer));
    assert_true(f->timer.due_ns == UINT64_MAX);
}

/* The timerfd expires at the first time, the callback is called at the second. */
static void test_later(void **state)
{
    struct fixture *f = *state;
    timer_set(&f->timer, 10);
    uint64_t first_ns = f->timer.armed_ns, began_ns = clock_now_ns();
    timer_set(&f->timer, 40);
    assert_true(f->timer.armed_ns == first_ns); /* without a system call */
    await_calls(f, 1);
    assert_true(f->called_ns >= began_ns + 40 * NS_PER_MS);
    assert_int_equal(f->calls, 1);
}

static void test_earlier(void **state)
{
    struct fixture *f = *state;
    timer_set(&f->timer, UINT64_C(3600) * 1000);
    timer_set(&f->timer, 10);
    await_calls(f, 1); /* or alarm() ends the test */
    assert_int_equal(f->calls, 1);
}

static void test_never(void **state)
{
    struct fixture *f = *state;
    timer_set(&f->timer, 10);
    timer_set(&f->timer, 0);
    assert_true(await_readable(f->timer.fd, clock_now_ns() + 10 * NS_PER_S));
    assert_int_equal(event_base_loop(f->base, EVLOOP_ONCE), 0);
    assert_int_equal(f->calls, 0);
    assert_false(is_armed(&f->timer));
    timer_set(&f->timer, 10); /* it still works later */
    await_calls(f, 1);
}

static void test_set_by_its_callback(void **state)
{
    struct fixture *f = *state;
    f->again_ms = 10;
    timer_set(&f->timer, 10);
    await_calls(f, 2);
    assert_false(is_armed(&f->timer));
}

/* --- waiting ------------------------------------------------------------------------------ */

static void test_await_readable(void **state)
{
    int fds[2];
    (void)state;
    assert_int_equal(pipe(fds), 0);
    assert_false(await_readable(fds[0], 0));
    uint64_t deadline_ns = clock_now_ns() + 20 * NS_PER_MS;
    assert_false(await_readable(fds[0], deadline_ns));
    assert_true(clock_now_ns() >= deadline_ns);
    assert_false(await_readable(-1, 0));
    assert_int_equal(write(fds[1], "x", 1), 1);
    assert_true(await_readable(fds[0], 0));
    close_fd(fds[1]);
    assert_int_equal(read(fds[0], &(char){0}, 1), 1);
    assert_true(await_readable(fds[0], clock_now_ns() + 10 * NS_PER_S)); /* its end */
    close_fd(fds[0]);
}

static void test_kill_by_pidfd(void **state)
{
    int status;
    (void)state;
    kill_by_pidfd(-1);
    pid_t pid = fork();
    if (pid == 0)
        for (;;)
            (void)pause();
    int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
    assert_true(pidfd >= 0);
    assert_false(await_readable(pidfd, 0));
    kill_by_pidfd(pidfd);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    kill_by_pidfd(pidfd); /* the process is gone */
    close_fd(pidfd);
}

#define WITH_TIMER(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_TIMER(test_once),
        WITH_TIMER(test_later),
        WITH_TIMER(test_earlier),
        WITH_TIMER(test_never),
        WITH_TIMER(test_set_by_its_callback),
        cmocka_unit_test(test_await_readable),
        cmocka_unit_test(test_kill_by_pidfd),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
