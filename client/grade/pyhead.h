/* SPDX-License-Identifier: MIT */
#pragma once
/* Programs in Python for data sets whose own harness puts imports before each of them. Pure. */

#include "task.h"

/* Makes the program: HEAD, the code of TEXT, and if the tests call a function, what finds it in a
 * class Solution. Of another language than Python, the code alone. 0 or -ENOMEM; the caller owns
 * *ret. */
int pyhead_join(const char *head, const struct task *task, const char *language,
                enum sample_form form, const json_t *text, json_t **ret);
