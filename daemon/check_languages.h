/* SPDX-License-Identifier: MIT */
#pragma once
/* What `rubricd --check-config --languages` does: has a private daemon compile and run the programs
 * that the languages' files come with, as jobs, and prints how that went. */

#include "options.h"

#include "conf/config.h"

#include <stdio.h>

/* Prints a line for each language of CONFIG to OUT: its name, its version, and ok or what is wrong.
 * A language that the host lacks has a line, too, but does not count as a failure. Returns how many
 * of the languages that the host has do not work; a negative errno after a complaint on stderr if
 * that could not be found out. */
int check_languages(const struct arguments *arguments, const struct config *config, FILE *out);
