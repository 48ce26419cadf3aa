/* SPDX-License-Identifier: MIT */
#pragma once
/* Makes a jail of a process that was just started, once, before its first job. */

#include "enclosure.h"
#include "interpreter.h"
#include "start.h"

#include <stdbool.h>

/* The parts of a jail that its set-up fills. */
struct setup_parts {
    int link;
    struct enclosure *enclosure;
    struct start *start;
};

/* Keeps the numbers of a pair's descriptors from everything that the jail opens: what becomes one
 * of them in a job must not be another before. 0 or a negative errno. */
int setup_descriptors(void);

/* Receives the set-up, builds the enclosure accordingly, and sends the notice READY. IS_COPY: of
 * the zygote, so the interpreter is prepared. 0 or a negative errno. */
int setup_jail(const struct setup_parts *parts, const struct jail_interpreter *interpreter,
               const char *slot_directory, bool is_copy);
