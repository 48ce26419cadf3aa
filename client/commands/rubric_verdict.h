/* SPDX-License-Identifier: MIT */
#pragma once
/* What is wrong with a rubric's answer to a case. */

#include "client/connection/message.h"

/* How a rubric failed last, so that the same traceback is shown once. */
struct rubric_failure {
    struct bytes text; /* owned: the end of its stderr; data NULL: there was none */
    char *id;          /* owned: of the case that it was shown for */
    uint64_t repeated; /* cases since the first of all that failed as the case before did */
};

void rubric_failure_deinit(struct rubric_failure *last);

/* Complains about ANSWER, a result, if the daemon had to answer in the rubric's place, or if the
 * verdict is not as expected. ONE is the case as rubric_cases_load() makes it. LAST is
 * kept from one case to the next. Without VERBOSE, says nothing of a case that failed as the one
 * before, and shows only the end of a traceback. Returns whether all is well. */
bool rubric_verdict_is_good(const json_t *one, const struct message *answer,
                            struct rubric_failure *last, bool verbose);
