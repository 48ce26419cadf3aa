/* SPDX-License-Identifier: MIT */
#pragma once
/* What is wrong with a rubric's answer to a case. */

#include "client/connection/message.h"

/* Complains about ANSWER, a result, if the daemon had to answer in the rubric's place, or if the
 * verdict is not as expected. ONE is the case as rubric_cases_load() makes it. Returns whether all
 * is well. */
bool rubric_verdict_is_good(const json_t *one, const struct message *answer);
