/* SPDX-License-Identifier: MIT */
#include "client/fleet/caller.h"
#include "client/terminal/text.h"
#include "proto/frame.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define FRAME_MAX (1U << 20)
#define DEADLINE_MS 20000

struct scene {
    struct event_base *base;
    struct callers callers;
    struct caller *caller;
    int fd; /* the client's end */
    size_t held;
    char seen[256]; /* the requests, one after the other */
    size_t n_seen, largest;
    bool is_full; /* no room: callers are parked */
    unsigned gone, closed, choked, unchoked;
    int other_fd;     /* of another client, which sends a frame after ten of the first; -1: none */
    size_t others_at; /* how many the first had sent when that was handled */
};

static bool on_request(struct caller *caller, const char *payload, size_t n, void *arg)
{
    struct scene *scene = arg;
    if (scene->is_full)
        return false;
    if (caller != scene->caller) {
        scene->others_at = scene->n_seen;
        return true;
    }
    if (++scene->n_seen == 10 && scene->other_fd >= 0)
        assert_int_equal(write(scene->other_fd, "\0\0\0\1y", 5), 5);
    scene->largest = MAX(scene->largest, n);
    size_t used = strlen(scene->seen);
    (void)snprintf(scene->seen + used, sizeof(scene->seen) - used, "%.*s|", (int)MIN(n, (size_t)20),
                   payload);
    return true;
}

static void on_gone(struct caller *caller, void *arg)
{
    struct scene *scene = arg;
    assert_false(caller_is_served(caller));
    scene->gone++;
}

static void on_choked(struct caller *caller, bool choked, void *arg)
{
    struct scene *scene = arg;
    (void)caller;
    if (choked)
        scene->choked++;
    else
        scene->unchoked++;
}

static void on_closed(struct caller *caller, void *arg)
{
    struct scene *scene = arg;
    if (caller == scene->caller)
        scene->caller = NULL;
    scene->closed++;
}

static const struct caller_ops ops = {
    .request = on_request,
    .gone = on_gone,
    .choked = on_choked,
    .closed = on_closed,
};

static void begin(struct scene *scene)
{
    int pair[2];
    *scene = (struct scene){.base = event_base_new(), .other_fd = -1};
    assert_non_null(scene->base);
    assert_int_equal(callers_init(&scene->callers, scene->base, &ops, scene), 0);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair), 0);
    scene->fd = pair[0];
    assert_int_equal(caller_new(&scene->callers, pair[1], &scene->held, &scene->caller), 0);
    caller_start(scene->caller, FRAME_MAX);
}

static void end(struct scene *scene)
{
    scene->fd = close_fd(scene->fd);
    callers_deinit(&scene->callers);
    assert_int_equal(scene->gone, scene->other_fd < 0 ? 1 : 2);
    assert_int_equal(scene->closed, scene->gone);
    scene->other_fd = close_fd(scene->other_fd);
    assert_int_equal(scene->callers.held, 0);
    assert_int_equal(scene->callers.unsent, 0);
    assert_int_equal(scene->held, 0);
    event_base_free(scene->base);
}

/* Lets the loop turn until CONDITION holds. */
#define TURN_UNTIL(scene, condition)                         \
    do {                                                     \
        int64_t until_ms = monotonic_ms() + DEADLINE_MS;     \
        while (!(condition)) {                               \
            struct timeval soon = {.tv_usec = 2000};         \
            assert_true(monotonic_ms() < until_ms);          \
            (void)event_base_loopexit((scene)->base, &soon); \
            (void)event_base_dispatch((scene)->base);        \
        }                                                    \
    } while (0)

static void turn(struct scene *scene)
{
    for (int i = 0; i < 10; i++)
        (void)event_base_loop(scene->base, EVLOOP_NONBLOCK);
}

static void put(struct scene *scene, const char *bytes, size_t n)
{
    assert_int_equal(write(scene->fd, bytes, n), n);
}

static void put_frame(struct scene *scene, const char *text)
{
    uint8_t header[FRAME_HEADER_SIZE];
    frame_write_header(header, (uint32_t)strlen(text));
    put(scene, (const char *)header, sizeof(header));
    put(scene, text, strlen(text));
}

/* Reads what the client gets, up to its end. */
static void read_all(struct scene *scene, char *ret, size_t size)
{
    size_t n = 0;
    ssize_t got;
    for (;;) {
        got = read(scene->fd, ret + n, size - 1 - n);
        if (got == 0)
            break;
        if (got > 0)
            n += (size_t)got;
        else
            turn(scene);
    }
    ret[n] = '\0';
}

/* The client is told TEXT, in an error, and then that there is no more. */
static void expect_refusal(struct scene *scene, const char *text)
{
    char said[1024];
    TURN_UNTIL(scene, !scene->caller || !caller_is_served(scene->caller));
    read_all(scene, said, sizeof(said));
    assert_true(strlen(said + FRAME_HEADER_SIZE) > 0); /* the header begins with NULs */
    assert_non_null(strstr(said + FRAME_HEADER_SIZE, text));
}

static void test_frames_in_pieces(void **state)
{
    struct scene s;
    static const char two[] = "\0\0\0\2ab\0\0\0\3cde\0\0\0\1f";
    (void)state;
    begin(&s);
    for (size_t i = 0; i < sizeof(two) - 1; i++) {
        put(&s, two + i, 1);
        turn(&s);
    }
    TURN_UNTIL(&s, s.n_seen == 3);
    put(&s, two, sizeof(two) - 1);
    TURN_UNTIL(&s, s.n_seen == 6);
    assert_string_equal(s.seen, "ab|cde|f|ab|cde|f|");
    end(&s);
}

/* One that sends very many is not served to the end before the others are. */
static void test_many_frames_in_one_write(void **state)
{
    struct scene s;
    struct caller *other = NULL;
    int pair[2];
    char frames[500 * 5];
    (void)state;
    begin(&s);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair), 0);
    s.other_fd = pair[0];
    assert_int_equal(caller_new(&s.callers, pair[1], &s.held, &other), 0);
    caller_start(other, FRAME_MAX);
    for (size_t i = 0; i < sizeof(frames); i += 5)
        memcpy(frames + i, "\0\0\0\1x", 5);
    put(&s, frames, sizeof(frames));
    TURN_UNTIL(&s, s.n_seen == 500 && s.others_at > 0);
    assert_in_range(s.others_at, 10, 100);
    end(&s);
}

static void test_lengths_that_are_refused(void **state)
{
    struct scene s;
    (void)state;
    begin(&s);
    put(&s, "\0\0\0\0", 4);
    expect_refusal(&s, "frame: length 0");
    end(&s);
    begin(&s);
    put(&s, "\0\x10\0\1", 4);
    expect_refusal(&s, "frame: length 1048577 is above the maximum of 1048576 bytes");
    end(&s);
}

static void test_half_a_frame(void **state)
{
    struct scene s;
    (void)state;
    begin(&s);
    s.callers.frame_timeout_ms = 20;
    put(&s, "\0\0\0\5ab", 6);
    expect_refusal(&s, "frame: incomplete, with 6 bytes received and no more in time");
    end(&s);
    begin(&s);
    put(&s, "\0\0", 2);
    turn(&s);
    (void)shutdown(s.fd, SHUT_WR);
    expect_refusal(&s, "frame: the connection ended after 2 bytes of it");
    end(&s);
}

/* A client that goes on sending what is refused still reads why. */
static void test_a_refusal_is_read(void **state)
{
    struct scene s;
    char said[1024];
    (void)state;
    begin(&s);
    put(&s, "\xff\xff\xff\xff", 4);
    TURN_UNTIL(&s, s.caller->state == CALLER_LINGERING);
    put(&s, "more", 4);
    turn(&s);
    read_all(&s, said, sizeof(said));
    assert_non_null(strstr(said + FRAME_HEADER_SIZE, "above the maximum"));
    end(&s);
}

static void test_a_parked_caller_gets_its_frame_again(void **state)
{
    struct scene s;
    (void)state;
    begin(&s);
    s.is_full = true;
    put_frame(&s, "one");
    put_frame(&s, "two");
    TURN_UNTIL(&s, s.caller->is_parked);
    turn(&s);
    assert_int_equal(s.n_seen, 0);
    caller_resume(s.caller); /* and there still is none */
    assert_true(s.caller->is_parked);
    s.is_full = false;
    caller_resume(s.caller);
    TURN_UNTIL(&s, s.n_seen == 2);
    assert_string_equal(s.seen, "one|two|");
    end(&s);
}

/* It is not read from, so only a look tells that it has gone. */
static void test_a_parked_caller_that_goes_away(void **state)
{
    struct scene s;
    (void)state;
    begin(&s);
    s.is_full = true;
    put_frame(&s, "one");
    TURN_UNTIL(&s, s.caller->is_parked);
    s.fd = close_fd(s.fd);
    turn(&s);
    assert_int_equal(s.gone, 0);
    callers_sweep(&s.callers);
    TURN_UNTIL(&s, s.closed == 1);
    assert_true(TAILQ_EMPTY(&s.callers.parked));
    end(&s);
}

static void send_mib(struct caller *caller)
{
    struct bytes payload = {.data = calloc(1, 1 << 20), .length = 1 << 20};
    assert_non_null(payload.data);
    caller_send(caller, &payload);
}

static void test_replies_that_stay_unread(void **state)
{
    struct scene s;
    static char sink[1 << 16];
    size_t n = 0;
    (void)state;
    begin(&s);
    for (int i = 0; i < 5; i++)
        send_mib(s.caller);
    assert_int_equal(s.choked, 1);
    put_frame(&s, "one");
    turn(&s);
    assert_int_equal(s.n_seen, 0); /* nothing is taken from it */
    while (s.unchoked == 0) {
        ssize_t got = read(s.fd, sink, sizeof(sink));
        n += got > 0 ? (size_t)got : 0;
        turn(&s);
    }
    assert_in_range(n, 2 << 20, 5 << 20);
    TURN_UNTIL(&s, s.n_seen == 1);
    end(&s);
}

static void test_replies_that_stay_unread_for_too_long(void **state)
{
    struct scene s;
    (void)state;
    begin(&s);
    s.callers.reply_timeout_ms = 20;
    for (int i = 0; i < 5; i++)
        send_mib(s.caller);
    TURN_UNTIL(&s, s.gone == 1);
    end(&s);
}

static void test_half_close(void **state)
{
    struct scene s;
    char said[64];
    struct bytes payload = BYTES_NULL;
    (void)state;
    begin(&s);
    s.caller->unanswered = 1;
    put_frame(&s, "one");
    (void)shutdown(s.fd, SHUT_WR);
    TURN_UNTIL(&s, s.n_seen == 1);
    callers_sweep(&s.callers);
    turn(&s);
    assert_int_equal(s.gone, 0); /* it still reads */
    assert_int_equal(bytes_copy("answer", 6, &payload), 0);
    caller_send(s.caller, &payload);
    s.caller->unanswered = 0;
    caller_settle(s.caller);
    read_all(&s, said, sizeof(said));
    assert_string_equal(said + FRAME_HEADER_SIZE, "answer");
    end(&s);
}

/* While the large frames of others have the memory, no more than 64 KiB of one are read, and all of
 * it once they have given it back. */
static void test_memory_for_large_frames(void **state)
{
    struct scene s;
    static char frame[(300 << 10) + FRAME_HEADER_SIZE] = "\0\x4\xb0"; /* 300 KiB, and a NUL */
    size_t n = 0;
    (void)state;
    begin(&s);
    s.callers.held += (size_t)1 << 40;
    for (int i = 0; i < 1000; i++) {
        ssize_t sent = write(s.fd, frame + n, sizeof(frame) - n);
        n += sent > 0 ? (size_t)sent : 0;
        turn(&s);
    }
    assert_int_equal(s.n_seen, 0);
    assert_in_range(evbuffer_get_length(s.caller->in), 64 << 10, 128 << 10);
    s.callers.held -= (size_t)1 << 40;
    callers_sweep(&s.callers);
    while (n < sizeof(frame)) {
        ssize_t sent = write(s.fd, frame + n, sizeof(frame) - n);
        n += sent > 0 ? (size_t)sent : 0;
        turn(&s);
    }
    TURN_UNTIL(&s, s.n_seen == 1);
    assert_int_equal(s.largest, 300 << 10);
    end(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_frames_in_pieces),
        cmocka_unit_test(test_many_frames_in_one_write),
        cmocka_unit_test(test_lengths_that_are_refused),
        cmocka_unit_test(test_half_a_frame),
        cmocka_unit_test(test_a_refusal_is_read),
        cmocka_unit_test(test_a_parked_caller_gets_its_frame_again),
        cmocka_unit_test(test_a_parked_caller_that_goes_away),
        cmocka_unit_test(test_replies_that_stay_unread),
        cmocka_unit_test(test_replies_that_stay_unread_for_too_long),
        cmocka_unit_test(test_half_close),
        cmocka_unit_test(test_memory_for_large_frames),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
