/* SPDX-License-Identifier: MIT */
#pragma once
/* Runs a script to its end in a fork of an interpreter that has been waiting and has run nothing
 * else. Include Python.h first. */

#include <stdio.h>

/* Call in the waiting interpreter after it has loaded all modules. 0 or a negative errno. */
int script_prepare(void);

/* Call when the waiting interpreter has got another __main__. */
void script_renew_main(void);

/* Call when the waiting interpreter has loaded more modules: what they have done to the filters of
 * warnings is no script's doing, unless it makes the interpreter warn of more. */
void script_renew_filters(void);

/* Call when the waiting interpreter has loaded what the scripts of a class have in common, before
 * those objects are frozen: if destroying one of them does more than free memory, each script's
 * interpreter is finalized completely. */
void script_note_loaded(void);

/* Opens the script PATH. Returns NULL with no exception set if PATH cannot be opened or is anything
 * but a file of Python text; Py_RunMain() handles those cases. */
FILE *script_open(PyObject *path);

/* Call in the fork: runs FILE as Py_RunMain() would and ends the process with its exit status.
 * Steals PATH, by which FILE was opened, and DIRECTORY, the directory of PATH with symbolic links
 * resolved. */
__attribute__((noreturn)) void script_run(FILE *file, PyObject *path, PyObject *directory);

/* The same for CODE, the script PATH compiled, whose directory is in sys.path. Borrows both. */
__attribute__((noreturn)) void script_run_code(PyObject *code, PyObject *path);
