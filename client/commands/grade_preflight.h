/* SPDX-License-Identifier: MIT */
#pragma once
/* Runs the reference solutions of a data set before its samples are graded, and says on stderr what
 * that means for the tasks (client/grade/preflight.h). */

#include "client/batch/engine.h"
#include "client/grade/preflight.h"

struct grade_preflight {
    const struct engine_options *options; /* of the run that follows */
    const char *dataset;                  /* its name, for messages */
    const char *samples;                  /* file; NULL: each task has its reference as a sample */
    struct gradejob_policy policy;        /* of all tasks */
    bool isolated_only;                   /* tasks that only pass shared are not graded */
};

/* Runs the references of the tasks of DATASET that have samples through SESSION. If a run is
 * resumed, takes over what that run decided. Complains about what goes wrong, and names the tasks
 * that are not graded as usual. If *ENDING says that the run was interrupted or the daemon lost,
 * the session cannot be used any more. 0 or -ENOMEM; the caller owns *ret, which borrows DATASET.
 */
int grade_preflight(const struct grade_preflight *with, const struct dataset *dataset,
                    struct session *session, struct ending *ending, struct preflight *ret);

/* The seconds that code gets for a job unless its task or an option says otherwise. */
double grade_preflight_default(const struct session *session);

/* The most bytes that a program may write, for no data set bounds them; 0 if the daemon's hello
 * does not say. */
int64_t grade_preflight_output(const struct session *session);

/* Writes to stderr what the preflight has cost, and what came of it; nothing if no task
 * has a reference. */
void grade_preflight_put(const struct preflight *preflight);
