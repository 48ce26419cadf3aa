/* SPDX-License-Identifier: MIT */
#pragma once
/* Landlock rulesets: what a job may do with files, TCP, signals and abstract sockets. Each version
 * of the kernel's interface handles more; rights that a version does not know are left out. */

#include <stdbool.h>
#include <stdint.h>

/* Returns the version of the kernel's interface, 0 if there is none. */
int landlock_version(void);

/* Returns what a ruleset of VERSION forbids unless a rule allows it. Pure. */
struct landlock_handled {
    uint64_t files, tcp, scopes;
};
struct landlock_handled landlock_handled(int version, bool files, bool network);

/* Rights to a file, or to everything beneath a directory. */
enum landlock_access {
    LANDLOCK_READ,   /* read and run */
    LANDLOCK_WRITE,  /* anything but making device nodes */
    LANDLOCK_DEVICE, /* read and write, but not create */
};

/* Makes a ruleset that forbids access to files (if FILES), TCP (if NETWORK), and always to
 * processes and abstract sockets outside the job. The caller owns the descriptor. -EOPNOTSUPP
 * without Landlock, or if VERSION supports none of these. PASS takes the call through the jail's
 * filter, if there is one (pass.h). */
int landlock_new(int version, bool files, bool network, uint64_t pass);

/* Allows ACCESS to the file or directory that FD refers to (O_PATH suffices). 0 or a negative
 * errno. */
int landlock_allow(int ruleset, int version, int fd, enum landlock_access access);

/* Like landlock_allow(), by path. Returns 0 also if nothing is at PATH or it cannot be reached. */
int landlock_allow_path(int ruleset, int version, const char *path, enum landlock_access access);

/* Confines the calling process and its descendants. Needs no_new_privs, or CAP_SYS_ADMIN in the
 * process's user namespace. 0 or a negative errno. */
int landlock_enforce(int ruleset);
