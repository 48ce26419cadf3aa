/* SPDX-License-Identifier: MIT */
#pragma once
/* What a job that did not pass left behind to explain it: the end of its stderr, or else of its
 * stdout; of a program, what its compiler said, or the first test that did not pass. Pure. */

#include "line.h"

/* How much of it is kept. */
#define EVIDENCE_LINES_MAX 20
#define EVIDENCE_BYTES_MAX 2000

/* Makes the text of LINE, without a line feed at its end; NULL if there is none. The caller frees
 * it. 0 or -ENOMEM. */
int evidence_of(const struct line *line, char **ret);

/* Returns the last line, which of a traceback names the exception. */
const char *evidence_last_line(const char *output);

/* Whether OUTPUT (may be NULL) says more than DETAIL (may be NULL) does. */
bool evidence_adds(const char *detail, const char *output);

/* Whether DETAIL (may be NULL) says nothing that the end of the same text does not say better: the
 * start of a traceback has no exception in it. */
bool evidence_replaces(const char *detail, const char *output);
