/* SPDX-License-Identifier: MIT */
/* The baseline of program jobs: a plain loop that forks, feeds, and compares.
 *
 *     feed-loop IN_FLIGHT < TESTS
 *
 * Each line of TESTS has the path of an input, that of the expected output, that of a program and
 * its argument, if any, separated by tabs. IN_FLIGHT processes share the lines; each runs its own,
 * one after another: the program reads the input as its standard input, and what it writes must be
 * the expected output, byte for byte. Prints {"seconds": ..., "passed": ...}. */
#include "measured.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define TESTS_MAX 100000
#define OUTPUT_MAX ((size_t)1 << 20)

struct test {
    char *input, *expected, *argv[3];
};

struct tests {
    struct test *of;
    long n;
};

_Noreturn static void fail(const char *what)
{
    (void)fprintf(stderr, "feed-loop: %s: %s\n", what, strerror(errno));
    exit(1);
}

/* --- one test ------------------------------------------------------------------------------ */

_Noreturn static void become(const struct test *test, int out)
{
    int in = open(test->input, O_RDONLY | O_CLOEXEC);
    if (dup2(in, STDIN_FILENO) < 0 || dup2(out, STDOUT_FILENO) < 0)
        _exit(126);
    (void)execv(test->argv[0], test->argv);
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

static bool is_expected(const struct test *test, const char *got, size_t length, char *buffer)
{
    int fd = open(test->expected, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        fail(test->expected);
    size_t n = read_all(fd, buffer);
    close(fd);
    return n == length && memcmp(got, buffer, n) == 0;
}

static bool run(const struct test *test, char *got, char *buffer)
{
    int ends[2], status;
    if (pipe2(ends, O_CLOEXEC) < 0)
        fail("pipe");
    pid_t pid = fork();
    if (pid == 0)
        become(test, ends[1]);
    if (pid < 0)
        fail("fork");
    close(ends[1]);
    size_t length = read_all(ends[0], got);
    close(ends[0]);
    if (waitpid(pid, &status, 0) != pid || !WIFEXITED(status) || WEXITSTATUS(status) != 0)
        return false;
    return is_expected(test, got, length, buffer);
}

/* --- all of them --------------------------------------------------------------------------- */

static struct tests read_tests(void)
{
    struct tests tests = {.of = calloc(TESTS_MAX, sizeof(*tests.of))};
    char *line = NULL;
    size_t size = 0;
    ssize_t n;
    while (tests.of && tests.n < TESTS_MAX && (n = getline(&line, &size, stdin)) > 0) {
        line[n - (line[n - 1] == '\n')] = '\0';
        char *rest = strdup(line);
        struct test *test = &tests.of[tests.n++];
        test->input = strsep(&rest, "\t");
        test->expected = strsep(&rest, "\t");
        test->argv[0] = strsep(&rest, "\t");
        test->argv[1] = rest;
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
        passed += run(&tests->of[i], got, buffer);
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
    long in_flight = argc == 2 ? strtol(argv[1], NULL, 10) : 0;
    if (in_flight < 1) {
        (void)fprintf(stderr, "usage: feed-loop IN_FLIGHT < TESTS\n");
        return 2;
    }
    struct tests tests = read_tests();
    uint64_t began_ns = clock_now_ns();
    long passed = run_all(&tests, in_flight);
    (void)printf("{\"seconds\": %f, \"passed\": %ld}\n", measured_seconds(began_ns), passed);
    return 0;
}
