/* SPDX-License-Identifier: MIT */
#pragma once
/* The small files of a control group, by their names below its descriptor. */

#include <stddef.h>

/* Longer than any that is read here, but for cgroup.procs, of which the beginning tells enough. */
#define CGROUP_FILE_MAX 4096

/* Reads at most SIZE - 1 bytes and ends them with a NUL. Their number or a negative errno. */
int cgroup_file_read(int dir, const char *name, char *text, size_t size);

/* 0 or a negative errno. */
int cgroup_file_write(int dir, const char *name, const char *text);

/* Opens a group below DIR. The descriptor or a negative errno. */
int cgroup_file_open_group(int dir, const char *name);

/* All of a file that may be longer, cut at MAX bytes, to be freed. 0 or a negative errno. */
int cgroup_file_read_all(int dir, const char *name, size_t max, char **ret);
