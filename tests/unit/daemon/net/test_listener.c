/* SPDX-License-Identifier: MIT */
/* Tests making the listening socket: who gets it, and that nothing of it is left if it cannot be
 * given to its owner. */
#include "daemon/base/clock.h"
#include "daemon/net/listener.h"
#include "tests/unit/scenario.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#define NOBODY 65534
#define STRANGER 54321

struct place {
    char directory[32], path[48];
    struct log log;
};

static struct place *place_new(void)
{
    struct place *place = calloc(1, sizeof(*place));
    assert_non_null(place);
    (void)snprintf(place->directory, sizeof(place->directory), "/tmp/test_listener.XXXXXX");
    assert_non_null(mkdtemp(place->directory));
    (void)snprintf(place->path, sizeof(place->path), "%s/s", place->directory);
    if (geteuid() == 0)
        assert_int_equal(chown(place->directory, NOBODY, NOBODY), 0);
    log_init(&place->log, -1, CONFIG_LOG_PLAIN);
    return place;
}

static void place_free(struct place *place)
{
    assert_int_equal(rmdir(place->directory), 0); /* no socket is left in it */
    log_deinit(&place->log);
    free(place);
}

/* An account that is not root may give nothing away. */
static int bind_for_a_stranger(void *argument)
{
    struct place *place = argument;
    struct account owner = {.name = "stranger", .uid = STRANGER, .gid = STRANGER};
    struct fault fault = FAULT_NULL;
    char expected[128];
    if (geteuid() == 0)
        CHECK(setresgid(NOBODY, NOBODY, NOBODY) == 0 && setresuid(NOBODY, NOBODY, NOBODY) == 0);
    CHECK(listener_bind(place->path, 0666, "", &owner, &place->log, &fault) == -EPERM);
    (void)snprintf(expected, sizeof(expected), "%s: cannot be given to stranger: %s", place->path,
                   strerror(EPERM));
    CHECK(strcmp(fault.text, expected) == 0);
    CHECK(access(place->path, F_OK) < 0 && errno == ENOENT);
    return 0;
}

static void test_a_socket_that_cannot_be_given_away(void **state)
{
    struct place *place = place_new();
    (void)state;
    run_scenario(bind_for_a_stranger, place);
    place_free(place);
}

/* Only root may give a socket to a group that it is not in. For others that is a warning. */
static int bind_for_a_group(void *argument)
{
    struct place *place = argument;
    struct fault fault = FAULT_NULL;
    struct stat st;
    if (geteuid() == 0)
        CHECK(setresgid(NOBODY, NOBODY, NOBODY) == 0 && setresuid(NOBODY, NOBODY, NOBODY) == 0);
    int fd = listener_bind(place->path, 0640, "root", NULL, &place->log, &fault);
    CHECK(fd >= 0 && stat(place->path, &st) == 0);
    CHECK((st.st_mode & 07777) == 0640 && st.st_uid == geteuid() && st.st_gid == getegid());
    struct fault second = FAULT_NULL;
    CHECK(listener_bind(place->path, 0640, "", NULL, &place->log, &second) == -EADDRINUSE);
    CHECK(strstr(second.text, "a daemon is listening there already") != NULL);
    close_fd(fd);
    /* Nobody listens any more, so the socket that is left is replaced. */
    fd = listener_bind(place->path, 0600, "", NULL, &place->log, &second);
    CHECK(fd >= 0 && stat(place->path, &st) == 0 && (st.st_mode & 07777) == 0600);
    close_fd(fd);
    return unlink(place->path);
}

static void test_a_group_that_is_refused(void **state)
{
    struct place *place = place_new();
    (void)state;
    run_scenario(bind_for_a_group, place);
    place_free(place);
}

/* --- accepting ----------------------------------------------------------------------------- */

#define CLIENTS (LISTENER_ACCEPTS_MAX + 10)

struct crowd {
    struct event_base *base;
    struct listener listener;
    int client[CLIENTS];
    unsigned accepted;
    bool takes_long; /* each takes the time of a turn */
};

static void on_accepted(int fd, void *userdata)
{
    struct crowd *crowd = userdata;
    uint64_t began_ns = clock_now_ns();
    crowd->accepted++;
    close_fd(fd);
    while (crowd->takes_long && clock_now_ns() - began_ns < LISTENER_BUDGET_MS * NS_PER_MS)
        continue;
}

/* CLIENTS have connected before the first is accepted. */
static struct crowd *crowd_new(struct place *place)
{
    struct crowd *crowd = calloc(1, sizeof(*crowd));
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    struct fault fault = FAULT_NULL;
    assert_non_null(crowd);
    (void)snprintf(address.sun_path, sizeof(address.sun_path), "%s", place->path);
    int fd = listener_bind(place->path, 0600, "", NULL, &place->log, &fault);
    assert_true(fd >= 0);
    crowd->base = event_base_new();
    assert_int_equal(listener_init(&crowd->listener, crowd->base, &place->log, fd, place->path,
                                   on_accepted, crowd),
                     0);
    for (size_t i = 0; i < CLIENTS; i++) {
        crowd->client[i] = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        assert_int_equal(
            connect(crowd->client[i], (const struct sockaddr *)&address, sizeof(address)), 0);
    }
    return crowd;
}

static void crowd_free(struct crowd *crowd)
{
    for (size_t i = 0; i < CLIENTS; i++)
        close_fd(crowd->client[i]);
    listener_deinit(&crowd->listener);
    event_base_free(crowd->base);
    free(crowd);
}

static unsigned accepted_in_a_turn(struct crowd *crowd)
{
    unsigned before = crowd->accepted;
    assert_true(event_base_loop(crowd->base, EVLOOP_ONCE | EVLOOP_NONBLOCK) >= 0);
    return crowd->accepted - before;
}

/* Whoever connects behind a crowd does not wait a turn of the loop for each of it. */
static void test_many_are_accepted_in_a_turn(void **state)
{
    struct place *place = place_new();
    struct crowd *crowd = crowd_new(place);
    (void)state;
    assert_in_range(accepted_in_a_turn(crowd), 2, LISTENER_ACCEPTS_MAX); /* a busy host: fewer */
    while (crowd->accepted < CLIENTS)
        assert_true(accepted_in_a_turn(crowd) > 0);
    assert_int_equal(accepted_in_a_turn(crowd), 0);
    crowd_free(crowd);
    place_free(place);
}

static void test_a_crowd_leaves_time_to_others(void **state)
{
    struct place *place = place_new();
    struct crowd *crowd = crowd_new(place);
    (void)state;
    crowd->takes_long = true;
    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(accepted_in_a_turn(crowd), 1);
    crowd_free(crowd);
    place_free(place);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_socket_that_cannot_be_given_away),
        cmocka_unit_test(test_a_group_that_is_refused),
        cmocka_unit_test(test_many_are_accepted_in_a_turn),
        cmocka_unit_test(test_a_crowd_leaves_time_to_others),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
