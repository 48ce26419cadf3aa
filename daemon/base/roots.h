/* SPDX-License-Identifier: MIT */
#pragma once
/* Paths that a client names, and the roots under which they have to lie. */

#include <stdbool.h>
#include <stddef.h>

struct roots {
    const char *const *item; /* absolute paths, borrowed; links in them are followed */
    size_t count;
};

/* The canonical path of an open descriptor, to be freed; NULL if it has none that fits. */
char *roots_path_of(int fd);

/* The first directory on the way to PATH, or PATH itself, that this process may not enter, to be
 * freed; NULL if there is none. */
char *roots_closed_to_us(const char *path);

/* Whether PATH is ROOT or lies under it, by their names alone. */
bool roots_contain(const char *root, const char *path);

/* Whether PATH, which is canonical, lies under one of ROOTS or is one. */
bool roots_allow(const struct roots *roots, const char *path);
