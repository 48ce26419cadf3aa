/* SPDX-License-Identifier: MIT */
#pragma once
/* Parses the kernel's files about control groups. Pure. */

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Finds the version 2 group in the TEXT of /proc/PID/cgroup, where lines of version 1 may come
 * first, e.g. "/system.slice/x.service". -ENOENT: none; -ENAMETOOLONG. */
int cgroup_text_group(const char *text, char *ret, size_t size);

/* Returns whether that text has groups of version 1. */
bool cgroup_text_is_hybrid(const char *text);

struct cgroup_mount {
    char root[PATH_MAX];  /* the group that is mounted */
    char point[PATH_MAX]; /* where */
};

/* Finds the first cgroup2 mount in *TEXT, which is /proc/PID/mountinfo, and moves *TEXT past it.
 * Returns 1, or 0 if there is none. Skips a mount whose line is cut or whose paths are too long. */
int cgroup_text_next_mount(const char **text, struct cgroup_mount *ret);

/* Stores the path of GROUP in that mount. -ENOENT: the mount does not include it; -ENAMETOOLONG. */
int cgroup_text_path(const struct cgroup_mount *mount, const char *group, char *ret, size_t size);

/* Reads the number after KEY in a file of lines "key number"; UINT64_MAX for "max". -ENOENT: no
 * such line; -EBADMSG: no number. */
int cgroup_text_value(const char *text, const char *key, uint64_t *ret);

/* Reads the total in microseconds from the line of KIND ("some", "full") of a file like
 * cpu.pressure: "full avg10=0.00 avg60=0.00 avg300=0.00 total=123". -ENOENT: no such line;
 * -EBADMSG: no number. */
int cgroup_text_pressure(const char *text, const char *kind, uint64_t *ret_us);

/* Reads the number in a file of one value; UINT64_MAX for "max". -EBADMSG: no number. */
int cgroup_text_number(const char *text, uint64_t *ret);

/* Returns whether WORD is one of the words of TEXT, which are separated by spaces as in
 * cgroup.controllers. */
bool cgroup_text_has_word(const char *text, const char *word);

/* Returns the first process in a cgroup.procs other than SELF; 0 if there is none, -1 if that
 * process is not visible in this pid namespace. */
long cgroup_text_other_process(const char *text, long self);
