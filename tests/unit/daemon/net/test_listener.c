/* SPDX-License-Identifier: MIT */
/* Tests making the listening socket: who gets it, and that nothing of it is left if it cannot be
 * given to its owner. */
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_socket_that_cannot_be_given_away),
        cmocka_unit_test(test_a_group_that_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
