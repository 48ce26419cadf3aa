/* SPDX-License-Identifier: MIT */
#pragma once
/* What MultiPL-E's programs need beside a language's own packages, and what stands in for it:
 * modules of Lua and Perl, tuples of Java, and assertions of C#. Pure. */

#include "textbuf.h"

/* Writes what stands before a program in LANGUAGE, on its first line, so that lines are counted as
 * its author does. */
void mpl_put_head(struct textbuf *out, const char *language);

/* Copies the N bytes of TESTS for a program in LANGUAGE. In Java assertions are off unless the one
 * who starts it says otherwise, as MultiPL-E's evaluator does: here they are calls. */
void mpl_put_tests(struct textbuf *out, const char *language, const char *tests, size_t n);

/* Copies the N bytes of TEXT, the program with its tests, for languages whose libraries are stood
 * in for: without imports of what is not there, and with it. */
void mpl_put_program(struct textbuf *out, const char *language, const char *text, size_t n);
