/* SPDX-License-Identifier: MIT */
#pragma once
/* For the fuzz targets. Each is one file with one LLVMFuzzerTestOneInput(), which aborts if what it
 * checks does not hold. libFuzzer calls it with what it makes up (tests/fuzz/run), and replay.c
 * with the files of the target's corpus, as a test of each build. */

#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

__attribute__((visibility("default"))) int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Like assert(), but also in builds with NDEBUG. */
#define CHECK(condition)                                                                         \
    do {                                                                                         \
        if (!(condition)) {                                                                      \
            (void)fprintf(stderr, "%s:%d: does not hold: %s\n", __FILE__, __LINE__, #condition); \
            abort();                                                                             \
        }                                                                                        \
    } while (0)

/* Counts the open descriptors below 64, for targets that must leave none behind. */
static inline int fuzz_count_descriptors(void)
{
    int count = 0;
    for (int fd = 0; fd < 64; fd++)
        count += fcntl(fd, F_GETFD) >= 0;
    return count;
}
