/* SPDX-License-Identifier: MIT */
#pragma once
/* Delivers SIGINT, SIGTERM and SIGHUP through a descriptor to poll. */

#include "proto/util.h"

struct interrupt {
    int fd;
};

#define INTERRUPT_NULL \
    {                  \
        .fd = -1,      \
    }

/* Blocks the signals and has them arrive at ret->fd instead, which RET owns. Signals that the
 * program inherited as ignored (nohup) stay ignored. 0 or negative errno. */
int interrupt_init(struct interrupt *ret);

/* Returns how many signals have arrived since the last call. */
unsigned interrupt_count(struct interrupt *interrupt);

void interrupt_deinit(struct interrupt *interrupt);
#define _cleanup_interrupt_ _cleanup_(interrupt_deinit)
