/* SPDX-License-Identifier: MIT */
#pragma once
/* Lines on stderr: with sd-daemon's "<N>" prefix where systemd reads them, with the level as a word
 * where a person does. Log once, where the decision is made. */

#include "proto/util.h"

#include <stdbool.h>
#include <syslog.h> /* LOG_ERR, LOG_WARNING, LOG_INFO, LOG_DEBUG */

struct log {
    int level; /* the least urgent that is written */
    bool prefixed;
};

/* LEVEL is a syslog priority; the prefix is used where stderr is connected to the journal. */
void log_init(struct log *log, int level);

/* Whether a line of LEVEL is written: where putting it together is not for nothing. */
static inline bool log_wants(const struct log *log, int level)
{
    return level <= log->level;
}

_printf_(3, 4) void log_write(const struct log *log, int level, const char *format, ...);
