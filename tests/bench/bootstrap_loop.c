/* SPDX-License-Identifier: MIT */
/* bootstrap-loop RESAMPLES CONFIDENCE < VALUES: reads one number a line. Prints the ends of the BCa
 * interval of the mean and the seconds that the computation took. */
#include "client/report/bootstrap.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double now(void)
{
    struct timespec at;
    (void)clock_gettime(CLOCK_MONOTONIC, &at);
    return (double)at.tv_sec + (double)at.tv_nsec / 1e9;
}

int main(int argc, char **argv)
{
    size_t n = 0, room = 0;
    double *values = NULL, value;
    if (argc != 3)
        return 64;
    while (scanf("%lf", &value) == 1) {
        if (n == room) {
            room = room ? 2 * room : 1024;
            values = realloc(values, room * sizeof(*values));
            if (!values)
                return 71;
        }
        values[n++] = value;
    }
    struct bootstrap got;
    const struct bootstrap_options options = {
        .resamples = strtoul(argv[1], NULL, 10), .seed = 1, .confidence = strtod(argv[2], NULL)};
    double began = now();
    int r = bootstrap_mean(values, n, &options, &got);
    double took = now() - began;
    free(values);
    if (r < 0)
        return 70;
    (void)printf("%.17g %.17g %.6f\n", got.bca.low, got.bca.high, took);
    return 0;
}
