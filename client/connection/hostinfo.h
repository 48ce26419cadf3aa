/* SPDX-License-Identifier: MIT */
#pragma once
/* Where jobs are graded, and by what: what a report needs to say how to grade the same again
 * (proto/protocol.md, "Files of results", `run.host`). */

#include "message.h"

/* Of the daemon that has sent HELLO, which runs on this host. NULL when memory runs out. */
json_t *hostinfo_make(const struct message *hello);
