/* SPDX-License-Identifier: MIT */
#pragma once
/* How many sockets a network namespace has. A job whose processes are gone may still hold some: the
 * kernel keeps a socket, and every descriptor sent to it, as long as they hold each other (unix(7),
 * SCM_RIGHTS), until it happens to look for such circles. Each circle has a socket in it, so their
 * number tells whether a job has left anything of the kind. */

#include <stdint.h>

/* Opens the count of the calling process's network namespace beneath PROC, a /proc (-1: the one at
 * /proc). The caller owns the descriptor. A negative errno. */
int sockets_open(int proc);

/* Reads the count. UINT64_MAX: it is not known. */
uint64_t sockets_read(int count);
