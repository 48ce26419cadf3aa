/* SPDX-License-Identifier: MIT */
#pragma once
/* Finds the class of a Java program by which its file has to be called. Pure. */

#include <stddef.h>

/* Finds in the N bytes of CODE the package (NULL: none) and the class: the public one; else the
 * first with a main(); else the first; else "Main". 0 or -ENOMEM; the caller frees both. */
int program_class_find(const char *code, size_t n, char **ret_package, char **ret_class);
