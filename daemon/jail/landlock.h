/* SPDX-License-Identifier: MIT */
#pragma once
/* Landlock rulesets: what a job may do with files, TCP, signals and abstract sockets. Each version
 * of the kernel's interface knows more; what it does not know is left out. */

#include <stdbool.h>
#include <stdint.h>

/* The version of the kernel's interface, 0 where there is none. */
int landlock_version(void);

/* What a ruleset of VERSION forbids unless a rule allows it. Pure; a table in landlock.c. */
struct landlock_handled {
    uint64_t files, tcp, scopes;
};
struct landlock_handled landlock_handled(int version, bool files, bool network);

/* Rights over what is beneath a directory, or over a file. */
enum landlock_access {
    LANDLOCK_READ,   /* read and run */
    LANDLOCK_WRITE,  /* anything but making device nodes */
    LANDLOCK_DEVICE, /* read and write what is there */
};

/* A ruleset that forbids reaching files (if FILES), TCP (if NETWORK), and in any case processes and
 * abstract sockets outside of the job. The descriptor is the caller's; -EOPNOTSUPP without
 * Landlock, or where VERSION can do none of these. */
int landlock_new(int version, bool files, bool network);

/* Allows ACCESS to what FD (O_PATH will do) stands for. */
int landlock_allow(int ruleset, int version, int fd, enum landlock_access access);

/* The same by path; 0 also where there is nothing at PATH. */
int landlock_allow_path(int ruleset, int version, const char *path, enum landlock_access access);

/* Confines the calling process and its descendants. Takes no_new_privs, or CAP_SYS_ADMIN in its
 * user namespace. */
int landlock_enforce(int ruleset);
