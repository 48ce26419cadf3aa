/* SPDX-License-Identifier: MIT */
#pragma once
/* Running a script to its end in an interpreter that has done nothing else, and whose process is a
 * copy of one that has been waiting. Needs Python.h first. */

#include <stdio.h>

/* In the interpreter that waits, once all that it is to load is loaded. 0 or a negative errno. */
int script_prepare(void);

/* Opens the script PATH. NULL, with no exception set, where that is something else than a file with
 * Python text, or cannot be opened: Py_RunMain() knows what to do. */
FILE *script_open(PyObject *path);

/* In the copy: runs FILE as Py_RunMain() would, and ends the process with its exit status. Takes
 * PATH, which it was opened by, and DIRECTORY, where that is with links followed. */
__attribute__((noreturn)) void script_run(FILE *file, PyObject *path, PyObject *directory);
