/* SPDX-License-Identifier: MIT */
#pragma once
/* The rubrics of a run, as its front sees them: it finds out which digest the directory of each
 * job's rubric has, has the job name it, and stores the directory in the fleet before the job is
 * queued. */

#include "bus.h"

#include "rubricdir/bounds.h"

#include <jansson.h>

/* "DIGEST TASK_CLASS". */
#define FRONTBENCHES_NAME_SIZE (RUBRICDIR_DIGEST_SIZE + 256)

struct frontbenches;

/* Called when jobs of the rubric NAME may be queued. */
typedef void frontbenches_ready(void *arg, const char *name);

/* 0 or -ENOMEM. */
int frontbenches_new(struct bus *bus, frontbenches_ready *ready, void *arg,
                     struct frontbenches **ret);

/* Accepts NULL and returns NULL. */
struct frontbenches *frontbenches_free(struct frontbenches *benches);

/* Returns the fields of a job with the digest of its rubric's directory, if it has a rubric that
 * can be read here or names a digest itself, and writes that to RET_NAME; else "". A new reference;
 * NULL when memory runs out. */
json_t *frontbenches_name(struct frontbenches *benches, const json_t *fields,
                          char ret_name[FRONTBENCHES_NAME_SIZE]);

/* Whether jobs of the rubric NAME may be queued now; if not, `ready` is called when they may. */
bool frontbenches_is_ready(const struct frontbenches *benches, const char *name);
