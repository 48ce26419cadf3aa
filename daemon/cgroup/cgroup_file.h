/* SPDX-License-Identifier: MIT */
#pragma once
/* Reads and writes the small files of a control group, by name below its descriptor. */

#include <stddef.h>

/* Longer than any file that is read here but cgroup.procs, of which the beginning suffices. */
#define CGROUP_FILE_MAX 4096

/* Reads at most SIZE - 1 bytes and appends a NUL. Returns the number of bytes or a negative
 * errno. */
int cgroup_file_read(int dir, const char *name, char *text, size_t size);

/* Writes TEXT in one write(2). 0 or a negative errno. */
int cgroup_file_write(int dir, const char *name, const char *text);

/* Opens the group NAME below DIR. Returns a descriptor that the caller owns, or a negative
 * errno. */
int cgroup_file_open_group(int dir, const char *name);

/* Reads all of a file of any length, but at most MAX bytes, into *ret, which the caller frees. 0 or
 * a negative errno. */
int cgroup_file_read_all(int dir, const char *name, size_t max, char **ret);
