/* SPDX-License-Identifier: MIT */
#pragma once
/* What a language's file says (language.h), as plain data. */

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

enum language_stack {
    LANGUAGE_STACK_USUAL, /* 8 MiB */
    LANGUAGE_STACK_UNLIMITED,
};

/* No string is NULL once the language has been read; an empty one means "none". In the words of the
 * commands, {source} and the other placeholders stand for the values that language_words() gets. */
struct language {
    char *name;      /* of its file: "cpp" for cpp.conf */
    char *file;      /* where it was read from */
    char digest[65]; /* SHA-256 of the file's bytes, in hexadecimal */

    /* [language] */
    struct string_list aliases;
    char *source;               /* "main.cpp", "{class}.java": the name of the program's file */
    char *file_class;           /* the class of a `main` that stands outside of classes: "MainKt" */
    char *package;              /* the Debian package that has it */
    struct string_list version; /* a command whose first line of output tells the version */
    struct string_list env;     /* NAME=VALUE, with {source}, {class} and {python} */
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
    bool address_space;        /* whether the memory limit is also one of the address space: not for
                                  runtimes that reserve more than they use */
    enum language_stack stack; /* of the first thread of a process */
    uint64_t time_factor;      /* on the time limits of a test, in thousandths */
    uint64_t memory_overhead;  /* bytes of the memory limit that are not for {heap_mb} */
    struct limits run_limits;  /* 0: that of the kind of job */
    struct string_list memory_messages; /* lines of stderr that say: out of memory; a `*` in them is
                                           any text */
    uint64_t memory_status; /* the exit status that comes with it, with any of these lines if there
                               are any; 0: it may be any */

    /* [compiler] */
    char
        *compiler; /* what the [compile] command gets on its stdin: a script, if that is `node -` */

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
