/* SPDX-License-Identifier: MIT */
#pragma once
/* Versions as clients of Piston select them (semver.org, and the ranges of npm). Pure. */

#include <stdbool.h>

#define SEMVER_TEXT_MAX 48

struct semver {
    unsigned part[3]; /* major, minor, patch */
};

/* Finds the first number with a dot in TEXT, such as the 12.2.0 in "gcc (Debian 12.2.0-14)", and
 * fills up missing parts with 0. Returns false, with 0.0.0, if TEXT has no such number. */
bool semver_find(const char *text, struct semver *ret);

void semver_print(const struct semver *version, char ret[SEMVER_TEXT_MAX]);

/* Whether SELECTOR selects VERSION: "*", "3", "3.x", "3.11.2", "^3.10.0", "~3.11", ">=3.9 <4",
 * "1.2 - 2.0", and several of these with "||" between them. A selector of any other form selects
 * nothing. */
bool semver_selects(const char *selector, const struct semver *version);
