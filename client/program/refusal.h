/* SPDX-License-Identifier: MIT */
#pragma once
/* What a daemon refuses of a job, in the words of the options that made it. */

#include "programjob.h"

/* Writes MESSAGE, with which a daemon refuses the job of SOURCE and OPTIONS, to OUT: it begins with
 * the option, or the file, in place of the member of the job. Returns false if no option is about
 * that member. */
bool refusal_tell(const char *message, const char *source, const struct program_options *options,
                  char *out, size_t size);

/* Whether MESSAGE says that the checker or the interactor does not compile. Then writes that to OUT
 * without what the compiler wrote, which *ret_words is, and *ret_path the file's name. */
bool refusal_tell_compile(const char *message, const struct program_options *options, char *out,
                          size_t size, const char **ret_words, const char **ret_path);
