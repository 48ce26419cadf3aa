/* SPDX-License-Identifier: MIT */
#pragma once
/* Programming languages as data: a file each, NAME.conf, which says how programs in it are compiled
 * and run. Reads such files into plain structs; whether this host has a language is none of its
 * business. packaging/README.md ("Languages") explains the files; language_keys.c has the table of
 * their keys. */

#include "problems.h"
#include "string_list.h"

#include "proto/limits.h"

#include <stdbool.h>
#include <stdint.h>

#define LANGUAGES_MAX 64
#define LANGUAGE_NAME_MAX 32

/* The most bytes in a file. */
#define LANGUAGE_FILE_MAX (64u << 10)

/* time_factor counts in thousandths. */
#define LANGUAGE_FACTOR_ONE 1000

/* No string is NULL once the language has been read; an empty one means "none". In the words of the
 * commands, {source} and its like stand for what language_words() is told. */
struct language {
    char *name;      /* of its file: "cpp" for cpp.conf */
    char *file;      /* where it was read from */
    char digest[65]; /* SHA-256 of the file's bytes, in hexadecimal */

    /* [language] */
    struct string_list aliases;
    char *source;                /* "main.cpp", "{class}.java": the name of the program's file */
    char *package;               /* the Debian package that has it */
    struct string_list version;  /* a command whose first line of output tells the version */
    struct string_list env;      /* NAME=VALUE, with placeholders as in the commands */
    struct string_list readable; /* host paths that it needs beyond every job's view */
    bool needs_view; /* it does not work for jobs without a view of their own, which have no /tmp
                        and cannot read /proc */

    /* [compile] */
    struct string_list compile;   /* no words: there is nothing to compile */
    struct string_list artefact;  /* patterns (fnmatch) of the files that a test gets */
    bool compile_address_space;   /* as address_space */
    struct limits compile_limits; /* 0: that of the kind of job */

    /* [run] */
    struct string_list run;
    bool address_space;       /* whether the memory limit is also one of the address space: not for
                                 runtimes that reserve more than they use */
    uint64_t time_factor;     /* on the time limits of a test, in thousandths */
    uint64_t memory_overhead; /* bytes of the memory limit that are not for {heap_mb} */
    struct limits run_limits; /* 0: that of the kind of job */
    struct string_list memory_messages; /* texts on stderr that say: out of memory */
    uint64_t memory_status;             /* an exit status that says so; 0: none does */

    /* [hello], [sum]: programs for --check-config; the latter may be missing */
    char *hello; /* prints "hello" */
    char *sum;   /* prints the sum of the whole numbers on its stdin */
};

struct language_list {
    struct language *item; /* in the order of their names */
    size_t count;
};

#define LANGUAGE_LIST_NULL \
    {                      \
        .item = NULL       \
    }

/* What the placeholders in a command stand for. Strings may be NULL in a command that has none of
 * theirs. */
struct language_values {
    const char *source;     /* {source}: the name of the program's file in the work directory */
    const char *class_name; /* {class}: the class that has the entry point */
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

/* The language with this name or alias; NULL if there is none. */
const struct language *language_find(const struct language_list *list, const char *name);

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
