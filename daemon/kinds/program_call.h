/* SPDX-License-Identifier: MIT */
#pragma once
/* The Python program that calls a function of a program (program_call.py). */

extern const char program_call[]; /* ends with a NUL */

/* The name of its file in the work directory. */
#define PROGRAM_CALL_FILE ".call.py"
