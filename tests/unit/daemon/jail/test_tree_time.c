/* SPDX-License-Identifier: MIT */
/* How long a tree of processes has run and waited. The processes starve each other: all that
 * compute are bound to one CPU, so that the rest of the host does not matter. */
#include "daemon/base/clock.h"
#include "daemon/jail/tree_time.h"
#include "proto/util.h"
#include "tests/unit/check.h"

#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <cmocka.h>

#define DEADLINE_NS (60 * NS_PER_S)
#define ENOUGH_NS (100 * NS_PER_MS)
#define NOBODY ((struct tree_time_except){0})

static void bind_to_one_cpu(void)
{
    cpu_set_t cpus, one;
    CPU_ZERO(&one);
    if (sched_getaffinity(0, sizeof(cpus), &cpus) < 0)
        _exit(1);
    for (int cpu = 0; cpu < CPU_SETSIZE && CPU_COUNT(&one) == 0; cpu++)
        if (CPU_ISSET(cpu, &cpus))
            CPU_SET(cpu, &one);
    if (sched_setaffinity(0, sizeof(one), &one) < 0)
        _exit(1);
}

static void *spin(void *unused)
{
    for (volatile unsigned i = 0;; i++)
        ;
    return unused;
}

enum shape { CHILDREN, GRANDCHILDREN, THREADS, UNDUMPABLE, ASLEEP, NICE, IDLE };

/* Whether two processes of SHAPE starve each other, as far as the job cannot help it. */
static bool starves(enum shape shape)
{
    return shape != ASLEEP && shape != NICE && shape != IDLE;
}

/* In a child of the scenario. */
static _Noreturn void live(enum shape shape)
{
    pthread_t thread;
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    (void)prctl(PR_SET_DUMPABLE, shape != UNDUMPABLE);
    if (shape == NICE && setpriority(PRIO_PROCESS, 0, getpriority(PRIO_PROCESS, 0) + 1) < 0)
        _exit(1);
    if (shape == IDLE && sched_setscheduler(0, SCHED_IDLE, &(struct sched_param){0}) < 0)
        _exit(1);
    if (shape == ASLEEP)
        for (;;)
            (void)pause();
    if (shape == GRANDCHILDREN && fork() > 0)
        for (;;)
            (void)pause();
    if (shape == GRANDCHILDREN)
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (shape == THREADS && pthread_create(&thread, NULL, spin, NULL) != 0)
        _exit(1);
    (void)spin(NULL);
    _exit(0);
}

/* Whether two processes of SHAPE seem to have run and waited for at least ENOUGH_NS. */
static int scenario(enum shape shape)
{
    struct tree_time time = {0};
    pid_t pids[2];
    bind_to_one_cpu();
    for (size_t i = 0; i < ARRAY_SIZE(pids); i++) {
        pids[i] = fork();
        CHECK(pids[i] >= 0);
        if (pids[i] == 0)
            live(shape);
    }
    uint64_t until_ns = clock_now_ns() + (starves(shape) ? DEADLINE_NS : 3 * ENOUGH_NS);
    while ((time.run_ns < ENOUGH_NS || time.wait_ns < ENOUGH_NS) && clock_now_ns() < until_ns) {
        CHECK(tree_time_read(-1, NOBODY, &time) == 0);
        (void)usleep(10000);
    }
    for (size_t i = 0; i < ARRAY_SIZE(pids); i++) {
        (void)kill(pids[i], SIGKILL);
        (void)waitpid(pids[i], NULL, 0);
    }
    bool has_starved = time.run_ns >= ENOUGH_NS && time.wait_ns >= ENOUGH_NS;
    return has_starved == starves(shape) ? 0 : __LINE__;
}

/* Returns 0 if the scenario went as expected. Runs it in a process that has no other children. */
static int run(enum shape shape)
{
    int status = 0;
    pid_t pid = fork();
    if (pid == 0)
        _exit(scenario(shape) == 0 ? 0 : 1);
    return pid > 0 && waitpid(pid, &status, 0) == pid ? status : -1;
}

static void test_what_computes(void **state)
{
    (void)state;
    assert_int_equal(run(CHILDREN), 0);
    assert_int_equal(run(GRANDCHILDREN), 0);
    assert_int_equal(run(THREADS), 0);
    assert_int_equal(run(UNDUMPABLE), 0);
}

static void test_what_sleeps(void **state)
{
    (void)state;
    assert_int_equal(run(ASLEEP), 0);
}

/* They could have had the CPU. */
static void test_what_lets_others_go_first(void **state)
{
    (void)state;
    assert_int_equal(run(NICE), 0);
    assert_int_equal(run(IDLE), 0);
}

/* Other processes of the host do not count, not even those that share its CPU. */
static int read_beside_a_stranger(void)
{
    struct tree_time time = {.run_ns = 1};
    CHECK(tree_time_read(-1, NOBODY, &time) == 0);
    CHECK(time.run_ns == 0 && time.wait_ns == 0);
    return 0;
}

static void test_strangers(void **state)
{
    (void)state;
    int status = 0;
    pid_t stranger = fork();
    if (stranger == 0)
        live(CHILDREN);
    pid_t pid = fork();
    if (pid == 0)
        _exit(read_beside_a_stranger() == 0 ? 0 : 1);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    (void)kill(stranger, SIGKILL);
    (void)waitpid(stranger, NULL, 0);
    assert_int_equal(status, 0);
}

/* A child that has ended and was waited for: its CPU time is known. */
static int read_after_an_end(void)
{
    struct tree_time time = {0}, of_excepted = {0}, late = {0}, none = {0}, inner = {.run_ns = 1};
    int ready[2];
    char byte;
    CHECK(pipe(ready) == 0);
    pid_t pid = fork();
    if (pid == 0) {
        pid_t spent = fork();
        if (spent == 0) {
            while (clock() < CLOCKS_PER_SEC / 10)
                ;
            _exit(0);
        }
        (void)waitpid(spent, NULL, 0);
        (void)!write(ready[1], "", 1);
        for (;;)
            (void)pause();
    }
    CHECK(read(ready[0], &byte, 1) == 1);
    CHECK(tree_time_read(-1, NOBODY, &time) == 0);
    /* The same where that child is no part of the job, and had waited for others before. */
    CHECK(tree_time_read(-1, (struct tree_time_except){.pid = pid, .earlier_ns = 0},
                         &of_excepted) == 0);
    CHECK(tree_time_read(-1, (struct tree_time_except){.pid = pid, .earlier_ns = 50 * NS_PER_MS},
                         &late) == 0);
    CHECK(tree_time_read(-1, (struct tree_time_except){.pid = pid, .earlier_ns = 60 * NS_PER_S},
                         &none) == 0);
    CHECK(tree_time_read(-1, (struct tree_time_except){.inner = pid}, &inner) == 0);
    (void)kill(pid, SIGKILL);
    (void)waitpid(pid, NULL, 0);
    CHECK(inner.run_ns == 0);
    CHECK(time.run_ns >= 80 * NS_PER_MS);
    CHECK(of_excepted.run_ns >= 80 * NS_PER_MS && of_excepted.run_ns <= time.run_ns);
    CHECK(late.run_ns == of_excepted.run_ns - 50 * NS_PER_MS && none.run_ns == 0);
    return 0;
}

static void test_what_has_ended(void **state)
{
    (void)state;
    int status = 0;
    pid_t pid = fork();
    if (pid == 0)
        _exit(read_after_an_end() == 0 ? 0 : 1);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_computes),
        cmocka_unit_test(test_what_sleeps),
        cmocka_unit_test(test_what_lets_others_go_first),
        cmocka_unit_test(test_strangers),
        cmocka_unit_test(test_what_has_ended),

    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
