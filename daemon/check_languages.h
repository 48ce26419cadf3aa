/* SPDX-License-Identifier: MIT */
#pragma once
/* What `rubricd --check-config --languages` does: has a private daemon compile and run the programs
 * that the languages' files come with, as jobs, and prints how that went. */

#include "options.h"

#include "conf/config.h"

#include <stdio.h>

/* Prints a line for each language of CONFIG to OUT: its name, its version, and ok or what is wrong.
 * A language that the host lacks is told and no failure. Returns how many that it has do not work;
 * a negative errno after a complaint on stderr if that could not be found out. */
int check_languages(const struct arguments *arguments, const struct config *config, FILE *out);
