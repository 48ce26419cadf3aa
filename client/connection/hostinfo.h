/* SPDX-License-Identifier: MIT */
#pragma once
/* Describes the host and programs that graded a run, so that a report can say how to repeat it
 * (proto/protocol.md, "Files of results", `run.host`). */

#include "message.h"

/* Describes this host and the daemon on it, which sent HELLO. Returns a new reference; NULL for
 * lack of memory. */
json_t *hostinfo_make(const struct message *hello);
