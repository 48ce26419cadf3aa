/* SPDX-License-Identifier: MIT */
#pragma once
/* Finding the code in what a model has written. Pure. */

#include "proto/json.h"

#include <stdbool.h>

/* The code in the N bytes of TEXT; *ret_found tells whether there is any. 0 or -ENOMEM. */
int extraction_find(const char *text, size_t n, struct bytes *ret_code, bool *ret_found);
