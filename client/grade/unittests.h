/* SPDX-License-Identifier: MIT */
#pragma once
/* Makes the test of a job of kind `code_exec` of a program with classes of Python's unittest. Pure.
 */

#include "task.h"

/* Python that runs them: unittests.py. */
extern const char unittests_code[];

/* Makes a program that defines check(), of TEST and CLASSES, an array of names; NULL: all classes
 * of tests that TEST defines. The task keeps it as its `test`. -EINVAL with FAULT, or -ENOMEM. */
int unittests_take(struct task *task, const json_t *test, const json_t *classes,
                   struct fault *fault);
