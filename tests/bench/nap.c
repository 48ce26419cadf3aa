/* SPDX-License-Identifier: MIT */
/* A program that sleeps for as many milliseconds as its argument says, by half more or less: jobs
 * that begin together do not end together. Linked statically. */
#include <stdlib.h>
#include <sys/random.h>
#include <time.h>

int main(int argc, char **argv)
{
    unsigned long ms = argc > 1 ? strtoul(argv[1], NULL, 10) : 0;
    unsigned by_chance;
    if (getrandom(&by_chance, sizeof(by_chance), 0) != (ssize_t)sizeof(by_chance))
        return 2;
    unsigned long us = ms * 500 + by_chance % (ms * 1000 + 1);
    struct timespec left = {(time_t)(us / 1000000), (long)(us % 1000000) * 1000};
    return nanosleep(&left, NULL) < 0;
}
