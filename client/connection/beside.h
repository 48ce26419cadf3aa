/* SPDX-License-Identifier: MIT */
#pragma once
/* Programs that are installed, or built, beside the one that runs. */

#include <linux/limits.h>
#include <stddef.h>

/* Writes to OUT the path of the first of the N paths in BESIDE, relative to the folder of this
 * program, that can be executed. 0 or -ENOENT. */
int beside_find(const char *const *beside, size_t n, char out[PATH_MAX]);
