/* SPDX-License-Identifier: MIT */
#pragma once
/* Foreign text in XML and HTML. Pure. */

#include <stddef.h>
#include <stdio.h>

/* Writes N arbitrary bytes so that they are text and nothing else, in an element or between double
 * quotes: & < > " ' as references, line breaks and tabs as \n, \r, \t, other control characters and
 * those that turn the direction of writing as \x1b, \u202e, ill-formed UTF-8 and what XML has no
 * place for as U+FFFD. */
void markup_put(FILE *out, const char *text, size_t n);
