/* SPDX-License-Identifier: MIT */
#pragma once
/* Removes what a job left in its directory. No process that wrote there is alive, but untrusted
 * code made everything in it: the walk follows no link, takes constant memory and descriptors at
 * any depth, and is not stopped by mode bits. */

#include <stdbool.h>

/* Whether the directory DIR is empty; false if that cannot be found out. */
bool wipe_is_empty(int dir);

/* Removes the entry NAME of the directory PARENT and everything beneath it. Returns 0, also if
 * there is no such entry, or a negative errno; then part of it may be left. */
int wipe_tree(int parent, const char *name);

/* Removes everything in the directory DIR, but not DIR itself. 0 or a negative errno. */
int wipe_contents(int dir);
