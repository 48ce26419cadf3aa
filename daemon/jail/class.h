/* SPDX-License-Identifier: MIT */
#pragma once
/* Loads what a task class needs, in the interpreter of its template (template.h). Include Python.h
 * first. */

#include <stddef.h>

/* Loads what DATA says, the content of LINK_CLASS (link.h), with the NAMES of the prelude of
 * warm.c. Returns a new list, sorted, of the top-level names of all modules that are loaded but the
 * class's own helpers; and stores the code of the script in *ret_code, a new reference, NULL if it
 * must be compiled where it runs. On failure returns NULL with no exception set, and the reason in
 * WHY (SIZE bytes). */
PyObject *class_load(PyObject *names, PyObject *data, PyObject **ret_code, char *why, size_t size);
