/* SPDX-License-Identifier: MIT */
#pragma once
/* What a program's text says of itself. Pure. */

#include "conf/language.h"
#include "proto/bytes.h"

/* The name for the class of a program in which none is found. */
#define SOURCE_DEFAULT_CLASS "Main"

#define SOURCE_CLASS_MAX 128
#define SOURCE_PACKAGE_MAX 256

/* Names that a program has for its classes, which are UTF-8, begin with no digit, and have no other
 * ASCII than letters, digits, _ and $. Neither is empty. */
struct source_names {
    char file[SOURCE_CLASS_MAX];                     /* the class after which its file is named */
    char run[SOURCE_PACKAGE_MAX + SOURCE_CLASS_MAX]; /* the one that is run, behind the names of its
                                                        packages and a dot after each */
};

/* Reads CODE in Java's words or those of languages like it. The file has the name of the public
 * class, interface, enum or record, or else of the class that is run. That is the one, or the
 * object, with a `main` that can be run: a public one before others, and the first of several. For
 * want of it: an object that extends App, the class around the first other `main`, the public one,
 * the first of all, SOURCE_DEFAULT_CLASS.
 *
 * FILE_CLASS is the class to which a `main` outside of classes belongs; or "". Unless it is "",
 * only a class with a `main` that can be run is taken instead. The program may give it another name
 * (Kotlin's `@file:JvmName("X")`). Words in comments and strings do not count. */
void source_read(const struct bytes *code, const char *file_class, struct source_names *ret);

/* Finds the name of the file for CODE and the class that is run; the caller frees both. 0 or
 * -ENOMEM. */
int language_source_name(const struct language *language, const struct bytes *code,
                         char **ret_source, char **ret_class);
