/* SPDX-License-Identifier: MIT */
#pragma once
/* Whether the samples of a data set can be in the languages that they have to be in, before any of
 * them is graded. */

#include "client/connection/session.h"
#include "client/grade/dataset.h"

/* Refuses WANTED, --language, if every task is in another language; NULL is always right. -EINVAL
 * with FAULT. */
int grade_languages_agree(const struct dataset *dataset, const char *wanted, struct fault *fault);

/* Asks the daemon which languages it has, if tasks are programs. Refuses WANTED if the daemon does
 * not know it and tasks take it: -EINVAL with FAULT, which names those it knows. Says on stderr
 * which other languages of tasks the daemon lacks: their samples end in errors. A daemon that does
 * not tell, as that of a fleet, has all. */
int grade_languages_ask(struct session *session, const struct dataset *dataset, const char *wanted,
                        struct fault *fault);
