/* SPDX-License-Identifier: MIT */
#pragma once
/* Programs in Python for data sets whose own harness puts imports before each of them. Pure. */

#include "task.h"

/* Makes the program: HEAD and the code of TEXT; of another language than Python, the code alone.
 * The daemon finds the function that tests call, also in a class Solution. 0 or -ENOMEM; the caller
 * owns *ret. */
int pyhead_join(const char *head, const char *language, enum sample_form form, const json_t *text,
                json_t **ret);
