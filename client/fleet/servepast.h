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

/* Begins, for serve NAME, which claim_name() has found to be the only one, in its start INSTANCE;
 * the rest happens in bus_dispatch(). PAST stays where it is; NAME and INSTANCE are borrowed. */
void servepast_clear(struct servepast *past, struct bus *bus, const char *name,
                     const char *instance);

/* Whether RUN is one of an earlier start. */
bool servepast_is_mine(const struct servepast *past, const char *run);
