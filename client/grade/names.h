/* SPDX-License-Identifier: MIT */
#pragma once
/* Finds the names under test of a task: what the data set's own solution defines at its top level
 * and the tests use without defining it themselves. Without them a name that is also one of
 * Python's library belongs to the library (proto/protocol.md, "Whose name it is"), and a task whose
 * function is called `count` could not be judged. Samples have no part in it. Pure. */

#include "proto/json.h"

/* JSON strings, borrowed; NULL: the task has none. */
struct names_texts {
    const json_t *prompt; /* the beginning of the solution; what it defines is not under test */
    const json_t *solution;
    const json_t *entry_point; /* under test anyway, so left out */
    const json_t *test;
    const json_t *targets; /* an array of strings, instead of `test` */
    const json_t *setup;
};

/* Returns 0 and an array of strings in the order of their definitions, which the caller owns; NULL
 * if there is no such name. -ENOMEM. */
int names_find(const struct names_texts *texts, json_t **ret);
