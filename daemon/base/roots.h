/* SPDX-License-Identifier: MIT */
#pragma once
/* Checks that the paths that a client names lie under the configured roots. */

#include <stdbool.h>
#include <stddef.h>

struct roots {
    const char *const *item; /* absolute paths, borrowed; symbolic links in them are followed */
    size_t count;
};

/* Returns the canonical path of an open descriptor, which the caller frees; NULL, with errno, if it
 * has none, it is too long, or something was short. */
char *roots_path_of(int fd);

/* Returns the first directory on the way to PATH, or PATH itself, that this process may not enter;
 * the caller frees it. NULL if there is none. */
char *roots_closed_to_us(const char *path);

/* Returns whether PATH is ROOT or lies under it, judging by the names alone. */
bool roots_contain(const char *root, const char *path);

/* Returns 1 if PATH, which is canonical, is one of ROOTS or lies under one, and 0 if not; a
 * negative errno if it could not be found out for want of something. */
int roots_allow(const struct roots *roots, const char *path);

/* The directory that each view makes anew and that hides PATH of the host, or is PATH; NULL if none
 * does. */
const char *roots_covered(const char *path);
