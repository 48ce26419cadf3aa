/* SPDX-License-Identifier: MIT */
#pragma once
/* Makes the tests of jobs of kind `program` of inputs and outputs as data sets have them. Pure. */

#include "task.h"

/* Tests that one task may have. */
#define IOTESTS_MAX 10000

/* Add the test of INPUT and OUTPUT, each a string or an array of strings, which are lines. WHERE
 * names them in messages. -EINVAL with FAULT, or -ENOMEM. */
int iotests_add(json_t *tests, const json_t *input, const json_t *output, const char *where,
                struct fault *fault);

/* Add a test for each two of the arrays of inputs and outputs, of the same length, that GROUP has
 * under NAMES, as iotests_add() does; WHERE is the member that is GROUP. -EINVAL with FAULT, or
 * -ENOMEM. */
int iotests_add_all(json_t *tests, const json_t *group, const char *const names[2],
                    const char *where, struct fault *fault);

/* Refuses OBJECT, which is at WHERE and holds tests, if a member other than KNOWN, a list that ends
 * with NULL, has something in it. -EINVAL with FAULT. */
int iotests_check_names(const json_t *object, const char *const *known, const char *where,
                        struct fault *fault);

/* Adds the test that calls a function with TAKE_ARGS, an array, and wants TAKE_EXPECTED, or
 * ALTERNATIVE (NULL: nothing else). Either of the first may be NULL: memory ran out. 0 or -ENOMEM.
 */
int iotests_add_call(json_t *tests, json_t *take_args, json_t *take_expected,
                     const json_t *alternative);

/* Hands TESTS over to TASK, if there is at least one. -EINVAL with FAULT. */
int iotests_give(struct task *task, json_t **tests, struct fault *fault);

/* Takes --language for TASK: the tests by standard input fit every language. A function is called
 * in Python only: -EINVAL with FAULT. */
int iotests_take_language(struct task *task, const char *wanted, struct fault *fault);
