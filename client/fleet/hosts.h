/* SPDX-License-Identifier: MIT */
#pragma once
/* The workers that have announced themselves, as a client sees them. Uses calls that block. */

#include "bus.h"

#include <jansson.h>

/* Reads the last announcement of each worker that is not older than the stream keeps them. *RET is
 * an array of objects as announce_make() makes them. Negative errno with FAULT. */
int hosts_read(struct bus *bus, json_t **ret, struct fault *fault);

/* Checks that all daemons of HOSTS confine jobs in the same way. Otherwise -EINVAL with a FAULT
 * that names two that do not. */
int hosts_check_alike(const json_t *hosts, struct fault *fault);

/* Counts their slots. */
int64_t hosts_slots(const json_t *hosts);

/* Makes the hello of a daemon that has the slots of all of them. NULL when memory runs out. HOSTS
 * is not empty. */
json_t *hosts_hello(const json_t *hosts);

/* Returns the digest of the first one's isolation, borrowed. */
const char *hosts_digest(const json_t *hosts);
