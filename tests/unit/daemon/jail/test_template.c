/* SPDX-License-Identifier: MIT */
/* What a jail sees of a stopped process, and the calls that it bars from processes of its own. */
#include "daemon/jail/children.h"
#include "daemon/jail/template_hold.h"
#include "daemon/jail/template_look.h"
#include "proto/util.h"
#include "tests/unit/check.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define FILES 3

static void *sleep_on(void *unused)
{
    (void)unused;
    for (;;)
        (void)pause();
    return NULL;
}

static void start_thread(void)
{
    pthread_t thread;
    (void)pthread_create(&thread, NULL, sleep_on, NULL);
}

static void start_child(void)
{
    if (fork() == 0)
        (void)sleep_on(NULL);
}

static void start_dead_child(void)
{
    if (fork() == 0)
        _exit(0);
}

static void open_file(void)
{
    (void)!open("/dev/null", O_RDONLY);
}

static void replace_file(void)
{
    int fd = open("/dev/zero", O_RDONLY);
    (void)dup2(fd, 1);
    (void)close(fd);
}

static void close_file(void)
{
    (void)close(1);
}

static void share_memory(void)
{
    (void)mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
}

static void share_read_only(void)
{
    (void)mmap(NULL, 4096, PROT_READ, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
}

static void share_deleted_file(void)
{
    int fd = open("/dev/shm", O_TMPFILE | O_RDWR, 0600);
    (void)!ftruncate(fd, 4096);
    (void)mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
    (void)close(fd);
}

/* As the C library maps its tables for other encodings. */
static void map_file_of_the_system(void)
{
    int fd = open("/proc/self/exe", O_RDONLY);
    (void)mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
    (void)close(fd);
}

static void map_privately(void)
{
    (void)mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

static void do_nothing(void)
{
}

static const struct {
    void (*act)(void);
    const char *found; /* NULL: nothing */
} cases[] = {
    {do_nothing, NULL},
    {map_privately, NULL},
    {map_file_of_the_system, NULL},
    {start_thread, "it has several threads"},
    {start_child, "it has a child process"},
    {start_dead_child, "it has a child process"},
    {open_file, "it keeps a file open"},
    {replace_file, "it has replaced a descriptor"},
    {close_file, "it has closed a descriptor"},
    {share_memory, "it shares memory"},
    {share_read_only, "it shares memory"},
    {share_deleted_file, "it shares memory"},
};

/* Becomes a process with FILES descriptors, and acts. */
_Noreturn static void live(void (*act)(void))
{
    int null = open("/dev/null", O_RDWR);
    for (int fd = 0; fd < FILES; fd++)
        (void)dup2(null, fd);
    (void)close_range(FILES, ~0U, 0);
    (void)setpgid(0, 0);
    act();
    (void)raise(SIGSTOP);
    _exit(0);
}

static void end(pid_t pid)
{
    (void)kill(-pid, SIGKILL);
    (void)kill(pid, SIGKILL);
    (void)waitpid(pid, NULL, 0);
}

static void test_what_it_has(void **state)
{
    struct template_file files[FILES];
    int proc = open("/proc", O_RDONLY | O_DIRECTORY), null = open("/dev/null", O_RDWR), status;
    (void)state;
    for (size_t i = 0; i < FILES; i++)
        assert_int_equal(template_file_of(null, &files[i]), 0);
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        pid_t pid = fork();
        if (pid == 0)
            live(cases[i].act);
        assert_int_equal(waitpid(pid, &status, WUNTRACED), pid);
        assert_true(WIFSTOPPED(status));
        const char *found = template_look(proc, pid, files, FILES);
        long count = template_count_files(proc, pid);
        end(pid);
        assert_string_equal(found ? found : "nothing", cases[i].found ? cases[i].found : "nothing");
        assert_int_equal(count, cases[i].act == open_file    ? FILES + 1
                                : cases[i].act == close_file ? FILES - 1
                                                             : FILES);
    }
    const char *found = template_look(proc, (pid_t)(1 << 22), files, FILES);
    assert_string_equal(found, "it has several threads"); /* what cannot be seen is not good */
    assert_int_equal(template_count_files(proc, (pid_t)(1 << 22)), -1);
    (void)close(proc);
    (void)close(null);
}

static void test_dumpable(void **state)
{
    int proc = open("/proc", O_RDONLY | O_DIRECTORY), status;
    uid_t uid = 64017;
    (void)state;
    for (int dumpable = 0; dumpable < 2; dumpable++) {
        pid_t pid = fork();
        if (pid == 0) {
            (void)!setuid(uid);
            (void)prctl(PR_SET_DUMPABLE, dumpable);
            (void)raise(SIGSTOP);
            _exit(0);
        }
        assert_int_equal(waitpid(pid, &status, WUNTRACED), pid);
        bool is_dumpable = template_is_dumpable(proc, pid, getuid() == 0 ? uid : getuid());
        (void)kill(pid, SIGKILL);
        (void)waitpid(pid, NULL, 0);
        assert_int_equal(is_dumpable, dumpable);
    }
    assert_true(template_is_dumpable(proc, (pid_t)(1 << 22), uid));
    (void)close(proc);
}

/* In a process of its own, which keeps the filter. */
static int use_barred_calls(void)
{
    struct rlimit limit = {10, 10};
    struct sched_param parameter = {0};
    CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && template_bar() == 0);
    for (pid_t pid = 1; pid < TEMPLATE_PIDS; pid++) {
        CHECK_ERRNO(prlimit(pid, RLIMIT_NOFILE, NULL, &limit), EPERM);
        CHECK_ERRNO(setpriority(PRIO_PROCESS, (id_t)pid, 19), EPERM);
        CHECK_ERRNO(sched_setscheduler(pid, SCHED_BATCH, &parameter), EPERM);
        CHECK_ERRNO(sched_setparam(pid, &parameter), EPERM);
        CHECK_ERRNO(syscall(SYS_sched_setattr, pid, NULL, 0), EPERM);
        CHECK_ERRNO(syscall(SYS_ioprio_set, 1, pid, 0), EPERM);
    }
    CHECK_ERRNO(prlimit(1 << 22, RLIMIT_NOFILE, NULL, &limit), ESRCH);
    CHECK_ERRNO(setpriority(PRIO_PROCESS, 1 << 22, 19), ESRCH);
    CHECK(prlimit(0, RLIMIT_NOFILE, NULL, &limit) == 0);
    CHECK(setpriority(PRIO_PROCESS, 0, 19) == 0);
    CHECK(sched_setscheduler(0, SCHED_BATCH, &parameter) == 0);
    return 0;
}

static void test_barred_calls(void **state)
{
    int status;
    (void)state;
    pid_t pid = fork();
    if (pid == 0)
        _exit(use_barred_calls());
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

static void test_children_that_are_listed(void **state)
{
    int proc = open("/proc", O_RDONLY | O_DIRECTORY);
    pid_t pids[4], listed[4];
    (void)state;
    assert_int_equal(children_list(proc, getpid(), listed, 4), 0);
    for (size_t i = 0; i < ARRAY_SIZE(pids); i++) {
        pids[i] = fork();
        if (pids[i] == 0)
            (void)sleep_on(NULL);
    }
    int all = children_list(proc, getpid(), listed, 4);
    int too_many = children_list(proc, getpid(), listed, 3);
    for (size_t i = 0; i < ARRAY_SIZE(pids); i++)
        end(pids[i]);
    assert_int_equal(all, 4);
    assert_int_equal(too_many, -E2BIG);
    assert_int_equal(children_list(proc, (pid_t)(1 << 22), listed, 4), -ENOENT);
    (void)close(proc);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_it_has),
        cmocka_unit_test(test_dumpable),
        cmocka_unit_test(test_barred_calls),
        cmocka_unit_test(test_children_that_are_listed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
