/* SPDX-License-Identifier: MIT */
#pragma once
/* A reserve of memory. When memory runs out, the daemon frees the reserve to do what must not fail,
 * which is mostly to tell clients that memory is short.
 *
 * libevent and jansson allocate through it, because libevent drops a connection, with all of its
 * jobs, if it cannot get a buffer for the connection's bytes. Other callers that must not fail give
 * the reserve up themselves and try once more. The reserve is taken again as soon as there is
 * memory. */

#include <stdbool.h>

/* Takes the reserve and puts it behind libevent and jansson; call it before either allocates. 0 or
 * -ENOMEM. */
int reserve_init(void);

/* Gives the reserve up. Returns false if there is none. */
bool reserve_give_up(void);
