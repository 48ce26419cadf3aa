/* SPDX-License-Identifier: MIT */
#pragma once
/* What the commands of a session do beyond executing a path: find a program in PATH, write a file,
 * read one. It runs in the process of the command, which is confined as any job's: so paths lead
 * where the job's own programs could go, and no further.
 *
 * Nothing here allocates, logs or uses stdio. */

#include "lockdown.h"

/* Enters the directory and executes the program, as LINK_EXEC says. Never returns; fails as
 * lockdown_exec() does. May run in the jail's memory. */
_Noreturn void act_exec(const struct lockdown *lockdown);

/* Writes or reads the file, as LINK_WRITE and LINK_READ say, and exits: with 0, or with the errno
 * of what failed. Only regular files of at most SESSION_FILE_BYTES_MAX bytes, and none of /proc:
 * this process is a copy of the jail and must not tell of itself. */
_Noreturn void act_on_file(const struct lockdown *lockdown);
