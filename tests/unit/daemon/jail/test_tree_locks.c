/* SPDX-License-Identifier: MIT */
/* How many locks the processes hold that a /proc tells of. */
#include "daemon/base/clock.h"
#include "daemon/jail/tree_locks.h"
#include "daemon/jail/wipe.h"
#include "proto/util.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#define HELD "1: POSIX  ADVISORY  READ 18325 00:06:3 2 2\n"
#define AWAITED "1: -> FLOCK  ADVISORY  WRITE 7 00:06:3 0 EOF\n"
#define NOBODYS "1: OFDLCK ADVISORY  WRITE -1 00:06:3 0 EOF\n"

struct fixture {
    char path[32];
    int proc;
};

static int set_up(void **state)
{
    static struct fixture f;
    (void)snprintf(f.path, sizeof(f.path), "/tmp/rubricd-test-XXXXXX");
    if (!mkdtemp(f.path))
        return -1;
    f.proc = open(f.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    *state = &f;
    return f.proc < 0 ? -1 : 0;
}

static int tear_down(void **state)
{
    const struct fixture *f = *state;
    close_fd(f->proc);
    return wipe_tree(AT_FDCWD, f->path);
}

/* Has /proc/locks hold LINE, COUNT times, after what is there. */
static void add(const struct fixture *f, const char *line, size_t count)
{
    int fd = openat(f->proc, "locks", O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    FILE *file = fdopen(fd, "a");
    assert_non_null(file);
    for (size_t i = 0; i < count; i++)
        assert_true(fputs(line, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

/* Looks as if the time for it had come. */
static bool exceeds(const struct fixture *f)
{
    struct tree_locks locks = {.is_bounded = true, .next_ns = 1};
    assert_true(tree_locks_look(&locks, f->proc) >= (int)TREE_LOCKS_MS);
    return locks.is_exceeded;
}

static void test_they_are_counted(void **state)
{
    const struct fixture *f = *state;
    add(f, HELD, TREE_LOCKS_MAX - 1);
    add(f, AWAITED, 1);
    assert_false(exceeds(f));
    add(f, HELD, 1);
    assert_true(exceeds(f));
}

/* Such locks are the host's, too. */
static void test_nobodys_do_not_count(void **state)
{
    const struct fixture *f = *state;
    add(f, NOBODYS, TREE_LOCKS_MAX + 1);
    assert_false(exceeds(f));
}

static void test_a_proc_without_locks(void **state)
{
    assert_false(exceeds(*state));
}

static void test_when_it_looks(void **state)
{
    const struct fixture *f = *state;
    struct tree_locks locks = {.is_bounded = false};
    add(f, HELD, TREE_LOCKS_MAX + 1);
    assert_int_equal(tree_locks_look(&locks, f->proc), -1);
    assert_true(locks.next_ns == 0);
    locks.is_bounded = true;
    for (int i = 0; i < 2; i++) { /* not at first, and then not too early */
        assert_in_range(tree_locks_look(&locks, f->proc), 1, TREE_LOCKS_MS);
        assert_in_range(locks.next_ns, clock_now_ns(), clock_now_ns() + TREE_LOCKS_MS * NS_PER_MS);
        assert_false(locks.is_exceeded);
    }
    locks.next_ns -= TREE_LOCKS_MS * NS_PER_MS;
    assert_true(tree_locks_look(&locks, f->proc) >= (int)TREE_LOCKS_MS);
    assert_true(locks.is_exceeded);
    assert_int_equal(tree_locks_look(&locks, f->proc), -1); /* it stays that */
}

/* Nobody on the host takes a lock while they are listed. */
static void test_a_long_list(void **state)
{
    const struct fixture *f = *state;
    struct tree_locks locks = {.is_bounded = true, .next_ns = 1};
    add(f, NOBODYS, 400000);
    uint64_t before_ns = clock_now_ns();
    int next_ms = tree_locks_look(&locks, f->proc);
    uint64_t most_ms = (clock_now_ns() - before_ns) * TREE_LOCKS_SHARE / NS_PER_MS;
    assert_in_range(next_ms, TREE_LOCKS_MS + 1, most_ms);
    assert_in_range(locks.next_ns, clock_now_ns() + TREE_LOCKS_MS * NS_PER_MS, UINT64_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_they_are_counted, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_nobodys_do_not_count, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_proc_without_locks, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_when_it_looks, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_long_list, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
