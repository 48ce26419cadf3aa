/* SPDX-License-Identifier: MIT */
#pragma once
/* The language of a source, by the end of its name. */

/* Returns the name by which a daemon knows the language; NULL: the name does not tell. */
const char *language_of_file(const char *path);
