/* SPDX-License-Identifier: MIT */
/* The baselines of program jobs: a plain loop that forks, feeds, and compares.
 *
 *     feed-loop [-g DIR] IN_FLIGHT < TESTS
 *
 * Each line of TESTS has the path of an input, that of the expected output, that of a program and
 * its arguments, separated by tabs. IN_FLIGHT processes share the lines; each runs its own, one
 * after another: the program reads the input as its standard input, and what it writes must be the
 * expected output, byte for byte. Prints {"seconds": ..., "passed": ...}.
 *
 * With -g the loop does what a careful judge without a sandbox does for each test, too: a fresh
 * directory below DIR with a copy of the program, resource limits, a deadline, a process group that
 * is killed, and the directory removed. */
#include "measured.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define TESTS_MAX 100000
#define OUTPUT_MAX ((size_t)1 << 20)
#define ARGV_MAX 40
/* The limits of a guarded test. */
#define DEADLINE_MS 10000
#define MEMORY_BYTES ((rlim_t)512 << 20)
#define DISK_BYTES ((rlim_t)64 << 20)

struct test {
    char *input, *expected, *argv[ARGV_MAX + 1];
};

struct tests {
    struct test *of;
    long n;
    const char *guard; /* the directory of -g; NULL: none */
};

_Noreturn static void fail(const char *what)
{
    (void)fprintf(stderr, "feed-loop: %s: %s\n", what, strerror(errno));
    exit(1);
}

/* --- what a careful judge does ------------------------------------------------------------- */

/* Makes a fresh directory below GUARD with a copy of PROGRAM, named main. */
static void make_directory(const char *guard, const char *program, char path[PATH_MAX])
{
    char copy[PATH_MAX + 8];
    struct stat st;
    (void)snprintf(path, PATH_MAX, "%s/test-XXXXXX", guard);
    if (!mkdtemp(path))
        fail(path);
    (void)snprintf(copy, sizeof(copy), "%s/main", path);
    int from = open(program, O_RDONLY | O_CLOEXEC);
    int to = open(copy, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0700);
    if (from < 0 || to < 0 || fstat(from, &st) < 0 ||
        sendfile(to, from, NULL, (size_t)st.st_size) != st.st_size)
        fail(copy);
    close(from);
    close(to);
}

static void limit(__rlimit_resource_t resource, rlim_t most)
{
    if (setrlimit(resource, &(struct rlimit){most, most}) < 0)
        _exit(126);
}

static void set_limits(void)
{
    limit(RLIMIT_AS, MEMORY_BYTES);
    limit(RLIMIT_CPU, DEADLINE_MS / 1000);
    limit(RLIMIT_FSIZE, DISK_BYTES);
    limit(RLIMIT_NOFILE, 256);
    limit(RLIMIT_CORE, 0);
}

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *at)
{
    (void)st;
    (void)type;
    (void)at;
    return remove(path);
}

static void remove_directory(const char *path)
{
    if (nftw(path, remove_entry, 8, FTW_DEPTH | FTW_PHYS) != 0)
        fail(path);
}

/* --- one test ------------------------------------------------------------------------------ */

/* DIRECTORY is that of a guarded test, or NULL. */
_Noreturn static void become(struct test test, int out, const char *directory)
{
    int in = open(test.input, O_RDONLY | O_CLOEXEC);
    static char own[] = "./main";
    if (dup2(in, STDIN_FILENO) < 0 || dup2(out, STDOUT_FILENO) < 0)
        _exit(126);
    if (directory) {
        if (chdir(directory) < 0 || setpgid(0, 0) < 0)
            _exit(126);
        set_limits();
        test.argv[0] = own;
    }
    (void)execv(test.argv[0], test.argv);
    _exit(127);
}

/* Reads FD to its end; returns how many bytes there were. */
static size_t read_all(int fd, char *buffer)
{
    size_t length = 0;
    ssize_t n;
    while (length < OUTPUT_MAX && (n = read(fd, buffer + length, OUTPUT_MAX - length)) > 0)
        length += (size_t)n;
    return length;
}

/* The same until the deadline. */
static size_t read_in_time(int fd, char *buffer, uint64_t began_ns)
{
    size_t length = 0;
    struct pollfd pipe_end = {.fd = fd, .events = POLLIN};
    while (length < OUTPUT_MAX) {
        int left_ms = DEADLINE_MS - (int)((clock_now_ns() - began_ns) / NS_PER_MS);
        if (left_ms <= 0 || poll(&pipe_end, 1, left_ms) <= 0)
            break;
        ssize_t n = read(fd, buffer + length, OUTPUT_MAX - length);
        if (n <= 0)
            break;
        length += (size_t)n;
    }
    return length;
}

static bool is_expected(const struct test *test, const char *got, size_t length, char *buffer)
{
    int fd = open(test->expected, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        fail(test->expected);
    size_t n = read_all(fd, buffer);
    close(fd);
    return n == length && memcmp(got, buffer, n) == 0;
}

static bool run(const struct test *test, const char *guard, char *got, char *buffer)
{
    char directory[PATH_MAX];
    int ends[2], status;
    uint64_t began_ns = clock_now_ns();
    if (guard)
        make_directory(guard, test->argv[0], directory);
    if (pipe2(ends, O_CLOEXEC) < 0)
        fail("pipe");
    pid_t pid = fork();
    if (pid == 0)
        become(*test, ends[1], guard ? directory : NULL);
    if (pid < 0)
        fail("fork");
    close(ends[1]);
    size_t length = guard ? read_in_time(ends[0], got, began_ns) : read_all(ends[0], got);
    close(ends[0]);
    bool ended = waitpid(pid, &status, 0) == pid;
    if (guard) {
        (void)kill(-pid, SIGKILL);
        remove_directory(directory);
    }
    if (!ended || !WIFEXITED(status) || WEXITSTATUS(status) != 0)
        return false;
    return is_expected(test, got, length, buffer);
}

/* --- all of them --------------------------------------------------------------------------- */

static struct tests read_tests(const char *guard)
{
    struct tests tests = {.of = calloc(TESTS_MAX, sizeof(*tests.of)), .guard = guard};
    char *line = NULL;
    size_t size = 0;
    ssize_t n;
    while (tests.of && tests.n < TESTS_MAX && (n = getline(&line, &size, stdin)) > 0) {
        line[n - (line[n - 1] == '\n')] = '\0';
        char *rest = strdup(line);
        struct test *test = &tests.of[tests.n++];
        test->input = strsep(&rest, "\t");
        test->expected = strsep(&rest, "\t");
        for (size_t i = 0; i < ARGV_MAX && rest; i++)
            test->argv[i] = strsep(&rest, "\t");
    }
    free(line);
    if (tests.n == 0 || !tests.of[tests.n - 1].argv[0])
        fail("there are no tests");
    return tests;
}

/* Runs the lines of one process; returns how many passed. */
static long run_share(const struct tests *tests, long first, long step)
{
    char *got = malloc(OUTPUT_MAX), *buffer = malloc(OUTPUT_MAX);
    long passed = 0;
    if (!got || !buffer)
        fail("malloc");
    for (long i = first; i < tests->n; i += step)
        passed += run(&tests->of[i], tests->guard, got, buffer);
    free(got);
    free(buffer);
    return passed;
}

static long run_all(const struct tests *tests, long in_flight)
{
    int ends[2];
    long passed = 0, of_one;
    if (pipe(ends) < 0)
        fail("pipe");
    for (long i = 0; i < in_flight; i++) {
        pid_t pid = fork();
        if (pid < 0)
            fail("fork");
        if (pid == 0) {
            of_one = run_share(tests, i, in_flight);
            _exit(write(ends[1], &of_one, sizeof(of_one)) != sizeof(of_one));
        }
    }
    for (long i = 0; i < in_flight; i++) {
        if (wait(NULL) < 0 || read(ends[0], &of_one, sizeof(of_one)) != sizeof(of_one))
            fail("a process");
        passed += of_one;
    }
    return passed;
}

int main(int argc, char **argv)
{
    bool is_guarded = argc == 4 && strcmp(argv[1], "-g") == 0;
    long in_flight = argc == 2 || is_guarded ? strtol(argv[argc - 1], NULL, 10) : 0;
    if (in_flight < 1) {
        (void)fprintf(stderr, "usage: feed-loop [-g DIR] IN_FLIGHT < TESTS\n");
        return 2;
    }
    struct tests tests = read_tests(is_guarded ? argv[2] : NULL);
    uint64_t began_ns = clock_now_ns();
    long passed = run_all(&tests, in_flight);
    (void)printf("{\"seconds\": %f, \"passed\": %ld}\n", measured_seconds(began_ns), passed);
    return 0;
}
