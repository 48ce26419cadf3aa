/* SPDX-License-Identifier: MIT */
#pragma once
/* Piston's /api/v2/runtimes and /api/v2/execute: its request as a job, and the result in its words.
 * Pure. */

#include "steps.h"

/* Makes the answer to /runtimes: those of LANGUAGES that the host has. STATUS is `languages` of the
 * daemon's status. NULL for lack of memory. */
json_t *piston_runtimes(const struct language_list *languages, const json_t *status);

struct piston_job {
    json_t *job;
    const struct language *language;
    char version[48];
};

/* Makes the job of REQUEST. STATUS tells what the host has, and why not. 0; -EINVAL with a message
 * in FAULT, for the answer with status 400; -ENOMEM. The caller owns ret->job. */
int piston_job(const json_t *request, const struct language_list *languages, const json_t *status,
               const struct steps_host *host, struct piston_job *ret, struct fault *fault);

/* Makes the answer to RESULT, that of JOB, whose `job` it does not look at. NULL for lack of
 * memory.
 */
json_t *piston_answer(const struct piston_job *job, const json_t *result);
