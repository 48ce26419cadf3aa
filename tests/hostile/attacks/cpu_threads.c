/* SPDX-License-Identifier: MIT */
/* Uses CPU time in many threads. Argument: the total in seconds.
 * Stopped by: rlimits (RLIMIT_CPU), cgroup. */
#include "attack.h"

#include <pthread.h>
#include <time.h>

#define THREADS 8

static double cpu_seconds(void)
{
    struct timespec used;
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    return (double)used.tv_sec + (double)used.tv_nsec / 1e9;
}

static void *burn(void *goal)
{
    while (cpu_seconds() < *(double *)goal)
        for (volatile int i = 0; i < 100000; i++)
            ;
    return NULL;
}

int main(int argc, char **argv)
{
    double goal = (double)argument_number(argc, argv, 1);
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++) {
        int error = pthread_create(&threads[i], NULL, burn, &goal);
        if (error != 0)
            unclear("pthread_create: %s", errno_name(error));
    }
    for (int i = 0; i < THREADS; i++)
        (void)pthread_join(threads[i], NULL);
    succeeded("%.0f s of CPU time", goal);
}
