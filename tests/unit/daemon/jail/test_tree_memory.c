/* SPDX-License-Identifier: MIT */
/* How much memory a tree of processes has, read from a directory like /proc. */
#include "daemon/base/clock.h"
#include "daemon/jail/tree_memory.h"
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

#define KIB UINT64_C(1024)
#define TWIN 5
#define LONG_MS 20 /* that a comparison takes */
#define PASS 1234

struct fixture {
    char path[32];
    int proc;
};

/* Pairs of processes that run in the same memory. */
static pid_t same[4][2];

static int set_up(void **state)
{
    static struct fixture f;
    memset(same, 0, sizeof(same));
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

static void write_file(const struct fixture *f, const char *path, const char *text)
{
    int fd = openat(f->proc, path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    close_fd(fd);
}

static void add_directory(const struct fixture *f, const char *path)
{
    assert_true(mkdirat(f->proc, path, 0700) == 0 || errno == EEXIST);
}

/* A process or thread that has as many KiB of each. */
struct memory {
    unsigned rss, tables, swap, pss;
    unsigned parent;
};

static void add(const struct fixture *f, const char *pid, struct memory has)
{
    char path[64], text[256];
    add_directory(f, pid);
    (void)snprintf(path, sizeof(path), "%s/status", pid);
    (void)snprintf(
        text, sizeof(text),
        "Name:\tx\nPid:\t1\nPPid:\t%u\nVmSize:\t 999999 kB\nVmRSS:\t%8u kB\nRssAnon:\t 9 kB\n"
        "VmPTE:\t%8u kB\nVmSwap:\t%8u kB\nThreads:\t1\n",
        has.parent, has.rss, has.tables, has.swap);
    write_file(f, path, text);
    (void)snprintf(path, sizeof(path), "%s/smaps_rollup", pid);
    (void)snprintf(text, sizeof(text),
                   "0-f ---p 00000000 00:00 0 [rollup]\nRss: %u kB\nPss: %u kB\nPss_Dirty: 1 kB\n"
                   "Swap: 7 kB\nSwapPss: %u kB\nLocked: 0 kB\n",
                   has.rss, has.pss, has.swap);
    write_file(f, path, text);
}

static bool is_same(pid_t one, pid_t other, uint64_t pass)
{
    assert_int_equal(pass, PASS);
    for (size_t i = 0; i < ARRAY_SIZE(same); i++)
        if (same[i][0] == one && same[i][1] == other)
            return true;
    return false;
}

static int exceeds(const struct fixture *f, uint64_t bytes, struct pollfd *until)
{
    struct tree_memory tree = {.proc = f->proc, .twin = TWIN, .pass = PASS, .is_same = is_same};
    return tree_memory_exceeds(&tree, bytes, until, until ? 1 : 0);
}

static void check(const struct fixture *f, uint64_t kib)
{
    assert_int_equal(exceeds(f, kib * KIB, NULL), 0);
    assert_int_equal(exceeds(f, kib * KIB - 1, NULL), 1);
}

static void test_all_but_the_jail_and_its_twin(void **state)
{
    const struct fixture *f = *state;
    assert_int_equal(exceeds(f, 0, NULL), 0);
    add(f, "1", (struct memory){.rss = 5000, .pss = 5000});
    add(f, "5", (struct memory){.rss = 5000, .pss = 5000});
    add_directory(f, "sys");
    assert_int_equal(exceeds(f, 0, NULL), 0);
    add(f, "7", (struct memory){.rss = 100, .pss = 100});
    add(f, "8", (struct memory){.rss = 50, .pss = 50});
    check(f, 150);
}

static void test_shared_pages_count_once(void **state)
{
    const struct fixture *f = *state;
    add(f, "7", (struct memory){.rss = 100, .pss = 50});
    add(f, "8", (struct memory){.rss = 100, .pss = 50});
    check(f, 100);
}

/* Both have all of it, and its tables. */
static void test_a_child_in_the_memory_of_its_parent(void **state)
{
    const struct fixture *f = *state;
    add(f, "7", (struct memory){.parent = 1, .rss = 100, .pss = 100, .tables = 30});
    add(f, "8", (struct memory){.parent = 7, .rss = 100, .pss = 100, .tables = 30});
    add(f, "9", (struct memory){.parent = 8, .rss = 100, .pss = 100, .tables = 30});
    check(f, 390);
    memcpy(same, (pid_t[][2]){{8, 7}}, 1 * sizeof(*same));
    check(f, 260);
    memcpy(same, (pid_t[][2]){{8, 7}, {9, 8}}, 2 * sizeof(*same));
    check(f, 130);
}

/* It counts, unless its parent does. */
static void test_a_child_in_the_memory_of_another(void **state)
{
    const struct fixture *f = *state;
    add(f, "1", (struct memory){.rss = 100, .pss = 100});
    add(f, "5", (struct memory){.parent = 1, .rss = 100, .pss = 100});
    add(f, "7", (struct memory){.parent = 1, .rss = 100, .pss = 100});
    add(f, "8", (struct memory){.parent = 5, .rss = 100, .pss = 100});
    add(f, "9", (struct memory){.parent = 6, .rss = 100, .pss = 100}); /* has just ended */
    memcpy(same, (pid_t[][2]){{7, 1}, {8, 5}, {9, 6}, {9, 7}}, sizeof(same));
    check(f, 300);
}

/* The parent's memory is that of a thread that lives. */
static void test_a_child_of_a_process_whose_first_thread_has_ended(void **state)
{
    const struct fixture *f = *state;
    add_directory(f, "7");
    add_directory(f, "7/task");
    add_directory(f, "7/task/8");
    write_file(f, "7/status", "Name:\tx\nState:\tZ (zombie)\nPPid:\t1\nThreads:\t2\n");
    add(f, "8", (struct memory){.parent = 1, .rss = 100, .pss = 100}); /* which `task` lists */
    add(f, "9", (struct memory){.parent = 7, .rss = 100, .pss = 100});
    memcpy(same, (pid_t[][2]){{9, 8}}, 1 * sizeof(*same));
    check(f, 200);
}

static void test_page_tables(void **state)
{
    const struct fixture *f = *state;
    add(f, "7", (struct memory){.rss = 100, .pss = 100, .tables = 3000});
    add(f, "8", (struct memory){.rss = 10, .pss = 10, .tables = 40});
    check(f, 3150);
}

static void test_what_is_swapped_out(void **state)
{
    const struct fixture *f = *state;
    add(f, "7", (struct memory){.rss = 10, .pss = 10, .swap = 900});
    check(f, 910);
}

/* Of a process whose first thread has ended others may live; tests/hostile has such processes. */
static void test_a_process_that_has_ended(void **state)
{
    const struct fixture *f = *state;
    add_directory(f, "7");
    add_directory(f, "7/task");
    add_directory(f, "7/task/7");
    write_file(f, "7/status", "Name:\tx\nState:\tZ (zombie)\nThreads:\t1\n");
    assert_int_equal(exceeds(f, 0, NULL), -EAGAIN);
    add(f, "8", (struct memory){.rss = 1, .pss = 1});
    assert_int_equal(exceeds(f, 1 * KIB, NULL), -EAGAIN);
    assert_int_equal(exceeds(f, 1 * KIB - 1, NULL), 1);
}

/* The others have too little for that, but nobody knows of all. */
static void test_what_cannot_be_read(void **state)
{
    const struct fixture *f = *state;
    add(f, "7", (struct memory){.rss = 100, .pss = 10});
    add(f, "8", (struct memory){.rss = 100, .pss = 10, .tables = 20});
    assert_int_equal(unlinkat(f->proc, "8/smaps_rollup", 0), 0);
    assert_int_equal(exceeds(f, 50 * KIB, NULL), -EAGAIN);
    assert_int_equal(exceeds(f, 30 * KIB, NULL), -EAGAIN);
    assert_int_equal(exceeds(f, 30 * KIB - 1, NULL), 1); /* with its tables */
    assert_int_equal(exceeds(&(struct fixture){.proc = -1}, 0, NULL), -EAGAIN);
}

/* Counting stops as soon as the caller has something else to do. */
static void test_something_else_to_do(void **state)
{
    const struct fixture *f = *state;
    int fds[2];
    assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
    struct pollfd until = {.fd = fds[0], .events = POLLIN};
    add(f, "7", (struct memory){.rss = 100, .pss = 100});
    assert_int_equal(exceeds(f, 50 * KIB, &until), 1);
    assert_int_equal(write(fds[1], "x", 1), 1);
    assert_int_equal(exceeds(f, 50 * KIB, &until), -EINTR);
    close_fd(fds[0]);
    close_fd(fds[1]);
}

static bool is_same_after_long(pid_t one, pid_t other, uint64_t pass)
{
    uint64_t until_ns = clock_cpu_ns() + LONG_MS * NS_PER_MS;
    while (clock_cpu_ns() < until_ns)
        continue;
    return is_same(one, other, pass);
}

/* A job that makes counting take long is not waited for. */
static void test_what_takes_long(void **state)
{
    const struct fixture *f = *state;
    struct tree_memory tree = {.proc = f->proc, .pass = PASS, .is_same = is_same_after_long};
    add(f, "7", (struct memory){.rss = 100, .pss = 50});
    add(f, "8", (struct memory){.parent = 7, .rss = 100, .pss = 50});
    assert_int_equal(tree_memory_exceeds(&tree, 150 * KIB, NULL, 0), 0);
    assert_false(tree.is_suspect);
    tree.cpu_ms = LONG_MS / 2;
    assert_int_equal(tree_memory_exceeds(&tree, 150 * KIB, NULL, 0), 1);
    assert_int_equal(tree_memory_exceeds(&tree, 200 * KIB, NULL, 0), 0); /* no need to compare */
}

static int times_held;
static bool is_held;

static void note_hold(bool holds)
{
    assert_true(holds != is_held);
    is_held = holds;
    times_held += holds;
}

static bool is_same_after_very_long(pid_t one, pid_t other, uint64_t pass)
{
    (void)nanosleep(&(struct timespec){.tv_nsec = (TREE_MEMORY_HOLD_MS + LONG_MS) * NS_PER_MS},
                    NULL);
    return is_same(one, other, pass);
}

/* The processes are held for the rest of a count that has taken long, whatever it finds. */
static void test_processes_are_held(void **state)
{
    const struct fixture *f = *state;
    struct pollfd until = {.fd = -1};
    struct tree_memory tree = {
        .proc = f->proc, .pass = PASS, .is_same = is_same_after_very_long, .hold = note_hold};
    times_held = 0;
    add(f, "7", (struct memory){.parent = 9, .rss = 100, .pss = 50});
    add(f, "8", (struct memory){.parent = 9, .rss = 100, .pss = 50});
    add(f, "9", (struct memory){.parent = 1, .rss = 100, .pss = 50});
    assert_int_equal(tree_memory_exceeds(&tree, 400 * KIB, NULL, 0), 0); /* at once */
    assert_true(times_held == 0 && !tree.is_suspect && tree_memory_let_go(&tree) == 0);
    assert_int_equal(tree_memory_exceeds(&tree, 200 * KIB, &until, 1), 0);
    assert_true(times_held == 1 && is_held && tree.is_suspect);
    assert_int_equal(tree_memory_exceeds(&tree, 100 * KIB, &until, 1), 1);
    assert_int_equal(times_held, 1); /* they are held already */
    assert_true(tree_memory_let_go(&tree) >= TREE_MEMORY_HOLD_MS && !is_held);
    assert_int_equal(tree_memory_exceeds(&tree, 400 * KIB, NULL, 0), 0);
    assert_false(tree.is_suspect); /* the next count begins without that */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_all_but_the_jail_and_its_twin, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_shared_pages_count_once, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_child_in_the_memory_of_its_parent, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_a_child_in_the_memory_of_another, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_child_of_a_process_whose_first_thread_has_ended,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_page_tables, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_what_is_swapped_out, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_process_that_has_ended, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_what_cannot_be_read, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_something_else_to_do, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_what_takes_long, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_processes_are_held, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
