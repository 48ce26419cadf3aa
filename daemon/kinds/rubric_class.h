/* SPDX-License-Identifier: MIT */
#pragma once
/* What a task class wants to be loaded once for all its jobs: `warm` of task_class.json. */

#include "daemon/pool/launch.h"
#include "rubricdir/digests.h"

#include <jansson.h>
#include <stddef.h>

/* Modules and helpers together: with the key they make a list of the jail's link. */
#define RUBRIC_CLASS_PARTS_MAX 60

struct rubric_class {
    size_t count;
    char *parts[RUBRIC_CLASS_PARTS_MAX]; /* owned; as jail/link.h says */
};

/* Accepts NULL and returns NULL. */
struct rubric_class *rubric_class_free(struct rubric_class *class);

/* Decodes VALUE, {modules, helpers}; NULL: the task class wants nothing, and *ret stays. 0, -EINVAL
 * with FAULT naming the JSON path, or -ENOMEM. */
int rubric_class_decode(const json_t *value, struct rubric_class **ret, struct fault *fault);

/* Room for the list of a launch. */
struct rubric_class_list {
    char key[LAUNCH_CLASS_KEY_SIZE];
    const char *parts[1 + RUBRIC_CLASS_PARTS_MAX + 1];
};

/* Fills LIST with the key of CLASS and its parts, for LAUNCH, which is complete but for that.
 * DIGEST is that of the rubric's directory. The key covers that digest, when a file was
 * last changed, the bench, the arguments, each limit that a process is given at its start, and what
 * CLASS loads. LIST borrows from CLASS. */
void rubric_class_list(const struct rubric_class *class, const struct rubric_digest *digest,
                       const struct launch *launch, struct rubric_class_list *list);
