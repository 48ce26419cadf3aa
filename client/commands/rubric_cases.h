/* SPDX-License-Identifier: MIT */
#pragma once
/* The cases of a task class, with the verdicts that they are to get. */

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

/* Cases in one file. */
#define RUBRIC_CASES_MAX 100000

/* Which cases are looked at. */
struct rubric_classes {
    const char *folder; /* has cases.jsonl and expected.jsonl */
    json_t *names;      /* of the task classes: object whose keys they are */
    bool has_others;    /* lines of other task classes are left out; otherwise they are mistakes */
};

/* Reads the cases of CLASSES into *RET, an array of {place, id, job, expected}; the last member is
 * missing where expected.jsonl does not name the case, or is not there. Complains about each line
 * that cannot be used and counts them in *RET_BAD. -ENOENT without a complaint if there is no
 * cases.jsonl, or a negative errno after one. */
int rubric_cases_load(const struct rubric_classes *classes, json_t **ret, uint64_t *ret_bad);
