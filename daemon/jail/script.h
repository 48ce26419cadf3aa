/* SPDX-License-Identifier: MIT */
#pragma once
/* Runs a script to its end in a fork of an interpreter that has been waiting and has run nothing
 * else. Include Python.h first. */

#include <stdio.h>

/* Call in the waiting interpreter after it has loaded all modules. 0 or a negative errno. */
int script_prepare(void);

/* Call when the waiting interpreter has got another __main__. */
void script_renew_main(void);

/* In a template (template.h), call before it loads the helpers of its class, and after. Between
 * these, what is opened of the bench is noted; what has been made decides whether a script that
 * ends may leave it as it is. */
void script_begin_helpers(void);
void script_end_helpers(void);

/* The first file of the bench that was opened, NULL: none. */
const char *script_has_opened(void);

/* Has scripts run CODE, a reference that is taken, in place of what is in their file. NULL: that.
 */
void script_keep_code(PyObject *code);

/* Opens the script PATH. Returns NULL with no exception set if PATH cannot be opened or is anything
 * but a file of Python text; Py_RunMain() handles those cases. */
FILE *script_open(PyObject *path);

/* Call in the fork: runs FILE as Py_RunMain() would and ends the process with its exit status.
 * Steals PATH, by which FILE was opened, and DIRECTORY, the directory of PATH with symbolic links
 * resolved. */
__attribute__((noreturn)) void script_run(FILE *file, PyObject *path, PyObject *directory);
