/* SPDX-License-Identifier: MIT */
#pragma once
/* SIGINT, SIGTERM and SIGHUP as a descriptor to poll. */

#include "proto/util.h"

struct interrupt {
    int fd;
};

#define INTERRUPT_NULL \
    {                  \
        .fd = -1,      \
    }

/* From here on the signals arrive at ret->fd only; those that the program was started with as
 * ignored (nohup) stay so. 0 or negative errno. */
int interrupt_init(struct interrupt *ret);

/* How many signals have come since the last call. */
unsigned interrupt_count(struct interrupt *interrupt);

void interrupt_deinit(struct interrupt *interrupt);
#define _cleanup_interrupt_ _cleanup_(interrupt_deinit)
