/* SPDX-License-Identifier: MIT */
#pragma once
/* Memory for the moment when there is none: a reserve that is given up so that what must not fail
 * can be done, which is mostly to say that memory is short.
 *
 * libevent and jansson allocate through it: libevent drops a connection, with all of its jobs, for
 * whose bytes there is no buffer at the moment. Whoever else must not fail gives the reserve up and
 * tries once more. The reserve is taken again as soon as there is memory. */

#include <stdbool.h>

/* Takes the reserve and puts it behind libevent and jansson; call it before either allocates. 0 or
 * -ENOMEM. */
int reserve_init(void);

/* Gives the reserve up. Returns false if there is none. */
bool reserve_give_up(void);
