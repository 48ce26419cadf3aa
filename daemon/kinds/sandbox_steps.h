/* SPDX-License-Identifier: MIT */
#pragma once
/* The steps of a sandbox job: several programs one after another, each in a directory with the
 * files that the one before has left. These are collected and given to the next: regular files with
 * their modes, and nothing else. */

#include "sandbox_plan.h"

struct sandbox_steps;

/* Makes what a job of steps keeps while it runs, and plans the first in PLAN. As kind_ops.plan().
 */
int sandbox_steps_plan(struct kind_plan *plan, const struct job_spec *spec,
                       const struct kind_host *host, enum error_code *ret_code,
                       struct fault *fault);

/* As kind_ops.next(); PLAN is not NULL. */
int sandbox_steps_next(struct kind_plan *plan, const struct job_spec *spec, void *kept,
                       const struct kind_host *host, const struct slot_result *result,
                       enum error_code *ret_code, struct fault *fault);

/* As kind_ops.kept_bytes(); KEPT may be NULL. */
size_t sandbox_steps_bytes(const void *kept);

/* Tells in RET what each step did, with its output; the last one ended as RUN says. A last step
 * whose files could not be given to the next has failed, and RUN's outcome is changed to say so:
 * its processes took too long to end, or else it has exceeded the limit of disk. 0 or -ENOMEM. */
int sandbox_steps_judge(const struct kind_run *run, struct judgement *ret);

/* As kind_ops.free_kept(). */
void sandbox_steps_free(void *kept);
