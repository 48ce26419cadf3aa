/* SPDX-License-Identifier: MIT */
#pragma once
/* The jail: one process per slot, the parent of that slot's jobs; and its twin, which is the parent
 * of the candidates that some of these jobs judge (twin.h).
 *
 * Duty: build an enclosure around itself once, start one job at a time inside it, remove everything
 * that the job left behind, and send a notice of how it ended.
 *
 * May include: its own files, daemon/base/clock.h, proto/limits.h and proto/util.h. The jail is
 * linked with libc alone; rubricd-jail-warm adds libpython (warm.c, large.c, pack.c and script.c
 * only).
 *
 * A jail with an interpreter is executed and starts it itself, or is a copy of the zygote
 * (zygote.h), where it has been started already.
 *
 * Jobs of a class that has something loaded ahead are forks of the class's template (template.h).
 *
 * Invariants:
 *  - The jail has one thread and runs one job at a time. For LINK_SHORT_MS after a start it does
 *    not read its link, so that a job that arrives may wait; later it hands such a job back.
 *  - It holds no secret but its pass (pass.h), and its environment is empty.
 *  - Nothing between fork and execve allocates or logs; a failure there leaves by shared memory.
 *  - A candidate and the program that judges it share the wire, the working directory and nothing
 *    else that one of them could change.
 *  - No process of a class of jobs lives while a job of another class, or of none, runs.
 *  - No process, file or mount of a job survives the notice that the job has ended, unless that
 *    notice says `leftover`; then the jail exits.
 *  - The jail wipes all data of a job (strings, file names, paths) from memory before the next job,
 *    which may be a copy of this process.
 *
 * Start reading at jail.c and spawn.c. enclosure.c is what a jail does to itself, lockdown.c what
 * happens to each job, view.c what a job sees of the host's files, work.c where it may write,
 * link.h how jail and daemon talk, twin.c the jail in the jail. */

#include "interpreter.h"

/* Runs the whole program and returns its exit status. INTERPRETER is NULL if no interpreter waits
 * in this jail. */
int jail_main(int argc, char **argv, const struct jail_interpreter *interpreter);
