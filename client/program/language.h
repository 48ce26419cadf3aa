/* SPDX-License-Identifier: MIT */
#pragma once
/* The language of a source, by the end of its name. */

/* Returns the name by which a daemon knows the language; NULL: the name does not tell. */
const char *language_of_file(const char *path);

/* Returns the name that the source has where a daemon compiles it, unless its configuration says
 * otherwise; NULL: not known, or the program decides. */
const char *language_source_of_file(const char *path);
