/* SPDX-License-Identifier: MIT */
#pragma once
/* The socket on which `fleet serve` listens, as the daemon's: bound here or passed by systemd. */

#include "proto/fault.h"

#include <stdbool.h>

/* Returns the socket that systemd has passed; -1: it has passed none; -EINVAL with FAULT. */
int servesocket_inherit(struct fault *fault);

/* Binds PATH with MODE and, unless GROUP is "", the group of that name, and listens. Makes the
 * parent directory if it is missing, but none above it. Replaces a socket that nobody listens on
 * any more; -EADDRINUSE if somebody does. Returns the descriptor, which is non-blocking, or a
 * negative errno with FAULT. */
int servesocket_bind(const char *path, unsigned mode, const char *group, struct fault *fault);

/* Reads "0660". 0 or -EINVAL. */
int servesocket_parse_mode(const char *text, unsigned *ret);
