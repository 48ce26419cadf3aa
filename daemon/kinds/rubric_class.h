/* SPDX-License-Identifier: MIT */
#pragma once
/* What a task class has loaded once for all its jobs, made ready for jails: the modules and helpers
 * that its task_class.json names, and the rubric itself. */

#include "rubric_files.h"

struct rubric_class {
    struct launch_class launch; /* its pack is owned; 0 or less if there is a problem */
    char digest[72];            /* "sha256:" and 64 digits; empty if there is a problem */
    char problem[128];          /* why nothing can be loaded; empty: it can */
};

void rubric_class_deinit(struct rubric_class *class);

/* Reads the files of the task class NAME, whose rubric is at PLACE and has the path SCRIPT for
 * jobs. That they cannot be read is no error here, but a problem of the class. 0 or -ENOMEM. */
int rubric_class_pack(const struct task_class *task_class, const struct rubric_place *place,
                      const char *name, const char *script, struct rubric_class *ret);
