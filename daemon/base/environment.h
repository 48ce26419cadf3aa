/* SPDX-License-Identifier: MIT */
#pragma once
/* The daemon's own environment, which may hold credentials. */

/* Overwrites the environment that this process was started with, so that no reader of
 * /proc/PID/environ finds anything, and keeps copies of the few variables that the daemon needs
 * (systemd's, TMPDIR, and those by which engines tell a container what it is). Call once, before
 * anything holds a pointer into the environment. 0; or -ENOMEM, after which the old environment is
 * overwritten and some of the copies are missing: the process should end. */
int environment_forget(void);
