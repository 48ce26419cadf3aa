/* SPDX-License-Identifier: MIT */
/* Tests what the daemon keeps of its environment, and that nobody can read the rest any more. */
#include "daemon/base/environment.h"
#include "tests/unit/scenario.h"

#include <fcntl.h>
#include <unistd.h>

static const char *const given[] = {
    "TOKEN=secret",
    "NOTIFY_SOCKET=/run/n",
    "WATCHDOG_USEC=1",
    "WATCHDOG_PID=2",
    "LISTEN_FDS=3",
    "LISTEN_PID=4",
    "LISTEN_FDNAMES=five",
    "JOURNAL_STREAM=6:7",
    "NOTIFY_SOCKETS=secret2",
    "TMPDIR=/tmp/x",
    "container=podman",
    "KUBERNETES_SERVICE_HOST=10.0.0.1",
    NULL,
};

static const struct {
    const char *name, *value;
} kept[] = {
    {"NOTIFY_SOCKET", "/run/n"}, {"WATCHDOG_USEC", "1"},
    {"WATCHDOG_PID", "2"},       {"LISTEN_FDS", "3"},
    {"LISTEN_PID", "4"},         {"LISTEN_FDNAMES", "five"},
    {"JOURNAL_STREAM", "6:7"},   {"TMPDIR", "/tmp/x"},
    {"container", "podman"},     {"KUBERNETES_SERVICE_HOST", "10.0.0.1"},
};

/* What other processes of this user see of it. */
static int nothing_is_readable(void)
{
    char text[4096];
    _cleanup_close_ int fd = open("/proc/self/environ", O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text));
    CHECK(n > 0);
    for (ssize_t i = 0; i < n; i++)
        CHECK(text[i] == '\0');
    return 0;
}

/* In a program that was started with it. */
static int check(void)
{
    size_t count = 0;
    CHECK(getenv("TOKEN") && getenv("NOTIFY_SOCKETS"));
    CHECK_EQUAL(environment_forget(), 0);
    for (size_t i = 0; i < ARRAY_SIZE(kept); i++) {
        const char *value = getenv(kept[i].name);
        CHECK(value && strcmp(value, kept[i].value) == 0);
    }
    for (char **entry = environ; entry && *entry; entry++)
        count++;
    CHECK_EQUAL(count, ARRAY_SIZE(kept));
    return nothing_is_readable();
}

static int what_is_kept(void)
{
    static const char *const argv[] = {"test", "check", NULL};
    (void)execve("/proc/self/exe", (char *const *)(uintptr_t)argv, (char *const *)(uintptr_t)given);
    CHECK_EQUAL(errno, 0);
    return 1;
}

/* An empty environment stays one. */
static int nothing_to_keep(void)
{
    CHECK(clearenv() == 0);
    CHECK_EQUAL(environment_forget(), 0);
    CHECK(!environ || !*environ);
    return 0;
}

int main(int argc, char *argv[])
{
    const struct CMUnitTest tests[] = {
        SCENARIO(what_is_kept),
        SCENARIO(nothing_to_keep),
    };
    if (argc > 1 && strcmp(argv[1], "check") == 0)
        return check();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
