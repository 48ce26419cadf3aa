/* SPDX-License-Identifier: MIT */
#pragma once
/* Names of programs that the fleet knows by name: two that run at the same time must not share
 * one. */

#include "bus.h"

enum claim_kind {
    CLAIM_SERVE,
    CLAIM_WORKER, /* its announcements say which starts it holds: those of another would hide that
                   */
};

/* Whether another program of KIND that runs now has the name NAME. Blocks for a second at most; who
 * cannot be asked counts as none. 0, or -EBUSY with FAULT. Then answers those who ask in the same
 * way, as long as BUS lives. */
int claim_name(struct bus *bus, enum claim_kind kind, const char *name, struct fault *fault);

/* Writes the first MAX bytes of this host's name, and replaces each byte that names_check() refuses
 * by a hyphen. Returns the length. RET needs MAX + 1 bytes; MAX is 64 at most. */
size_t claim_host(size_t max, char *ret);
