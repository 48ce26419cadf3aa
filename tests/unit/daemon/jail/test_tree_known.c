/* SPDX-License-Identifier: MIT */
/* Of which time the account of a job is complete. Each scenario is process 1 of a pid namespace of
 * its own, as a jail is, and takes its job from step to step, with a look after each. */
#include "daemon/base/clock.h"
#include "daemon/jail/mounts.h"
#include "daemon/jail/tree_known.h"
#include "tests/unit/scenario.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mount.h>
#include <time.h>
#include <unistd.h>

#define NOBODY ((struct tree_time_except){0})
#define WORK_NS (50 * NS_PER_MS)
#define REST_NS (10 * NS_PER_S)

enum step {
    WORKS,      /* itself */
    KEEPS,      /* a child that lives on */
    FORGETS,    /* a child that works, for which nobody waits */
    WAITS,      /* for a child that works */
    ADOPTS,     /* a process that works is adopted by process 1 */
    ENDS_THREAD /* a thread */
};

/* --- the job ------------------------------------------------------------------------------- */

static void spend(void)
{
    clock_t from = clock(); /* CPU time of this process */
    while (clock() - from < (clock_t)(WORK_NS / 1000))
        ;
}

static void *nothing(void *unused)
{
    return unused;
}

/* Starts a child that works and ends, and waits until it has closed its end of a pipe. */
static void have_child_work(bool by_another)
{
    int ends[2];
    char byte;
    if (pipe(ends) < 0)
        _exit(1);
    if (fork() == 0) {
        if (by_another && fork() > 0)
            _exit(0);
        spend();
        _exit(0);
    }
    (void)close(ends[1]);
    (void)!read(ends[0], &byte, 1);
    (void)close(ends[0]);
}

static void take(enum step step)
{
    pthread_t thread;
    (void)signal(SIGCHLD, step == FORGETS ? SIG_IGN : SIG_DFL);
    if (step == WORKS)
        spend();
    if (step == KEEPS && fork() == 0)
        for (;;)
            (void)pause();
    if (step == FORGETS || step == WAITS || step == ADOPTS)
        have_child_work(step == ADOPTS);
    if (step == WAITS || step == ADOPTS)
        (void)wait(NULL);
    if (step == FORGETS)
        (void)wait(NULL); /* the kernel returns when there is no child any more */
    if (step == ENDS_THREAD && pthread_create(&thread, NULL, nothing, NULL) == 0)
        (void)pthread_join(thread, NULL);
}

static _Noreturn void be_job(int orders, int answers)
{
    enum step step;
    while (read(orders, &step, sizeof(step)) == (ssize_t)sizeof(step)) {
        take(step);
        (void)!write(answers, "", 1);
    }
    _exit(0);
}

/* --- the jail ------------------------------------------------------------------------------ */

struct plan {
    bool has_only_processes; /* its /proc */
    bool is_start_unknown;
    bool is_late; /* the first look comes so late that all pids may have been given out */
    size_t n;
    struct {
        enum step step;
        bool is_gap;
        unsigned works; /* that known_run_ns then counts in all */
    } steps[6];
};

/* Of a wait that is not over, what may lie in a gap does not count. */
static int tell_of_a_long_wait(struct tree_known *known, uint64_t started_ns, int proc)
{
    struct tree_time time = {.run_ns = UINT64_MAX, .wait_ns = 3600 * NS_PER_S};
    uint32_t unknown_ms = tree_known_tell(known, proc, NOBODY, &time);
    uint64_t wait_ns = time.wait_ns - known->known_wait_ns;
    CHECK_EQUAL(unknown_ms, (known->gap_ns + NS_PER_MS - 1) / NS_PER_MS);
    CHECK_EQUAL(time.run_ns, known->known_run_ns);
    CHECK_EQUAL(wait_ns, known->looked_ns - known->gap_until_ns);
    CHECK(known->gap_ns == 0 || wait_ns < known->looked_ns - started_ns);
    return 0;
}

/* The job waits for its next order: a look finds at last that nothing has run. */
static int come_to_rest(struct tree_known *known, int proc)
{
    uint64_t end_ns = clock_now_ns() + REST_NS;
    do {
        known->has_stirred = false;
        tree_known_look(known, proc, NOBODY);
    } while (known->has_stirred && clock_now_ns() < end_ns);
    CHECK(!known->has_stirred);
    return 0;
}

/* What has stirred stays so, whoever has looked meanwhile. */
static int stir(struct tree_known *known, int proc, int orders, int answers)
{
    const enum step step = WORKS;
    struct tree_time time = {0};
    char byte;
    CHECK(write(orders, &step, sizeof(step)) > 0);
    CHECK(read(answers, &byte, 1) == 1);
    (void)tree_known_tell(known, proc, NOBODY, &time);
    CHECK(known->has_stirred);
    struct tree_known another = *known;
    if (come_to_rest(&another, proc) > 0)
        return 1;
    tree_known_look(known, proc, NOBODY);
    tree_known_look(known, proc, NOBODY); /* nothing has run since the last one */
    CHECK(known->has_stirred);
    return 0;
}

static int watch(const struct plan *plan, int proc)
{
    struct tree_known known = {0};
    int orders[2], answers[2];
    char byte;
    CHECK(pipe(orders) == 0 && pipe(answers) == 0);
    uint64_t started_ns = clock_now_ns() - (plan->is_late ? 6 * NS_PER_S : 0);
    tree_known_begin(&known, started_ns, plan->is_start_unknown ? -1 : 1, 1);
    pid_t pid = fork();
    if (pid == 0)
        be_job(orders[0], answers[1]);
    for (size_t i = 0; i < plan->n; i++) {
        uint64_t gap_ns = known.gap_ns;
        CHECK(write(orders[1], &plan->steps[i].step, sizeof(enum step)) > 0);
        CHECK(read(answers[0], &byte, 1) == 1);
        tree_known_look(&known, proc, NOBODY);
        CHECK_EQUAL(known.gap_ns > gap_ns, plan->steps[i].is_gap);
        CHECK_EQUAL(known.gap_until_ns == known.looked_ns, plan->steps[i].is_gap);
        CHECK(known.has_stirred);
        /* Besides, it starts and ends processes, which takes far less. */
        CHECK_EQUAL((known.known_run_ns + WORK_NS / 4) / WORK_NS, plan->steps[i].works);
    }
    if (tell_of_a_long_wait(&known, started_ns, proc) > 0)
        return 1;
    return come_to_rest(&known, proc) > 0 || stir(&known, proc, orders[1], answers[0]) > 0;
}

static int be_jail(const struct plan *plan)
{
    const struct mount_option full[] = {{NULL, NULL}};
    const struct mount_option processes[] = {{"subset", "pid"}, {NULL, NULL}};
    _cleanup_close_ int proc =
        mounts_new("proc", plan->has_only_processes ? processes : full, 0, MOUNTS_NO_PASS);
    if (proc < 0)
        SKIP("no /proc can be had: %s", strerror(-proc));
    CHECK(getpid() == 1);
    return watch(plan, proc);
}

static int run_plan(void *argument)
{
    const struct plan *plan = argument;
    int status = 0;
    if (unshare(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID) < 0)
        SKIP("no namespaces can be had: %s", strerror(errno));
    pid_t pid = fork();
    if (pid == 0)
        _exit(be_jail(plan));
    CHECK(waitpid(pid, &status, 0) == pid && WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void test_what_lives_is_known(void **state)
{
    struct plan plan = {
        .n = 4,
        .steps = {{WORKS, false, 1}, {KEEPS, false, 1}, {WORKS, false, 2}, {KEEPS, false, 2}},
    };
    (void)state;
    run_scenario(run_plan, &plan);
    plan.has_only_processes = true;
    run_scenario(run_plan, &plan);
}

/* Nothing of that interval is known, nor of the next: a wait may end there. */
static void test_what_nobody_waits_for_is_a_gap(void **state)
{
    struct plan plan = {
        .n = 6,
        .steps = {{WORKS, false, 1},
                  {FORGETS, true, 1},
                  {WORKS, true, 1},
                  {WORKS, false, 2},
                  {FORGETS, true, 2},
                  {FORGETS, true, 2}},
    };
    (void)state;
    run_scenario(run_plan, &plan);
    plan.has_only_processes = true;
    run_scenario(run_plan, &plan);
}

/* The kernel does not tell them from the others. */
static void test_whatever_ends_is_a_gap(void **state)
{
    struct plan plan = {
        .n = 6,
        .steps = {{WORKS, false, 1},
                  {WAITS, true, 1},
                  {WORKS, true, 1},
                  {ENDS_THREAD, true, 1},
                  {WORKS, true, 1},
                  {WORKS, false, 2}},
    };
    (void)state;
    run_scenario(run_plan, &plan);
}

/* Process 1 keeps what it has adopted until the job's end, so its time is there to be read. The one
 * that it was adopted from has ended. */
static void test_what_is_adopted_is_known_after_all(void **state)
{
    struct plan plan = {
        .n = 3,
        .steps = {{ADOPTS, true, 0}, {WORKS, true, 0}, {WORKS, false, 1}},
    };
    (void)state;
    run_scenario(run_plan, &plan);
}

static void test_an_unknown_start_is_a_gap(void **state)
{
    struct plan plan = {
        .is_start_unknown = true,
        .n = 3,
        .steps = {{WORKS, true, 0}, {WORKS, true, 0}, {WORKS, false, 1}},
    };
    (void)state;
    run_scenario(run_plan, &plan);
}

static void test_a_long_time_without_a_look_is_a_gap(void **state)
{
    struct plan plan = {
        .is_late = true,
        .n = 3,
        .steps = {{WORKS, true, 0}, {WORKS, true, 0}, {WORKS, false, 1}},
    };
    (void)state;
    run_scenario(run_plan, &plan);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_lives_is_known),
        cmocka_unit_test(test_what_nobody_waits_for_is_a_gap),
        cmocka_unit_test(test_whatever_ends_is_a_gap),
        cmocka_unit_test(test_what_is_adopted_is_known_after_all),
        cmocka_unit_test(test_an_unknown_start_is_a_gap),
        cmocka_unit_test(test_a_long_time_without_a_look_is_a_gap),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
