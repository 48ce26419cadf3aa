/* SPDX-License-Identifier: MIT */
#pragma once
/* The zygote: a process in which an interpreter waits, and of which jails are copies. Starting an
 * interpreter and loading its modules takes as long as a hundred jails. The zygote pays for it once
 * per configuration; a jail that is a copy of it is ready in a few milliseconds.
 *
 * It is the jail program itself under another name, and runs as the daemon's account in namespaces
 * of its own. It runs nothing but its interpreter's start, the modules of the standard set-up and
 * those of the checker: no job, no file of a job, no message of a jail. It holds no secret, not
 * even a pass; its environment is empty, and it has no capability left when its first copy is made.
 * No jail keeps a descriptor of it. No job can see it, since jobs live in other pid namespaces,
 * below other mounts; or trace it, since it is undumpable and belongs to a user namespace above
 * theirs.
 *
 * The copies are siblings of the zygote, children of the daemon (CLONE_PARENT), in new namespaces
 * from their first instruction on. They share the layout of their address spaces, as the jobs of
 * one jail always did. */

#include "interpreter.h"

/* Makes this process the zygote that INTERPRETER waits in: receives its set-up by LINK_FD, starts
 * the interpreter in a view over DIRECTORY, answers READY, and then makes one copy of itself per
 * request. Returns in each copy, with the jail's link as LINK_FD and the jail's directory, which
 * DIRECTORY is overwritten with as far as its space goes. The zygote itself ends when its link is
 * closed.
 *
 * Call it after lockdown_prepare(): copies inherit signal dispositions and limits. */
char *zygote_run(const struct jail_interpreter *interpreter, char *directory);
