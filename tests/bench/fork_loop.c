/* SPDX-License-Identifier: MIT */
/* The baseline: a plain loop of fork and execve.
 *
 *     fork_loop COUNT IN_FLIGHT PROGRAM [ARGUMENT]...
 *
 * Runs PROGRAM COUNT times with IN_FLIGHT children at once and prints the seconds it took. Ends
 * with 1 if one of them does not exit with 0. */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static bool start(char **argv)
{
    pid_t pid = fork();
    if (pid == 0) {
        (void)execv(argv[0], argv);
        _exit(127);
    }
    return pid > 0;
}

static bool await_one(void)
{
    int status;
    return wait(&status) > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static double seconds(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

int main(int argc, char **argv)
{
    long count = argc > 3 ? strtol(argv[1], NULL, 10) : 0;
    long in_flight = argc > 3 ? strtol(argv[2], NULL, 10) : 0;
    if (count <= 0 || in_flight <= 0) {
        (void)fprintf(stderr, "usage: fork_loop COUNT IN_FLIGHT PROGRAM [ARGUMENT]...\n");
        return 2;
    }
    double began = seconds();
    for (long started = 0, ended = 0; ended < count; ended++) {
        for (; started < count && started - ended < in_flight; started++) {
            if (!start(argv + 3)) {
                (void)fprintf(stderr, "fork_loop: fork: %s\n", strerror(errno));
                return 1;
            }
        }
        if (!await_one()) {
            (void)fprintf(stderr, "fork_loop: %s failed\n", argv[3]);
            return 1;
        }
    }
    (void)printf("%.6f\n", seconds() - began);
    return 0;
}
