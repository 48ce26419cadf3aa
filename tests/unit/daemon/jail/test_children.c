/* SPDX-License-Identifier: MIT */
/* Tests killing what a job has left. Every scenario runs in a process of its own that is a child
 * subreaper, as a jail is. All processes of a scenario hold the write end of a pipe; its end of
 * file shows that all are dead. */
#include "daemon/jail/children.h"
#include "proto/util.h"
#include "tests/unit/check.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#include <cmocka.h>

#define DEADLINE_MS 20000
#define SCENARIO_SECONDS 60

static uint64_t now_ms(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* --- a process and its descendants -------------------------------------------------------- */

/* The pipe carries one byte for each process that is ready, and is at end of file when the last one
 * is dead. */
struct crowd {
    int read_fd, write_fd;
};

static bool crowd_open(struct crowd *crowd)
{
    int fds[2];
    if (pipe2(fds, O_CLOEXEC) < 0)
        return false;
    *crowd = (struct crowd){fds[0], fds[1]};
    return true;
}

/* In a descendant: reports ready and does nothing until it is killed. */
static _Noreturn void crowd_stay(const struct crowd *crowd)
{
    close_fd(crowd->read_fd);
    if (write(crowd->write_fd, "", 1) != 1)
        _exit(1);
    for (;;)
        (void)pause();
}

/* Waits until N more processes are ready. */
static bool crowd_await(const struct crowd *crowd, size_t n)
{
    char byte;
    for (size_t i = 0; i < n; i++) {
        struct pollfd poll_fd = {.fd = crowd->read_fd, .events = POLLIN};
        if (poll(&poll_fd, 1, DEADLINE_MS) != 1 || read(crowd->read_fd, &byte, 1) != 1)
            return false;
    }
    return true;
}

/* Returns whether all holders of the write end are dead; does not wait. */
static bool crowd_is_dead(struct crowd *crowd)
{
    char bytes[64];
    crowd->write_fd = close_fd(crowd->write_fd);
    (void)fcntl(crowd->read_fd, F_SETFL, O_NONBLOCK);
    ssize_t n;
    do
        n = read(crowd->read_fd, bytes, sizeof(bytes));
    while (n > 0);
    crowd->read_fd = close_fd(crowd->read_fd);
    return n == 0;
}

/* Starts a child that stays; -1 on failure. */
static pid_t start_child(const struct crowd *crowd)
{
    pid_t pid = fork();
    if (pid == 0)
        crowd_stay(crowd);
    return pid;
}

/* Starts a child whose DEPTH descendants, each the child of the one before, outlive it. Only the
 * last one stays. */
static pid_t start_orphan(const struct crowd *crowd, unsigned depth)
{
    pid_t pid = fork();
    if (pid != 0)
        return pid;
    for (unsigned i = 0; i < depth; i++) {
        if (setsid() < 0 && errno != EPERM)
            _exit(1);
        pid = fork();
        if (pid < 0)
            _exit(1);
        if (pid > 0)
            _exit(0);
    }
    (void)setsid();
    crowd_stay(crowd);
}

static bool was_killed(pid_t pid)
{
    int status;
    pid_t reaped = waitpid(pid, &status, 0);
    /* It may have been reaped already. */
    return (reaped == pid && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) ||
           (reaped < 0 && errno == ECHILD);
}

static bool is_alive(pid_t pid)
{
    siginfo_t info = {.si_pid = 0};
    return waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == 0;
}

/* --- scenarios: children_kill ------------------------------------------------------------- */

static int kill_nobody(void)
{
    const pid_t keep[] = {1, 2, 3};
    CHECK(children_kill(NULL, 0) == 0);
    CHECK(children_kill(keep, ARRAY_SIZE(keep)) == 0);
    CHECK(children_kill_all(0, 0, &(struct children_usage){0}));
    CHECK(children_kill_all(DEADLINE_MS, 0, &(struct children_usage){0}));
    return 0;
}

static int kill_all_but_the_kept(void)
{
    enum { ALL = 6 };
    struct crowd crowd;
    pid_t pids[ALL];
    CHECK(crowd_open(&crowd));
    for (size_t i = 0; i < ALL; i++)
        CHECK((pids[i] = start_child(&crowd)) > 0);
    CHECK(crowd_await(&crowd, ALL));

    const pid_t keep[] = {pids[4], 1, pids[1]};
    CHECK(children_kill(keep, ARRAY_SIZE(keep)) == ALL - 2);
    for (size_t i = 0; i < ALL; i++)
        CHECK(i == 1 || i == 4 ? is_alive(pids[i]) : was_killed(pids[i]));
    CHECK(children_kill(keep, ARRAY_SIZE(keep)) == 0);
    CHECK(is_alive(pids[1]) && is_alive(pids[4]));

    CHECK(children_kill(&pids[1], 1) == 1);
    CHECK(was_killed(pids[4]) && is_alive(pids[1]));
    CHECK(children_kill(NULL, 0) == 1 && was_killed(pids[1]));
    CHECK(crowd_is_dead(&crowd));
    return 0;
}

/* One call reaps those that are dead already. */
static int kill_the_dead(void)
{
    pid_t pids[3];
    siginfo_t info;
    for (size_t i = 0; i < ARRAY_SIZE(pids); i++) {
        pids[i] = fork();
        if (pids[i] == 0)
            _exit(0);
        CHECK(pids[i] > 0 && waitid(P_PID, (id_t)pids[i], &info, WEXITED | WNOWAIT) == 0);
    }
    CHECK(children_kill(pids, 1) == 2);
    CHECK(waitpid(pids[1], NULL, 0) < 0 && waitpid(pids[2], NULL, 0) < 0);
    CHECK(waitpid(pids[0], NULL, 0) == pids[0]); /* kept: somebody else collects its status */
    CHECK(waitpid(-1, NULL, 0) < 0 && errno == ECHILD);
    return 0;
}

/* The file that tells a process's parent also contains its name. */
static int kill_what_has_an_odd_name(void)
{
    static const char *const names[] = {
        ") R 1 (", ") S 1 1 1", "))))))",          "((((",    ") Z 0 0 0 0 0", "a b c", "\n) S 1 ",
        ")",       "",          "123456789012345", "\xff) R", " 1 2 3",
    };
    struct crowd crowd;
    CHECK(crowd_open(&crowd));
    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        pid_t pid = fork();
        if (pid == 0) {
            (void)prctl(PR_SET_NAME, names[i]);
            crowd_stay(&crowd);
        }
        CHECK(pid > 0);
    }
    CHECK(crowd_await(&crowd, ARRAY_SIZE(names)));
    CHECK(children_kill(NULL, 0) == (int)ARRAY_SIZE(names));
    CHECK(children_kill_all(DEADLINE_MS, 0, &(struct children_usage){0}));
    CHECK(crowd_is_dead(&crowd));
    return 0;
}

/* The parent's name must not mislead either, and no process is its own child. */
static int kill_from_an_odd_name(void)
{
    struct crowd crowd;
    CHECK(prctl(PR_SET_NAME, ") R 1 (") == 0);
    CHECK(crowd_open(&crowd) && start_child(&crowd) > 0 && crowd_await(&crowd, 1));
    CHECK(children_kill(NULL, 0) == 1);
    CHECK(children_kill_all(DEADLINE_MS, 0, &(struct children_usage){0}) && crowd_is_dead(&crowd));
    return 0;
}

/* Finds children only: a living child's descendants are the child's, and siblings are strangers. */
static int kill_no_further_than_children(void)
{
    struct crowd crowd;
    int fds[2];
    pid_t grandchild = 0;
    CHECK(crowd_open(&crowd) && pipe2(fds, O_CLOEXEC) == 0);
    pid_t child = fork();
    if (child == 0) {
        grandchild = start_child(&crowd);
        (void)!write(fds[1], &grandchild, sizeof(grandchild));
        crowd_stay(&crowd);
    }
    CHECK(child > 0 && read(fds[0], &grandchild, sizeof(grandchild)) == sizeof(grandchild));
    CHECK(crowd_await(&crowd, 2));
    CHECK(children_kill(&child, 1) == 0);
    CHECK(is_alive(child) && kill(grandchild, 0) == 0 && kill(getppid(), 0) == 0);
    /* An orphan becomes our child when its parent dies, which may happen during the call. */
    int found = children_kill(NULL, 0);
    CHECK((found == 1 || found == 2) && was_killed(child));
    CHECK(found == 2 || (is_alive(grandchild) && children_kill(NULL, 0) == 1));
    CHECK(was_killed(grandchild));
    close_fd(fds[0]);
    close_fd(fds[1]);
    CHECK(crowd_is_dead(&crowd));
    return 0;
}

/* --- scenarios: children_kill_all --------------------------------------------------------- */

static int kill_orphans(void)
{
    enum { ORPHANS = 25 };
    struct crowd crowd;
    CHECK(crowd_open(&crowd));
    for (unsigned i = 0; i < ORPHANS; i++)
        CHECK(start_orphan(&crowd, 1 + i % 4) > 0);
    CHECK(crowd_await(&crowd, ORPHANS));
    CHECK(children_kill_all(DEADLINE_MS, 0, &(struct children_usage){0}));
    CHECK(waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD);
    CHECK(crowd_is_dead(&crowd));
    return 0;
}

/* Starts N processes, each the parent of the next. */
static _Noreturn void stay_in_line(const struct crowd *crowd, unsigned n)
{
    for (; n > 1; n--)
        if (fork() != 0)
            break;
    crowd_stay(crowd);
}

static int kill_a_long_line(void)
{
    enum { GENERATIONS = 60 };
    struct crowd crowd;
    CHECK(crowd_open(&crowd));
    pid_t pid = fork();
    if (pid == 0)
        stay_in_line(&crowd, GENERATIONS);
    CHECK(pid > 0 && crowd_await(&crowd, GENERATIONS));
    CHECK(children_kill_all(DEADLINE_MS, 0, &(struct children_usage){0}));
    CHECK(crowd_is_dead(&crowd));
    return 0;
}

/* Blocked, ignored and caught signals, a stopped process, a process group of its own. */
static _Noreturn void resist(const struct crowd *crowd, unsigned how)
{
    sigset_t all;
    for (int number = 1; number <= SIGRTMAX; number++)
        (void)signal(number, SIG_IGN);
    (void)sigfillset(&all);
    (void)sigprocmask(SIG_BLOCK, &all, NULL);
    if (how % 2)
        (void)setpgid(0, 0);
    if (how % 3 == 0) {
        (void)!write(crowd->write_fd, "", 1);
        (void)raise(SIGSTOP);
    }
    crowd_stay(crowd);
}

static int kill_those_who_resist(void)
{
    enum { ALL = 12 };
    struct crowd crowd;
    CHECK(crowd_open(&crowd));
    for (unsigned i = 0; i < ALL; i++) {
        pid_t pid = fork();
        if (pid == 0)
            resist(&crowd, i);
        CHECK(pid > 0);
    }
    CHECK(crowd_await(&crowd, ALL));
    CHECK(children_kill_all(DEADLINE_MS, 0, &(struct children_usage){0}));
    CHECK(crowd_is_dead(&crowd));
    return 0;
}

static void *stay(void *crowd)
{
    crowd_stay(crowd);
}

/* Only the first thread has ended: a zombie in which another thread lives. */
static int kill_a_process_without_its_first_thread(void)
{
    struct crowd crowd;
    CHECK(crowd_open(&crowd));
    pid_t pid = fork();
    if (pid == 0) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, stay, &crowd) != 0)
            _exit(1);
        (void)syscall(SYS_exit, 0);
    }
    CHECK(pid > 0 && crowd_await(&crowd, 1));
    CHECK(children_kill_all(DEADLINE_MS, 0, &(struct children_usage){0}));
    CHECK(crowd_is_dead(&crowd));
    return 0;
}

/* Shared with the runners: tells them that the scenario is over, whatever becomes of them. */
struct relay {
    volatile bool over;
    volatile uint32_t forks;
};

/* Forks and exits again and again: there is never more than one of it, and never the same one. */
static _Noreturn void run_away(struct relay *relay, const struct crowd *crowd)
{
    (void)!write(crowd->write_fd, "", 1);
    while (!relay->over && relay->forks < 3000000) {
        relay->forks++;
        pid_t pid = fork();
        if (pid > 0)
            _exit(0);
        (void)setsid();
    }
    _exit(0);
}

static int kill_those_who_run_away(void)
{
    enum { RUNNERS = 3 };
    struct crowd crowd;
    struct relay *relay =
        mmap(NULL, sizeof(*relay), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(relay != MAP_FAILED && crowd_open(&crowd));
    for (unsigned i = 0; i < RUNNERS; i++) {
        pid_t pid = fork();
        if (pid == 0)
            run_away(relay, &crowd);
        CHECK(pid > 0);
    }
    CHECK(crowd_await(&crowd, RUNNERS));
    bool killed = children_kill_all(DEADLINE_MS, 0, &(struct children_usage){0});
    bool early = relay->forks < 3000000;
    relay->over = true;
    CHECK(killed && early);
    CHECK(crowd_is_dead(&crowd));
    (void)munmap(relay, sizeof(*relay));
    return 0;
}

/* --- scenarios: what was used ------------------------------------------------------------- */

#define USED_CPU_MS 60
#define USED_BYTES ((size_t)48 << 20)

/* In a descendant: runs for USED_CPU_MS and touches USED_BYTES. */
static bool use_resources(void)
{
    char *memory = mmap(NULL, USED_BYTES, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    struct timespec used = {0};
    while (used.tv_sec == 0 && used.tv_nsec < USED_CPU_MS * 1000000L)
        if (clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used) < 0)
            return false;
    return memory != MAP_FAILED;
}

/* Some kernels account CPU time by ticks, not precisely. */
static bool has_used(const struct children_usage *usage, unsigned processes)
{
    const uint64_t least_us = (uint64_t)processes * USED_CPU_MS * 1000;
    return usage->cpu_us >= least_us - least_us / 4 && usage->cpu_us < least_us * 20 &&
           usage->max_rss_bytes >= USED_BYTES && usage->max_rss_bytes < 2 * USED_BYTES;
}

/* The usage of a process includes that of processes that it waited for. */
static int sum_what_a_process_has_used(void)
{
    struct children_usage usage = {0};
    siginfo_t info;
    pid_t pid = fork();
    if (pid == 0) {
        pid_t child = fork();
        if (child == 0)
            _exit(use_resources() ? 0 : 1);
        (void)waitpid(child, NULL, 0);
        _exit(use_resources() ? 42 : 1);
    }
    CHECK(pid > 0 && waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT) == 0);
    uint64_t cpu_us = children_cpu_us(pid);
    int status = children_reap(pid, &usage);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 42);
    CHECK(has_used(&usage, 2));
    CHECK(cpu_us == usage.cpu_us && children_cpu_us(pid) == 0);

    /* CPU time is added to the old value; of memory the larger value counts. */
    struct children_usage before = usage;
    pid = fork();
    if (pid == 0)
        _exit(0);
    CHECK(pid > 0);
    CHECK(children_reap(pid, &usage) == 0);
    CHECK(usage.cpu_us >= before.cpu_us && usage.max_rss_bytes == before.max_rss_bytes);
    CHECK(waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD);
    return 0;
}

/* Orphans count too, whether they are still alive or already dead. */
static int sum_what_orphans_have_used(void)
{
    enum { ORPHANS = 4 };
    const uint64_t before_us = 5000000;
    struct crowd crowd;
    CHECK(crowd_open(&crowd));
    for (unsigned i = 0; i < ORPHANS; i++) {
        pid_t pid = fork();
        if (pid == 0) {
            pid = fork();
            if (pid > 0)
                _exit(0);
            bool used = pid == 0 && setsid() > 0 && use_resources();
            if (used && i % 2)
                crowd_stay(&crowd);
            _exit(used && write(crowd.write_fd, "", 1) == 1 ? 0 : 1);
        }
        CHECK(pid > 0);
    }
    CHECK(crowd_await(&crowd, ORPHANS));
    struct children_usage usage = {.cpu_us = before_us, .max_rss_bytes = 1};
    CHECK(children_kill_all(DEADLINE_MS, 0, &usage));
    CHECK(usage.cpu_us >= before_us);
    usage.cpu_us -= before_us;
    CHECK(has_used(&usage, ORPHANS));
    CHECK(crowd_is_dead(&crowd));
    return 0;
}

/* A traced process stays, although killed, until its tracer releases it. TRACER receives the pid,
 * and later the request to release it. */
static int kill_what_cannot_be_reaped(int tracer)
{
    struct crowd crowd;
    char word;
    CHECK(crowd_open(&crowd));
    pid_t pid = start_child(&crowd), other = start_child(&crowd);
    CHECK(pid > 0 && other > 0 && crowd_await(&crowd, 2));
    CHECK(write(tracer, &pid, sizeof(pid)) == sizeof(pid) && read(tracer, &word, 1) == 1);
    if (word == 'n')
        return SKIPPED;

    uint64_t start = now_ms();
    CHECK(!children_kill_all(300, 0, &(struct children_usage){0}));
    uint64_t took = now_ms() - start;
    CHECK(took >= 300 && took < 20000);
    CHECK(was_killed(other)); /* it does not save the others */
    CHECK(!children_kill_all(0, 0, &(struct children_usage){0}));

    CHECK(write(tracer, &pid, sizeof(pid)) == sizeof(pid) && read(tracer, &word, 1) == 1);
    CHECK(children_kill_all(DEADLINE_MS, 0, &(struct children_usage){0}));
    CHECK(crowd_is_dead(&crowd));
    return 0;
}

/* Without /proc no process is found: the call fails and does not wait. */
static int kill_without_proc(void)
{
    char path[] = "/tmp/test_children.XXXXXX";
    struct crowd crowd;
    CHECK(mkdtemp(path) != NULL);
    int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    bool entered = (chroot(path) == 0 || (unshare(CLONE_NEWUSER) == 0 && chroot(path) == 0)) &&
                   chdir("/") == 0;
    (void)unlinkat(root, path + 1, AT_REMOVEDIR);
    if (!entered)
        return SKIPPED;
    CHECK(crowd_open(&crowd));
    CHECK(children_kill(NULL, 0) == -ENOENT);
    CHECK(children_kill_all(0, 0, &(struct children_usage){0})); /* there is none */
    pid_t pid = start_child(&crowd);
    CHECK(pid > 0 && crowd_await(&crowd, 1));
    CHECK(children_kill(NULL, 0) == -ENOENT);
    CHECK(!children_kill_all(DEADLINE_MS, 0, &(struct children_usage){0}));
    CHECK(is_alive(pid) && kill(pid, SIGKILL) == 0 && was_killed(pid));
    CHECK(children_kill_all(0, 0, &(struct children_usage){0}));
    return 0;
}

/* --- running them ------------------------------------------------------------------------- */

/* Starts a process that nothing in a scenario may kill. */
static pid_t start_bystander(void)
{
    pid_t pid = fork();
    if (pid == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (;;)
            (void)pause();
    }
    assert_true(pid > 0);
    return pid;
}

static int prepare(void)
{
    (void)alarm(SCENARIO_SECONDS);
    return prctl(PR_SET_CHILD_SUBREAPER, 1);
}

/* Kills what a failed scenario has left: it has become our child, as it would become the jail's. */
static void kill_rest(void)
{
    char text[4096];
    for (;;) {
        _cleanup_close_ int fd = open("/proc/thread-self/children", O_RDONLY | O_CLOEXEC);
        ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
        if (n <= 0)
            return; /* none left, or this kernel does not tell */
        text[n] = '\0';
        pid_t pid = (pid_t)strtol(text, NULL, 10);
        (void)kill(pid, SIGKILL);
        (void)waitpid(pid, NULL, 0);
    }
}

/* Waits for a scenario's end and asserts that it succeeded. */
static void expect_success(pid_t pid)
{
    int status;
    assert_true(pid > 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    kill_rest();
    if (WIFEXITED(status) && WEXITSTATUS(status) == SKIPPED) {
        print_message("# this user cannot provoke it\n");
        skip();
    }
    assert_int_equal(status, 0);
}

/* The state is the scenario. */
static void test_scenario(void **state)
{
    int (*const *scenario)(void) = *state;
    pid_t bystander = start_bystander();
    pid_t pid = fork();
    if (pid == 0)
        _exit(prepare() < 0 ? 1 : (*scenario)());
    int status;
    siginfo_t info;
    assert_true(pid > 0);
    assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
    assert_int_equal(waitpid(bystander, &status, WNOHANG), 0);
    (void)kill(bystander, SIGKILL);
    (void)waitpid(bystander, &status, 0);
    expect_success(pid);
}

/* Reads a pid, traces it and answers whether that worked; reads the pid again and releases it. */
static void trace(int scenario)
{
    pid_t pid;
    if (read(scenario, &pid, sizeof(pid)) != sizeof(pid))
        return;
    bool traced = ptrace(PTRACE_SEIZE, pid, NULL, NULL) == 0;
    if (write(scenario, traced ? "y" : "n", 1) != 1 || !traced ||
        read(scenario, &pid, sizeof(pid)) != sizeof(pid))
        return;
    (void)waitpid(pid, NULL, __WALL); /* only now can its own parent reap it */
    (void)!write(scenario, "y", 1);
}

static void test_kill_what_cannot_be_reaped(void **state)
{
    int fds[2];
    (void)state;
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds), 0);
    pid_t pid = fork();
    if (pid == 0) {
        close_fd(fds[0]);
        _exit(prepare() < 0 ? 1 : kill_what_cannot_be_reaped(fds[1]));
    }
    close_fd(fds[1]);
    trace(fds[0]);
    close_fd(fds[0]);
    expect_success(pid);
}

/* clang-format off */
#define SCENARIO(name) {#name, test_scenario, NULL, NULL, &(int (*)(void)){name}}
/* clang-format on */

int main(void)
{
    (void)prctl(PR_SET_CHILD_SUBREAPER, 1);
    const struct CMUnitTest tests[] = {
        SCENARIO(kill_nobody),
        SCENARIO(kill_all_but_the_kept),
        SCENARIO(kill_the_dead),
        SCENARIO(kill_what_has_an_odd_name),
        SCENARIO(kill_from_an_odd_name),
        SCENARIO(kill_no_further_than_children),
        SCENARIO(kill_orphans),
        SCENARIO(kill_a_long_line),
        SCENARIO(kill_those_who_resist),
        SCENARIO(kill_a_process_without_its_first_thread),
        SCENARIO(kill_those_who_run_away),
        SCENARIO(kill_without_proc),
        SCENARIO(sum_what_a_process_has_used),
        SCENARIO(sum_what_orphans_have_used),
        cmocka_unit_test(test_kill_what_cannot_be_reaped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
