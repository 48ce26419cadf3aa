/* SPDX-License-Identifier: MIT */
#pragma once
/* What the kernel's files about control groups say. Pure. */

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The version 2 group in the TEXT of /proc/PID/cgroup, where the lines of version 1 may come first:
 * "/system.slice/x.service". -ENOENT: there is none; -ENAMETOOLONG. */
int cgroup_text_group(const char *text, char *ret, size_t size);

/* Whether that text has groups of version 1. */
bool cgroup_text_is_hybrid(const char *text);

struct cgroup_mount {
    char root[PATH_MAX];  /* the group that is mounted */
    char point[PATH_MAX]; /* where */
};

/* The first cgroup2 mount in *TEXT, of /proc/PID/mountinfo, which is moved past it. 1, or 0 if
 * there is none. A mount whose line is cut or whose paths are too long is passed over. */
int cgroup_text_next_mount(const char **text, struct cgroup_mount *ret);

/* Where GROUP is found in that mount. -ENOENT: it is not in it; -ENAMETOOLONG. */
int cgroup_text_path(const struct cgroup_mount *mount, const char *group, char *ret, size_t size);

/* The number that stands after KEY in a file of lines "key number"; UINT64_MAX for "max".
 * -ENOENT: no such line; -EBADMSG: no number. */
int cgroup_text_value(const char *text, const char *key, uint64_t *ret);

/* The number that a file of one value holds, UINT64_MAX for "max". -EBADMSG: none. */
int cgroup_text_number(const char *text, uint64_t *ret);

/* Whether WORD is one of the words of TEXT, separated by spaces, as cgroup.controllers has them. */
bool cgroup_text_has_word(const char *text, const char *word);

/* The first process in a cgroup.procs that is not SELF; 0 if there is none, -1 if it is one that
 * cannot be seen from this pid namespace. */
long cgroup_text_other_process(const char *text, long self);
