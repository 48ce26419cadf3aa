/* SPDX-License-Identifier: MIT */
/* One output pipe: the capture counts everything, keeps no more than its bound, and tells the end
 * once. */
#include "daemon/base/events.h"
#include "daemon/pool/capture.h"
#include "tests/unit/files.h"

#include <fcntl.h>
#include <malloc.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <sys/resource.h>

#include <cmocka.h>

/* A capture, and what its callback was told. */
struct fixture {
    struct event_base *base;
    struct capture capture;
    int write_fd;
    size_t counted; /* bytes, by the callback */
    unsigned reads, ends;
    unsigned close_at;  /* the read at which the callback closes the capture; 0: never */
    bool deinit_at_end; /* the callback frees the capture at its end */
};

/* The byte that is written at OFFSET: it tells its place. */
static char byte_at(size_t offset)
{
    return (char)(offset * 7 + offset / 251);
}

static void on_capture(struct capture *capture, size_t n, void *userdata)
{
    struct fixture *f = userdata;
    assert_ptr_equal(capture, &f->capture);
    assert_int_equal(f->ends, 0); /* no callback after the end */
    f->counted += n;
    if (n == 0) {
        f->ends++;
        assert_true(capture_is_closed(capture));
    } else {
        f->reads++;
        assert_false(capture_is_closed(capture));
        if (capture->error == 0)
            assert_int_equal(capture->kept.length, MIN(f->counted, capture->keep_max));
        assert_true(!capture->kept.data || capture->kept.data[capture->kept.length] == '\0');
    }
    if (n > 0 && f->reads == f->close_at)
        capture_close(capture);
    if (n == 0 && f->deinit_at_end)
        capture_deinit(capture);
}

static int setup(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));
    assert_non_null(f);
    f->base = event_base_new();
    assert_non_null(f->base);
    f->capture = (struct capture)CAPTURE_NULL;
    f->write_fd = -1;
    (void)alarm(60); /* a test that hangs ends here */
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;
    capture_deinit(&f->capture);
    capture_deinit(&f->capture); /* an empty one can be freed */
    close_fd(f->write_fd);
    event_base_free(f->base);
    free(f);
    (void)alarm(0);
    return 0;
}

/* Opens the capture; our end does not block, so that one process can write and read. */
static void open_unwatched(struct fixture *f, size_t keep_max)
{
    int r = capture_open(&f->capture, CAPTURE_PIPE, f->base, keep_max, on_capture, f, &f->write_fd);
    assert_int_equal(r, 0);
    assert_false(capture_is_closed(&f->capture));
    assert_int_equal(fcntl(f->write_fd, F_SETFL, O_NONBLOCK), 0);
}

static void open_capture(struct fixture *f, size_t keep_max)
{
    open_unwatched(f, keep_max);
    assert_int_equal(capture_watch(&f->capture), 0);
}

/* Writes N bytes in pieces of at most PIECE, reading whenever the pipe is full or, if EAGER, after
 * each piece. */
static void write_all(struct fixture *f, size_t n, size_t piece, bool eager)
{
    static char data[1 << 16];
    for (size_t done = 0; done < n;) {
        size_t length = MIN(n - done, MIN(piece, sizeof(data)));
        for (size_t i = 0; i < length; i++)
            data[i] = byte_at(done + i);
        ssize_t written = write(f->write_fd, data, length);
        if (written < 0)
            assert_int_equal(errno, EAGAIN);
        if (written < 0 || eager)
            assert_int_equal(event_base_loop(f->base, EVLOOP_ONCE), 0);
        done += written > 0 ? (size_t)written : 0;
    }
}

/* Closes the write end and waits for the callback. No event may be pending afterwards. */
static void finish(struct fixture *f)
{
    f->write_fd = close_fd(f->write_fd);
    assert_int_equal(event_base_dispatch(f->base), 1);
    assert_int_equal(f->ends, 1);
}

static void expect_kept(const struct fixture *f, size_t n)
{
    assert_int_equal(f->capture.kept.length, n);
    for (size_t i = 0; i < n; i++)
        if (f->capture.kept.data[i] != byte_at(i))
            fail_msg("byte %zu is not what was written", i);
    if (f->capture.kept.data)
        assert_int_equal(f->capture.kept.data[n], '\0');
}

/* --- what is counted and kept ------------------------------------------------------------- */

static void test_bytes_are_counted_and_kept_up_to_the_bound(void **state)
{
    static const struct {
        size_t keep_max, written, piece;
        bool eager;
    } cases[] = {
        {100, 0, 1, false},
        {100, 1, 1, false},
        {100, 99, 10, true},
        {100, 100, 10, true},
        {100, 101, 10, true},
        {100, 100, 1, true},
        {100, 100, 100, false},
        {100, 101, 101, false},
        {100, 100000, 3, false},
        {0, 0, 1, false},
        {0, 1, 1, true},
        {0, 300000, 65536, false},
        {1, 300000, 65536, false},
        {65536, 65536, 65536, true},
        {65536, 65537, 65537, true},
        {256u << 10, 8u << 20, 65536, false},
        {8u << 20, 8u << 20, 65536, false},
        {8u << 20, (8u << 20) + 1, 4093, false},
        {SIZE_MAX, 3u << 20, 65536, false},
        {SIZE_MAX - 1, 1000, 7, true},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct fixture *f;
        assert_int_equal(setup((void **)&f), 0);
        open_capture(f, cases[i].keep_max);
        write_all(f, cases[i].written, cases[i].piece, cases[i].eager);
        finish(f);
        assert_int_equal(f->counted, cases[i].written);
        assert_true(f->reads <= cases[i].written);
        expect_kept(f, MIN(cases[i].written, cases[i].keep_max));
        assert_int_equal(teardown((void **)&f), 0);
    }
}

/* Allocates little for a job that writes little, whatever the bound. */
static void test_little_output_costs_little(void **state)
{
    struct fixture *f = *state;
    open_capture(f, 1u << 30);
    write_all(f, 100, 1, true);
    finish(f);
    expect_kept(f, 100);
    assert_true(f->capture.capacity >= 101 && f->capture.capacity <= 4096);
}

/* What comes is told in order, also what is not kept. */
static void on_told(struct capture *capture, const char *data, size_t n, void *userdata)
{
    const struct fixture *f = userdata;
    assert_ptr_equal(capture, &f->capture);
    assert_true(n > 0);
    for (size_t i = 0; i < n; i++) /* before it is counted */
        assert_int_equal(data[i], byte_at(f->counted + i));
}

static void test_bytes_are_told_as_they_come(void **state)
{
    struct fixture *f = *state;
    open_capture(f, 10);
    f->capture.tell = on_told;
    write_all(f, 200000, 4093, true);
    finish(f);
    assert_int_equal(f->counted, 200000);
    expect_kept(f, 10);
}

/* While it is paused nothing is read, so that the pipe fills up; then it goes on. */
static void test_a_pause(void **state)
{
    static const char data[4096];
    struct fixture *f = *state;
    open_unwatched(f, 10);
    capture_pause(&f->capture, true); /* before it is watched */
    assert_int_equal(capture_watch(&f->capture), 0);
    while (write(f->write_fd, data, sizeof(data)) > 0)
        continue;
    assert_int_equal(errno, EAGAIN);
    assert_int_equal(event_base_loop(f->base, EVLOOP_NONBLOCK), 1); /* there is no event */
    assert_int_equal(f->reads, 0);
    capture_pause(&f->capture, false);
    capture_pause(&f->capture, false); /* once more does nothing */
    assert_int_equal(event_base_loop(f->base, EVLOOP_ONCE), 0);
    assert_true(f->counted > 0);
    capture_pause(&f->capture, true);
    assert_int_equal(event_base_loop(f->base, EVLOOP_NONBLOCK), 1);
    size_t before = f->counted;
    assert_int_equal(capture_read_rest(&f->capture), 0); /* what is there when its writer is gone */
    assert_true(f->counted > before);
}

/* Does not allocate more than the bound. */
static void test_capacity_is_bounded(void **state)
{
    struct fixture *f = *state;
    open_capture(f, 100000);
    write_all(f, 1u << 20, 1000, true);
    finish(f);
    expect_kept(f, 100000);
    assert_true(f->capture.capacity <= 100001);
}

/* Bytes are read as they come, not only when the writer has ended. */
static void test_output_is_read_as_it_comes(void **state)
{
    struct fixture *f = *state;
    open_capture(f, 1000);
    for (size_t i = 1; i <= 5; i++) {
        assert_int_equal(write(f->write_fd, "0123456789", 10), 10);
        assert_int_equal(event_base_loop(f->base, EVLOOP_ONCE), 0);
        assert_int_equal(f->counted, 10 * i);
        assert_int_equal(f->reads, i);
    }
    assert_int_equal(f->ends, 0);
    finish(f);
}

static void test_no_output(void **state)
{
    struct fixture *f = *state;
    open_capture(f, 1000);
    assert_int_equal(event_base_loop(f->base, EVLOOP_NONBLOCK), 0);
    assert_int_equal(f->reads + f->ends, 0);
    finish(f);
    assert_int_equal(f->reads, 0);
    assert_null(f->capture.kept.data);
    assert_int_equal(f->capture.kept.length, 0);
}

static void test_nul_bytes_are_kept(void **state)
{
    struct fixture *f = *state;
    open_capture(f, 5);
    assert_int_equal(write(f->write_fd, "\0a\0b\0c\0", 7), 7);
    finish(f);
    assert_int_equal(f->counted, 7);
    assert_int_equal(f->capture.kept.length, 5);
    assert_memory_equal(f->capture.kept.data, "\0a\0b\0", 6);
}

/* The pipe ends when the last of several writers closes it. */
static void test_end_of_several_writers(void **state)
{
    struct fixture *f = *state;
    open_capture(f, 1000);
    int other = fcntl(f->write_fd, F_DUPFD_CLOEXEC, 0);
    assert_true(other >= 0);
    assert_int_equal(write(f->write_fd, "a", 1), 1);
    f->write_fd = close_fd(f->write_fd);
    assert_int_equal(event_base_loop(f->base, EVLOOP_ONCE), 0);
    assert_int_equal(event_base_loop(f->base, EVLOOP_NONBLOCK), 0);
    assert_int_equal(f->ends, 0);
    assert_int_equal(write(other, "b", 1), 1);
    close_fd(other);
    finish(f);
    assert_int_equal(f->capture.kept.length, 2);
    assert_string_equal(f->capture.kept.data, "ab");
}

/* --- reading the rest --------------------------------------------------------------------- */

static void test_nothing_is_read_unasked(void **state)
{
    struct fixture *f = *state;
    open_unwatched(f, 1000);
    assert_int_equal(write(f->write_fd, "abc", 3), 3);
    f->write_fd = close_fd(f->write_fd);
    assert_int_equal(event_base_dispatch(f->base), 1); /* nothing is watched */
    assert_int_equal(f->reads + f->ends, 0);
}

/* Writes more than is read at once, and more than is kept. */
static void test_the_rest_is_read_to_its_end(void **state)
{
    struct fixture *f = *state;
    for (unsigned watched = 0; watched < 2; watched++) {
        f->counted = f->ends = f->reads = 0;
        (watched ? open_capture : open_unwatched)(f, 40000);
        write_all(f, 60000, 60000, false);
        f->write_fd = close_fd(f->write_fd);
        assert_int_equal(capture_read_rest(&f->capture), 0);
        assert_int_equal(f->ends, 1);
        assert_int_equal(f->counted, 60000);
        expect_kept(f, 40000);
        assert_int_equal(event_base_dispatch(f->base), 1);   /* nothing is watched */
        assert_int_equal(capture_read_rest(&f->capture), 0); /* and nothing is read */
        capture_deinit(&f->capture);
    }
}

/* A writer is left after all: the capture waits for its end. */
static void test_a_rest_without_an_end_is_watched(void **state)
{
    struct fixture *f = *state;
    open_unwatched(f, 1000);
    assert_int_equal(write(f->write_fd, "abc", 3), 3);
    assert_int_equal(capture_read_rest(&f->capture), 0);
    assert_int_equal(f->counted, 3);
    assert_int_equal(f->ends, 0);
    assert_int_equal(write(f->write_fd, "def", 3), 3);
    finish(f);
    assert_string_equal(f->capture.kept.data, "abcdef");
}

static void test_watching_twice_is_watching_once(void **state)
{
    struct fixture *f = *state;
    open_capture(f, 1000);
    const struct event *event = f->capture.event;
    assert_int_equal(capture_watch(&f->capture), 0);
    assert_ptr_equal(f->capture.event, event);
    assert_int_equal(write(f->write_fd, "abc", 3), 3);
    finish(f);
    assert_int_equal(f->counted, 3);
    assert_int_equal(capture_watch(&f->capture), 0); /* there is nothing to watch */
    assert_null(f->capture.event);
}

/* --- losing output -------------------------------------------------------------------------- */

/* An error is not the end of what a job wrote. */
static void test_an_error_is_no_end(void **state)
{
    struct fixture *f = *state;
    open_unwatched(f, 1000);
    assert_int_equal(write(f->write_fd, "abc", 3), 3);
    assert_int_equal(capture_read_rest(&f->capture), 0);
    int broken = open("/proc/self/mem", O_RDONLY | O_CLOEXEC); /* nothing is mapped at 0 */
    assert_true(broken >= 0);
    f->capture.event = consume_event(f->capture.event);
    assert_int_equal(dup2(broken, f->capture.fd), f->capture.fd);
    close_fd(broken);
    assert_int_equal(capture_read_rest(&f->capture), 0);
    assert_true(capture_is_closed(&f->capture));
    assert_int_equal(f->ends, 1); /* nothing more will come */
    assert_int_equal(f->capture.error, -EIO);
}

#ifndef __SANITIZE_ADDRESS__
/* Output that there is no memory for is counted, and is known to be lost. */
static void test_output_without_memory_is_lost(void **state)
{
    struct fixture *f = *state;
    struct rlimit before, limit;
    open_capture(f, 8u << 20);
    (void)malloc_trim(0); /* what other tests left would do */
    assert_int_equal(getrlimit(RLIMIT_DATA, &before), 0);
    limit = (struct rlimit){.rlim_cur = 1, .rlim_max = before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_DATA, &limit), 0);
    write_all(f, 4u << 20, 1u << 16, true);
    assert_int_equal(setrlimit(RLIMIT_DATA, &before), 0);
    assert_int_equal(f->capture.error, -ENOMEM);
    size_t kept = f->capture.kept.length;
    assert_int_equal(write(f->write_fd, "abc", 3), 3);
    finish(f);
    assert_int_equal(f->counted, (4u << 20) + 3);
    assert_int_equal(f->capture.kept.length, kept); /* no gap within */
}
#endif

/* --- closing ------------------------------------------------------------------------------ */

static void test_close_in_the_callback(void **state)
{
    struct fixture *f = *state;
    (void)signal(SIGPIPE, SIG_IGN);
    open_capture(f, 1000);
    f->close_at = 2;
    for (unsigned i = 1; i <= 2; i++) {
        assert_int_equal(write(f->write_fd, "abc", 3), 3);
        (void)event_base_loop(f->base, EVLOOP_ONCE);
    }
    assert_true(capture_is_closed(&f->capture));
    assert_null(f->capture.event);
    assert_int_equal(write(f->write_fd, "abc", 3), -1);
    assert_int_equal(errno, EPIPE);
    assert_int_equal(event_base_loop(f->base, EVLOOP_NONBLOCK), 1); /* nothing to wait for */
    assert_int_equal(f->reads, 2);
    assert_int_equal(f->ends, 0);                        /* closed, not at its end */
    assert_string_equal(f->capture.kept.data, "abcabc"); /* the bytes that were read are kept */
}

static void test_close_before_anything_is_read(void **state)
{
    struct fixture *f = *state;
    open_capture(f, 1000);
    assert_int_equal(write(f->write_fd, "abc", 3), 3);
    capture_close(&f->capture);
    capture_close(&f->capture);
    assert_true(capture_is_closed(&f->capture));
    f->write_fd = close_fd(f->write_fd);
    assert_int_equal(event_base_dispatch(f->base), 1);
    assert_int_equal(f->reads + f->ends, 0);
}

static void test_deinit_in_the_callback(void **state)
{
    struct fixture *f = *state;
    open_capture(f, 1000);
    f->deinit_at_end = true;
    assert_int_equal(write(f->write_fd, "abc", 3), 3);
    finish(f);
    assert_true(capture_is_closed(&f->capture));
    assert_null(f->capture.kept.data);
    assert_int_equal(f->counted, 3);
}

static void test_deinit_leaves_an_empty_one(void **state)
{
    struct fixture *f = *state;
    size_t descriptors = count_descriptors();
    for (unsigned i = 0; i < 3; i++) {
        f->counted = f->ends = 0;
        open_capture(f, 10);
        assert_int_equal(write(f->write_fd, "abc", 3), 3);
        finish(f);
        assert_string_equal(f->capture.kept.data, "abc");
        capture_deinit(&f->capture);
        assert_true(capture_is_closed(&f->capture));
        assert_null(f->capture.kept.data);
        assert_int_equal(f->capture.kept.length, 0);
        assert_int_equal(count_descriptors(), descriptors);
    }
}

/* --- opening ------------------------------------------------------------------------------ */

/* The write end blocks, as a job expects. Neither end is inherited by accident. */
static void test_flags_of_the_pipe(void **state)
{
    struct fixture *f = *state;
    int r = capture_open(&f->capture, CAPTURE_PIPE, f->base, 10, on_capture, f, &f->write_fd);
    assert_int_equal(r, 0);
    assert_int_equal(fcntl(f->write_fd, F_GETFL) & (O_NONBLOCK | O_ACCMODE), O_WRONLY);
    assert_int_equal(fcntl(f->capture.fd, F_GETFL) & (O_NONBLOCK | O_ACCMODE), O_NONBLOCK);
    assert_int_equal(fcntl(f->write_fd, F_GETFD), FD_CLOEXEC);
    assert_int_equal(fcntl(f->capture.fd, F_GETFD), FD_CLOEXEC);
}

/* Lowers the limit of descriptors so that LEFT more can be opened. */
static void check_no_room(struct fixture *f, size_t left)
{
    struct rlimit before, limit;
    size_t descriptors = count_descriptors();
    int next = fcntl(f->write_fd, F_DUPFD_CLOEXEC, 0);
    assert_true(next >= 0);
    close_fd(next);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    limit = before;
    limit.rlim_cur = (rlim_t)next + left;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
    struct capture capture = CAPTURE_NULL;
    int write_fd = -7;
    int r = capture_open(&capture, CAPTURE_PIPE, f->base, 10, on_capture, f, &write_fd);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    assert_int_equal(r, -EMFILE);
    assert_int_equal(write_fd, -7);
    assert_true(capture_is_closed(&capture));
    capture_deinit(&capture);
    assert_int_equal(count_descriptors(), descriptors);
}

static void test_no_descriptor_can_be_had(void **state)
{
    struct fixture *f = *state;
    open_capture(f, 10);
    check_no_room(f, 0);
    check_no_room(f, 1);
}

#define ON_PIPE(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bytes_are_counted_and_kept_up_to_the_bound),
        ON_PIPE(test_bytes_are_told_as_they_come),
        ON_PIPE(test_a_pause),
        ON_PIPE(test_little_output_costs_little),
        ON_PIPE(test_capacity_is_bounded),
        ON_PIPE(test_output_is_read_as_it_comes),
        ON_PIPE(test_no_output),
        ON_PIPE(test_nul_bytes_are_kept),
        ON_PIPE(test_end_of_several_writers),
        ON_PIPE(test_nothing_is_read_unasked),
        ON_PIPE(test_the_rest_is_read_to_its_end),
        ON_PIPE(test_a_rest_without_an_end_is_watched),
        ON_PIPE(test_watching_twice_is_watching_once),
        ON_PIPE(test_an_error_is_no_end),
#ifndef __SANITIZE_ADDRESS__
        ON_PIPE(test_output_without_memory_is_lost),
#endif
        ON_PIPE(test_close_in_the_callback),
        ON_PIPE(test_close_before_anything_is_read),
        ON_PIPE(test_deinit_in_the_callback),
        ON_PIPE(test_deinit_leaves_an_empty_one),
        ON_PIPE(test_flags_of_the_pipe),
        ON_PIPE(test_no_descriptor_can_be_had),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
