/* SPDX-License-Identifier: MIT */
#pragma once
/* Takes away what an earlier `fleet serve` of the same name has left at the server, because it was
 * killed: jobs that nobody waits for, and the consumers of its runs. */

#include "bus.h"

struct servepast {
    struct bus *bus;
    const char *name;     /* of serve; borrowed */
    const char *instance; /* of this start, whose runs are left alone; borrowed */
    int64_t offset;       /* in the list of consumers */
    size_t n;             /* runs that were taken away */
};

/* Whether another serve that runs now has the name NAME: it would lose its jobs. Blocks for a
 * second at most; who cannot be asked counts as none. 0, or -EBUSY with FAULT. Then answers those
 * who ask in the same way: INSTANCE tells it from itself. */
int servepast_claim(struct servepast *past, struct bus *bus, const char *name, const char *instance,
                    struct fault *fault);

/* Begins, after servepast_claim(); the rest happens in bus_dispatch(). PAST stays where it is. */
void servepast_clear(struct servepast *past);

/* Whether RUN is one of an earlier start. */
bool servepast_is_mine(const struct servepast *past, const char *run);
