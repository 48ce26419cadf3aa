/* SPDX-License-Identifier: MIT */
#pragma once
/* Says in a line why a job of a batch has the answer that it has, for the summary. Pure. */

#include "summary.h"

#include "client/connection/message.h"

/* Room for a line, with its NUL. */
#define EXPLAIN_MAX 512

/* Writes why a rubric's output could not be taken: the last line of its stderr, which of a
 * traceback names the exception, or else what was wrong with what it printed. *ret_code is the
 * failure mode, borrowed. Returns false if RESULT says nothing of the kind. */
bool explain_rubric(const struct message *result, const char **ret_code, char out[EXPLAIN_MAX]);

/* Has SUMMARY say so for the job NAME, and count it if the rubric crashed: if it ended in another
 * way than by exiting with 0. */
void explain_to_summary(const struct message *result, const char *name, struct summary *summary);

/* Returns which option of the command helps against ERROR, to be put behind its message; "" if none
 * does. The daemon knows no options of its clients. */
const char *explain_remedy(const struct message *error);

/* Writes the message of ERROR, with that remedy, and, if that refuses a field that PAYLOAD (JSON,
 * of the job's submit) has, which field may have been meant. */
void explain_error(const struct message *error, const struct bytes *payload, char out[EXPLAIN_MAX]);
