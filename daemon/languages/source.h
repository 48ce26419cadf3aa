/* SPDX-License-Identifier: MIT */
#pragma once
/* What a program's text says of itself. Pure. */

#include "conf/language.h"
#include "proto/bytes.h"

/* The name for the class of a program in which none is found. */
#define SOURCE_DEFAULT_CLASS "Main"

#define SOURCE_CLASS_MAX 128

/* Finds the class that has the entry point of CODE, in Java's words or those of languages like it:
 * the public class, interface, enum or record; else the one, or the object, around the first
 * `main`; else an object that extends App; else the first of all; else SOURCE_DEFAULT_CLASS. Words
 * in comments and strings do not count. */
void source_class(const struct bytes *code, char ret[SOURCE_CLASS_MAX]);

/* Finds the name of the file for CODE and its class; the caller frees both. 0 or -ENOMEM. */
int language_source_name(const struct language *language, const struct bytes *code,
                         char **ret_source, char **ret_class);
