/* SPDX-License-Identifier: MIT */
#pragma once
/* "Did you mean ...?" */

#include <stddef.h>

/* The one of the N CANDIDATES that TYPED most likely stands for: it begins with TYPED, or a few
 * letters are wrong, missing, doubled or swapped. NULL where none is near. */
const char *suggest(const char *typed, const char *const *candidates, size_t n);
