/* SPDX-License-Identifier: MIT */
#pragma once
/* SandboxFusion's POST /run_code: its request as a job, and the result in its words. Pure. */

#include "steps.h"

struct fusion_job {
    json_t *job;
    const struct language *language;
};

/* Makes the job of REQUEST. 0; -EINVAL if the request is not as SandboxFusion has it, with the body
 * of the answer (status 422) in *ret_refusal; -ENOENT if no language has that name, with a message
 * in FAULT for fusion_trouble(); -ENOMEM. The caller owns ret->job. */
int fusion_job(const json_t *request, const struct language_list *languages,
               const struct steps_host *host, struct fusion_job *ret, json_t **ret_refusal,
               struct fault *fault);

/* Whether RESULT may be that of a host that lacks the compiler or the interpreter: its last step
 * ended as env(1) does without the program. A program of the request can end so, too. */
bool fusion_may_lack_language(const json_t *result);

/* Looks up in STATUS, `languages` of the daemon's status, whether the host has LANGUAGE. 0; -ENOENT
 * if it lacks it, with a message in FAULT for fusion_trouble(). */
int fusion_check_language(const struct language *language, const json_t *status,
                          struct fault *fault);

/* Makes the answer to RESULT, that of a job in LANGUAGE. NULL for lack of memory. */
json_t *fusion_answer(const struct language *language, const json_t *result);

/* Makes the answer that says that the program did not run: `SandboxError`. NULL for lack of memory.
 */
json_t *fusion_trouble(const char *message);
