/* SPDX-License-Identifier: MIT */
#pragma once
/* Reads the files that describe programming languages into plain structs. Each file, NAME.conf,
 * says how programs in one language are compiled and run. This code does not know whether the host
 * has the language. packaging/README.md ("Languages") explains the files; language_keys.c has the
 * table of their keys. */

#include "language_data.h"
#include "problems.h"

/* The values of the placeholders in a command. A string may be NULL if the command does not have
 * its placeholder. */
struct language_values {
    const char *source;     /* {source}: the name of the program's file in the work directory */
    const char *class_name; /* {class}: the class that has the entry point; in the name of the
                               source the one after which that is named */
    const char *python;     /* {python}: the interpreter of [rubric] */
    uint64_t memory; /* the limit, in bytes: {memory_mb}, and {heap_mb} without the overhead */
};

/* Reads the N bytes of TEXT, the file FILE of the language NAME, and appends the language to LIST.
 * 0; -EINVAL with every mistake added to PROBLEMS; or -ENOMEM. LIST is as it was on failure. */
int language_read(const char *name, const char *file, const char *text, size_t n,
                  struct language_list *list, struct config_problems *problems);

/* Reads DIRECTORY/ *.conf, of which a link to /dev/null counts as missing, or with DIRECTORY empty
 * the files that are built in, and sorts them by name. 0; -EINVAL with every mistake of all files
 * added to PROBLEMS, names that are taken among them; -ENOENT if there is no such directory, with
 * nothing added; -ENOMEM or another shortage. The caller calls language_list_deinit() in any case.
 */
int language_list_load(struct language_list *list, const char *directory,
                       struct config_problems *problems);

/* Drops the languages that NAMES does not name. */
void language_list_keep(struct language_list *list, const struct string_list *names);

/* Whether TYPED stands for the NAME or alias of a language: letters may be of either case, and
 * blanks do not count: "Python 3" is python3. */
bool language_is_meant(const char *typed, const char *name);

/* The language with this name or alias; NULL if there is none. */
const struct language *language_find(const struct language_list *list, const char *name);

/* The name or alias that was probably meant by TYPED, which is none; NULL. */
const char *language_suggest(const struct language_list *list, const char *typed);

/* Whether both hold the same languages, by their names and their files' bytes. */
bool language_lists_equal(const struct language_list *list, const struct language_list *other);

/* Adds to RET the paths that any of the languages needs, sorted, each once. 0 or -ENOMEM. */
int language_list_readable(const struct language_list *list, struct string_list *ret);

/* Writes the WORDS of a command, or the variables of `env`, with VALUES in the place of {source}
 * and its like. The caller frees the list. 0 or -ENOMEM. */
int language_words(const struct language *language, const struct string_list *words,
                   const struct language_values *values, struct string_list *ret);

/* MS times the language's factor. */
uint64_t language_time(const struct language *language, uint64_t ms);

void language_list_deinit(struct language_list *list);
#define _cleanup_language_list_ _cleanup_(language_list_deinit)
