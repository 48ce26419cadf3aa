/* SPDX-License-Identifier: MIT */
/* The baseline: a plain loop of fork and execve.
 *
 *     fork-loop [-i FILE] [-p PAUSE_US] COUNT IN_FLIGHT PROGRAM [ARGUMENT]...
 *
 * Runs PROGRAM COUNT times with IN_FLIGHT children at once. With -i each child reads FILE on its
 * standard input and writes to /dev/null. -p waits before each fork; the pause does not count.
 * Prints {"seconds": ..., "latencies_ns": [...]}; the latencies, from fork to wait, are present if
 * IN_FLIGHT is 1. Exits with 1 if a child does not exit with 0. */
#include "measured.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

struct loop {
    long count, in_flight;
    useconds_t pause_us;
    const char *input;
    char **argv;
    uint64_t *latencies_ns;
};

_Noreturn static void become(const struct loop *loop)
{
    if (loop->input) {
        int in = open(loop->input, O_RDONLY | O_CLOEXEC);
        int out = open("/dev/null", O_WRONLY | O_CLOEXEC);
        if (dup2(in, STDIN_FILENO) < 0 || dup2(out, STDOUT_FILENO) < 0)
            _exit(126);
    }
    (void)execv(loop->argv[0], loop->argv);
    _exit(127);
}

static bool start(const struct loop *loop)
{
    pid_t pid = fork();
    if (pid == 0)
        become(loop);
    if (pid < 0)
        (void)fprintf(stderr, "fork-loop: fork: %s\n", strerror(errno));
    return pid > 0;
}

static bool await_one(const struct loop *loop)
{
    int status;
    if (wait(&status) > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return true;
    (void)fprintf(stderr, "fork-loop: %s failed\n", loop->argv[0]);
    return false;
}

static bool run_many(const struct loop *loop)
{
    for (long started = 0, ended = 0; ended < loop->count; ended++) {
        for (; started < loop->count && started - ended < loop->in_flight; started++)
            if (!start(loop))
                return false;
        if (!await_one(loop))
            return false;
    }
    return true;
}

static bool run_singly(const struct loop *loop)
{
    for (long i = 0; i < loop->count; i++) {
        if (loop->pause_us > 0)
            (void)usleep(loop->pause_us);
        uint64_t began_ns = clock_now_ns();
        if (!start(loop) || !await_one(loop))
            return false;
        loop->latencies_ns[i] = clock_now_ns() - began_ns;
    }
    return true;
}

int main(int argc, char **argv)
{
    struct loop loop = {.count = 0};
    int option;
    while ((option = getopt(argc, argv, "+i:p:")) >= 0) {
        if (option == 'i')
            loop.input = optarg;
        else if (option == 'p')
            loop.pause_us = (useconds_t)strtoul(optarg, NULL, 10);
    }
    if (argc - optind >= 3) {
        loop.count = strtol(argv[optind], NULL, 10);
        loop.in_flight = strtol(argv[optind + 1], NULL, 10);
        loop.argv = argv + optind + 2;
    }
    if (loop.count <= 0 || loop.in_flight <= 0) {
        (void)fprintf(stderr, "usage: fork-loop [-i FILE] [-p PAUSE_US] COUNT IN_FLIGHT PROGRAM "
                              "[ARGUMENT]...\n");
        return 2;
    }
    bool singly = loop.in_flight == 1;
    loop.latencies_ns = calloc((size_t)loop.count, sizeof(*loop.latencies_ns));
    uint64_t began_ns = clock_now_ns();
    bool ok = loop.latencies_ns && (singly ? run_singly(&loop) : run_many(&loop));
    (void)printf("{\"seconds\": %.6f", measured_seconds(began_ns));
    measured_print_list("latencies_ns", loop.latencies_ns, singly && ok ? (size_t)loop.count : 0);
    (void)printf("}\n");
    free(loop.latencies_ns);
    return ok ? 0 : 1;
}
