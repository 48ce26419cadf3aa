/* SPDX-License-Identifier: MIT */
#pragma once
/* Finds what a rubric job names: <bench_root>/<task_class>/rubric.py, and task_class.json with the
 * task class's lists beside it. */

#include "kind.h"
#include "rubric_class.h"

#include "rubricdir/digests.h"

#include <jansson.h>

/* What task_class.json says. A list that is NULL: scores are not checked against it. */
struct task_class {
    unsigned references;
    json_t *breakdown_keys; /* an object whose keys are the list */
    json_t *failure_modes;
    struct rubric_class *warm; /* owned; NULL: nothing is to be loaded ahead */
};

/* Drops a reference. Accepts NULL and returns NULL. */
struct task_class *task_class_unref(struct task_class *task_class);

/* Decodes the text of a task_class.json. 0, -EINVAL with FAULT naming the JSON path, or -ENOMEM. */
int task_class_decode(const char *text, size_t n, struct task_class **ret, struct fault *fault);

/* What judging takes of a rubric job: `kept` of its plan. */
struct rubric_kept {
    struct task_class *task_class; /* a reference; NULL: no task_class.json */
    struct rubric_digest digest;
};

/* Accepts NULL and returns NULL. */
struct rubric_kept *rubric_kept_free(struct rubric_kept *kept);

/* Where a rubric is. */
struct rubric_place {
    char *path;         /* canonical; owned */
    char *root;         /* its bench root, canonical; owned */
    const char *within; /* the path relative to root: points into `path` */
    uint64_t root_device, root_inode;
    struct rubric_digest digest; /* of its directory; neither `hex` nor `why`: nobody looked */
};

#define RUBRIC_PLACE_NULL \
    {                     \
        .path = NULL      \
    }

void rubric_place_deinit(struct rubric_place *place);
#define _cleanup_rubric_place_ _cleanup_(rubric_place_deinit)

/* Finds the rubric beneath its bench root, without following a link out of it, and reads the lists.
 * What was found for an earlier job holds as long as no file of the directory has changed. The
 * caller owns *ret_place and a reference, *ret_task_class, which is NULL if there is no
 * task_class.json. On
 * failure the return value is negative and *ret_code and FAULT say what to answer: also if the job
 * names another digest than the rubric's directory has. A directory without a digest is no failure
 * for a job that names none. */
int rubric_find(const struct rubric_spec *spec, const struct rubric_roots *roots,
                struct rubric_place *ret_place, struct task_class **ret_task_class,
                enum error_code *ret_code, struct fault *fault);

/* Looks whether the digest of the job's directory takes long to find out. 1: it does not; 0: it is
 * being found out, or waits for its turn to be. */
int rubric_settle(struct rubric_spec *spec, const struct rubric_roots *roots);

/* Whether rubric_settle() may say something else than it did. */
bool rubric_is_due(const struct rubric_spec *spec, const struct rubric_roots *roots);
