/* SPDX-License-Identifier: MIT */
/* What the jail looks at while a job runs, and when it looks again. */
#include "daemon/base/clock.h"
#include "daemon/jail/looks.h"
#include "daemon/jail/wipe.h"
#include "proto/util.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define MIB (UINT64_C(1) << 20)
#define LOOK_MS 50

struct fixture {
    char path[32];
    int proc; /* a directory like /proc, with one process of 100 MiB */
    struct work work;
};

static void write_file(const struct fixture *f, const char *path, const char *text)
{
    int fd = openat(f->proc, path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    close_fd(fd);
}

static int set_up(void **state)
{
    static struct fixture f;
    f.work = (struct work)WORK_NULL;
    (void)snprintf(f.path, sizeof(f.path), "/tmp/rubricd-test-XXXXXX");
    if (!mkdtemp(f.path))
        return -1;
    f.proc = open(f.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (f.proc < 0 || mkdirat(f.proc, "7", 0700) < 0)
        return -1;
    write_file(&f, "7/status", "Name:\tx\nPPid:\t1\nVmRSS:\t 102400 kB\nVmPTE:\t 0 kB\n");
    write_file(&f, "7/smaps_rollup", "0-f ---p 00000000 00:00 0 [rollup]\nPss: 102400 kB\n");
    *state = &f;
    return 0;
}

static int tear_down(void **state)
{
    const struct fixture *f = *state;
    close_fd(f->proc);
    return wipe_tree(AT_FDCWD, f->path);
}

static int take(const struct fixture *f, struct looks *looks)
{
    return looks_take(looks, &f->work, f->proc, (struct tree_time_except){.pid = 0}, NULL, 0);
}

/* The next look, at once. */
static int take_again(const struct fixture *f, struct looks *looks)
{
    looks->next_ns = 0;
    return take(f, looks);
}

static void test_there_is_a_time_between_two_looks(void **state)
{
    const struct fixture *f = *state;
    struct looks looks = {.memory_bytes = 200 * MIB};
    uint64_t now_ns = clock_now_ns();
    assert_int_equal(take(f, &looks), LOOK_MS);
    assert_in_range(looks.next_ns, now_ns + LOOK_MS * NS_PER_MS, UINT64_MAX);
    assert_false(looks.took_too_much);
    /* It is too early, whatever there is to see. */
    looks.memory_bytes = 50 * MIB;
    assert_in_range(take(f, &looks), 1, LOOK_MS + 1);
    assert_false(looks.took_too_much);
    assert_int_equal(take_again(f, &looks), LOOK_MS);
    assert_true(looks.took_too_much);
}

static void test_memory_is_not_looked_at_without_a_limit(void **state)
{
    const struct fixture *f = *state;
    struct looks looks = {.memory_bytes = 0};
    assert_int_equal(take(f, &looks), LOOK_MS); /* the disk is */
    assert_false(looks.took_too_much);
}

/* What was too much once stays that. */
static void test_a_job_took_too_much(void **state)
{
    const struct fixture *f = *state;
    struct looks looks = {.memory_bytes = 50 * MIB};
    (void)take(f, &looks);
    assert_true(looks.took_too_much);
    write_file(f, "7/status", "Name:\tx\nPPid:\t1\nVmRSS:\t 1024 kB\nVmPTE:\t 0 kB\n");
    (void)take_again(f, &looks);
    assert_true(looks.took_too_much);
}

/* Nothing has run since the last sum, which was of all. */
static void test_a_job_at_rest_is_not_summed_up_again(void **state)
{
    const struct fixture *f = *state;
    struct looks looks = {.memory_bytes = 50 * MIB, .known = {.is_on = true}};
    looks.known.looked_ns = clock_now_ns(); /* so it does not look who has ended */
    (void)take(f, &looks);
    assert_false(looks.took_too_much);
    looks.known.has_stirred = true;
    looks.known.looked_ns = clock_now_ns();
    (void)take_again(f, &looks);
    assert_true(looks.took_too_much && !looks.known.has_stirred);
}

/* One process could not be read: the next look sums up again. */
static void test_a_sum_that_is_not_whole(void **state)
{
    const struct fixture *f = *state;
    struct looks looks = {.memory_bytes = 200 * MIB, .known = {.is_on = true}};
    looks.known.has_stirred = true;
    looks.known.looked_ns = clock_now_ns();
    assert_int_equal(mkdirat(f->proc, "8", 0700), 0);
    (void)take(f, &looks);
    assert_true(looks.known.has_stirred && !looks.took_too_much);
    assert_int_equal(unlinkat(f->proc, "8", AT_REMOVEDIR), 0);
    looks.known.looked_ns = clock_now_ns();
    (void)take_again(f, &looks);
    assert_false(looks.known.has_stirred);
}

/* Once it is known that the disk was full, there is nothing more to find out; of two disks, of
 * both. */
static void test_there_may_be_nothing_more_to_see(void **state)
{
    struct fixture *f = *state;
    struct looks looks = {.met_full_disk = true};
    assert_int_equal(take(f, &looks), -1);
    f->work.is_apart_used = true;
    assert_int_equal(take_again(f, &looks), LOOK_MS);
    looks.candidate_met_full_disk = true;
    assert_int_equal(take_again(f, &looks), -1);
    looks.memory_bytes = 200 * MIB;
    assert_int_equal(take_again(f, &looks), LOOK_MS);
    looks.took_too_much = true;
    assert_int_equal(take_again(f, &looks), -1);
    looks.locks.is_bounded = true;
    assert_in_range(take_again(f, &looks), TREE_LOCKS_MS - 5, TREE_LOCKS_MS);
    looks.locks.is_exceeded = true;
    assert_int_equal(take_again(f, &looks), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_there_is_a_time_between_two_looks, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_memory_is_not_looked_at_without_a_limit, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_a_job_took_too_much, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_job_at_rest_is_not_summed_up_again, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_a_sum_that_is_not_whole, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_there_may_be_nothing_more_to_see, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
