/* SPDX-License-Identifier: MIT */
#pragma once
/* Makes tests of the tasks of EvalPlus in its raw format, which has inputs instead of tests:
 * `base_input` and `plus_input`, arrays of argument lists. What is right for an input is what
 * `canonical_solution` returns. Pure. */

#include "proto/json.h"

/* Python that defines what the tests consist of: evalplus.py. */
extern const char evalplus_code[];

/* Tells whether OBJECT is such a task. */
bool evalplus_is_raw(const json_t *object);

/* Whether the function of such a task has the name of what would test it: its test is a program
 * that calls it then, in the place of one that defines check(). */
bool evalplus_calls(const json_t *object);

/* Makes the text of a program that defines check(), or calls it (evalplus_calls()), of the task
 * OBJECT, which was read from the N bytes of TEXT. `prompt`, `canonical_solution` and `entry_point`
 * must be strings. -EINVAL with FAULT, or -ENOMEM; the caller owns *ret, a string. */
int evalplus_make_test(const json_t *object, const char *text, size_t n, json_t **ret,
                       struct fault *fault);
