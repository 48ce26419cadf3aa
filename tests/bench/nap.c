/* SPDX-License-Identifier: MIT */
/* A program that sleeps for as many milliseconds as its argument says. Linked statically. */
#include <stdlib.h>
#include <time.h>

int main(int argc, char **argv)
{
    unsigned long ms = argc > 1 ? strtoul(argv[1], NULL, 10) : 0;
    struct timespec left = {(time_t)(ms / 1000), (long)(ms % 1000) * 1000000};
    return nanosleep(&left, NULL) < 0;
}
