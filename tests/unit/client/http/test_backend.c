/* SPDX-License-Identifier: MIT */
#include "client/http/backend.h"
#include "proto/frame.h"
#include "proto/util.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#define HELLO                                               \
    "{\"type\":\"hello\",\"version\":\"0\",\"protocol\":1," \
    "\"limits\":{\"max_frame\":65536,\"jobs_per_client\":1,\"slots\":1}}"
#define MESSAGE_SIZE 200
/* More than the time of an answer and its grace. */
#define LATE_S 60

/* A daemon that says what the test has it say. */
struct fixture {
    struct event_base *base;
    struct backend *backend;
    char directory[32], path[64];
    int listener, peer;
    struct asker asker;
    unsigned told;
    bool greeted;
    bool answered;
    char why[MESSAGE_SIZE];
};

/* libevent asks this for the time, so that a loop can be late and no test has to wait for it. */
static time_t late_s;

__attribute__((visibility("default"))) int clock_gettime(clockid_t clock, struct timespec *ret)
{
    long r = syscall(SYS_clock_gettime, clock, ret);
    if (r == 0)
        ret->tv_sec += late_s;
    return (int)r;
}

static void on_told(struct asker *asker, struct message *message, const char *why)
{
    struct fixture *f = container_of(asker, struct fixture, asker);
    f->told++;
    f->answered = message != NULL;
    (void)snprintf(f->why, sizeof(f->why), "%s", why ? why : "");
}

static void say(struct fixture *f, const char *text)
{
    uint8_t header[FRAME_HEADER_SIZE];
    frame_write_header(header, (uint32_t)strlen(text));
    assert_int_equal(write(f->peer, header, sizeof(header)), sizeof(header));
    assert_int_equal(write(f->peer, text, strlen(text)), strlen(text));
}

/* Reads the question; it has been sent. */
static void hear(struct fixture *f)
{
    char text[MESSAGE_SIZE];
    ssize_t n = recv(f->peer, text, sizeof(text) - 1, 0);
    assert_true(n > 0);
    text[n] = '\0';
    assert_non_null(strstr(text + FRAME_HEADER_SIZE, "ping"));
}

static void turn(struct fixture *f)
{
    assert_int_equal(event_base_loop(f->base, EVLOOP_ONCE), 0);
}

static void on_greeted(_unused_ const struct message *hello, void *userdata)
{
    *(bool *)userdata = true;
}

/* Accepts the backend, and greets it. */
static void greet(struct fixture *f)
{
    f->greeted = false;
    f->peer = accept(f->listener, NULL, NULL);
    assert_true(f->peer >= 0);
    say(f, HELLO);
    while (!f->greeted)
        turn(f);
}

static int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    assert_non_null(f);
    strcpy(f->directory, "/tmp/backend.XXXXXX");
    assert_non_null(mkdtemp(f->directory));
    (void)snprintf(f->path, sizeof(f->path), "%s/s", f->directory);
    strcpy(address.sun_path, f->path);
    f->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(f->listener, (struct sockaddr *)&address, sizeof(address)), 0);
    assert_int_equal(listen(f->listener, 1), 0);
    f->base = event_base_new();
    const struct backend_host host = {.base = f->base,
                                      .socket = f->path,
                                      .patience_ms = 1000 * 1000,
                                      .jobs_per_feeder = 1,
                                      .greeted = on_greeted,
                                      .userdata = &f->greeted};
    assert_int_equal(backend_new(&host, &f->backend), 0);
    assert_int_equal(backend_connect(f->backend), 0);
    greet(f);
    f->asker.told = on_told;
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    late_s = 0;
    (void)backend_free(f->backend);
    event_base_free(f->base);
    if (f->peer >= 0)
        (void)close(f->peer);
    (void)close(f->listener);
    (void)unlink(f->path);
    (void)rmdir(f->directory);
    free(f);
    return 0;
}

/* What came before in the same turn of the loop took longer than an answer may. */
static void test_a_late_loop_does_not_blame_the_daemon(void **state)
{
    struct fixture *f = *state;
    backend_ask(f->backend, ASK_PING, &f->asker);
    late_s += LATE_S;
    turn(f);
    assert_int_equal(f->told, 0);
    hear(f);
    say(f, "{\"type\":\"pong\"}");
    late_s += LATE_S;
    while (f->told == 0)
        turn(f);
    assert_true(f->answered);
    backend_ask(f->backend, ASK_PING, &f->asker);
    turn(f);
    hear(f);
    assert_int_equal(f->told, 1);
}

/* The second time as the first. */
static void test_a_daemon_that_does_not_answer(void **state)
{
    struct fixture *f = *state;
    backend_ask(f->backend, ASK_PING, &f->asker);
    turn(f);
    hear(f);
    late_s += LATE_S;
    turn(f);
    assert_int_equal(f->told, 0);
    late_s += LATE_S;
    turn(f);
    assert_int_equal(f->told, 1);
    assert_false(f->answered);
    assert_string_equal(f->why, "the daemon does not answer");
}

/* Loses the daemon while a question waits, which is told WHY. */
static void lose(struct fixture *f, const char *why)
{
    unsigned told = f->told;
    backend_ask(f->backend, ASK_PING, &f->asker);
    turn(f);
    hear(f);
    assert_int_equal(close(f->peer), 0);
    while (f->told == told)
        turn(f);
    assert_string_equal(f->why, why);
}

/* What a daemon said when it went explains no loss of the next one. */
static void test_each_daemon_has_its_own_words(void **state)
{
    struct fixture *f = *state;
    say(f, "{\"type\":\"bye\",\"reason\":\"draining\",\"message\":\"the daemon stops\"}");
    lose(f, "rubricd ended the connection: draining: the daemon stops");
    turn(f); /* it connects again */
    greet(f);
    lose(f, "rubricd closed the connection");
    f->peer = -1;
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_a_late_loop_does_not_blame_the_daemon),
        TEST(test_a_daemon_that_does_not_answer),
        TEST(test_each_daemon_has_its_own_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
