/* SPDX-License-Identifier: MIT */
#pragma once
/* How many connections the descriptors of the process suffice for. If they ran out first, whoever
 * holds the connections that there are would keep all others out: nobody makes way where
 * accept() fails. */

#include "proto/fault.h"

#include <stdint.h>

/* With fewer connections, rubricd-http does not start. */
#define DESCRIPTORS_CONNECTIONS_MIN 16

/* What else needs descriptors: the standard streams, the listening socket, those of libevent, of
 * libmicrohttpd and of systemd, and files that are open for a moment. A count found 9. */
#define DESCRIPTORS_OWN 24

/* Raises the soft limit of open files to the hard one. Returns it; UINT64_MAX if nobody knows. */
uint64_t descriptors_raise(void);

/* Cuts *CONNECTIONS down to what LIMIT descriptors leave, if there are TOKENS tokens; 0: nobody
 * needs one. Returns 0; 1 if it was cut, with a warning for the operator in FAULT; -EINVAL with
 * FAULT if hardly any are left. */
int descriptors_bound(uint64_t limit, size_t tokens, unsigned *connections, struct fault *fault);
