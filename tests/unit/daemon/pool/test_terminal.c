/* SPDX-License-Identifier: MIT */
/* Tests a job's terminal from both of its sides, without a job. */
#include "daemon/pool/terminal.h"

#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <cmocka.h>

struct fixture {
    struct event_base *base;
    struct terminal terminal;
    int job_side, reader;
    size_t taken;
};

static void on_taken(struct terminal *terminal, size_t n, void *userdata)
{
    struct fixture *f = userdata;
    assert_ptr_equal(terminal, &f->terminal);
    assert_true(n > 0);
    f->taken += n;
}

static int set_up(void **state)
{
    static struct fixture f;
    const struct terminal_size size = {24, 80};
    f = (struct fixture){.terminal = TERMINAL_NULL};
    f.base = event_base_new();
    assert_non_null(f.base);
    assert_int_equal(terminal_check(), 0);
    assert_int_equal(terminal_open(&f.terminal, f.base, size, on_taken, &f, &f.job_side, &f.reader),
                     0);
    *state = &f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    terminal_deinit(&f->terminal);
    close_fd(f->job_side);
    close_fd(f->reader);
    event_base_free(f->base);
    return 0;
}

static void make_raw(int fd)
{
    struct termios modes;
    assert_int_equal(tcgetattr(fd, &modes), 0);
    cfmakeraw(&modes);
    assert_int_equal(tcsetattr(fd, TCSANOW, &modes), 0);
}

static bool is_readable(int fd)
{
    struct pollfd poll_fd = {.fd = fd, .events = POLLIN};
    return poll(&poll_fd, 1, 0) == 1;
}

static void test_sides(void **state)
{
    struct fixture *f = *state;
    struct winsize window;
    assert_true(isatty(f->job_side));
    assert_false(fcntl(f->job_side, F_GETFL) & O_NONBLOCK); /* as a program expects it */
    assert_true(fcntl(f->reader, F_GETFL) & O_NONBLOCK);
    assert_int_equal(ioctl(f->job_side, TIOCGWINSZ, &window), 0);
    assert_int_equal(window.ws_row, 24);
    assert_int_equal(window.ws_col, 80);
    terminal_resize(&f->terminal, (struct terminal_size){50, 132});
    assert_int_equal(ioctl(f->job_side, TIOCGWINSZ, &window), 0);
    assert_int_equal(window.ws_row, 50);
    assert_int_equal(window.ws_col, 132);
    /* Neither side has become that of this process's session. */
    assert_int_equal(tcgetpgrp(f->job_side), -1);
}

static void test_what_is_typed_is_read(void **state)
{
    struct fixture *f = *state;
    char data[16];
    make_raw(f->job_side);
    assert_int_equal(terminal_type(&f->terminal, "a\0b", 3), 0);
    assert_int_equal(f->taken, 3);
    assert_int_equal(read(f->job_side, data, sizeof(data)), 3);
    assert_memory_equal(data, "a\0b", 3);
    assert_false(event_pending(f->terminal.writable, EV_WRITE, NULL));
}

/* All of it arrives, in order, although the kernel takes a part of it at a time. */
static void test_what_the_kernel_does_not_take_waits(void **state)
{
    struct fixture *f = *state;
    static char typed[TERMINAL_INPUT_MAX], data[4096];
    size_t sent = 0, got = 0;
    int r = 0;
    make_raw(f->job_side);
    for (size_t i = 0; i < sizeof(typed); i++)
        typed[i] = (char)(i % 251);
    while ((r = terminal_type(&f->terminal, typed, sizeof(typed))) == 0)
        sent += sizeof(typed);
    assert_int_equal(r, -ENOSPC);
    assert_true(sent - f->taken > 0 && sent - f->taken <= TERMINAL_INPUT_MAX);
    assert_true(sent < 64 * sizeof(typed));
    while (got < sent) {
        ssize_t n = read(f->job_side, data, sizeof(data));
        assert_true(n > 0);
        for (ssize_t i = 0; i < n; i++, got++)
            assert_int_equal(data[i], typed[got % sizeof(typed)]);
        while (f->taken < sent && !is_readable(f->job_side))
            assert_int_equal(event_base_loop(f->base, EVLOOP_ONCE), 0);
    }
    assert_int_equal(f->taken, sent);
    assert_false(is_readable(f->job_side));
}

static void test_too_much_at_once(void **state)
{
    struct fixture *f = *state;
    static char typed[TERMINAL_INPUT_MAX + 1];
    assert_int_equal(terminal_type(&f->terminal, typed, sizeof(typed)), -ENOSPC);
    assert_int_equal(f->taken, 0);
}

static void test_nobody_is_there_any_more(void **state)
{
    struct fixture *f = *state;
    char data[16];
    f->job_side = close_fd(f->job_side);
    assert_int_equal(read(f->reader, data, sizeof(data)), -1);
    assert_int_equal(errno, EIO);
    assert_int_equal(terminal_type(&f->terminal, "abc", 3), 0);
    assert_int_equal(f->taken, 3); /* there is room for more, which nobody will read */
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_sides),
        TEST(test_what_is_typed_is_read),
        TEST(test_what_the_kernel_does_not_take_waits),
        TEST(test_too_much_at_once),
        TEST(test_nobody_is_there_any_more),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
