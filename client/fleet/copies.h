/* SPDX-License-Identifier: MIT */
#pragma once
/* The copies of a stream that servers of a cluster keep beside its leader, for `fleet status`. */

#include <jansson.h>
#include <nats/nats.h>

/* Appends to RET the copies that lag or whose server is away, as {"stream", "server", "away",
 * "behind"}; "behind" counts changes of the stream. A copy may lag for moments on a busy fleet. */
void copies_add(const jsStreamInfo *info, json_t *ret);

/* Prints a line for each of COPIES, that array. */
void copies_put(const json_t *copies);
