/* SPDX-License-Identifier: MIT */
#pragma once
/* One option of a program, as it stands in a table: the parser, --help, the shell completions and
 * the man pages are all made from such tables. */

#include <stddef.h>

enum option_kind {
    OPTION_FLAG,   /* bool: set to true */
    OPTION_TEXT,   /* const char *: borrowed from argv */
    OPTION_NUMBER, /* long: min to max */
    OPTION_LIST,   /* the program's own list type: each occurrence is appended */
};

/* What a value is, so that a shell can complete it. */
enum option_value {
    VALUE_OTHER, /* nothing that can be completed, or no value */
    VALUE_FILE,
    VALUE_DIRECTORY,
    VALUE_SOCKET,
    VALUE_CHOICE,     /* one of `choices` */
    VALUE_TASK_CLASS, /* a folder with a rubric.py beneath --bench-root */
    VALUE_NAMED_FILE, /* NAME or NAME=PATH, a file either way */
    VALUE_VARIABLE,   /* NAME or NAME=VALUE, NAME one of the environment */
    VALUE_LIMIT,      /* NAME=VALUE, NAME one that requests know */
    VALUE_SETTING,    /* SECTION.KEY=VALUE, a key of the configuration */
    VALUE_JOB,        /* the number of a job that runs */
    VALUE_COMMAND,    /* a command of the shell, and its arguments */
};

struct option_spec {
    const char *name;
    const char *argument; /* NULL exactly for a flag */
    const char *help;
    size_t offset; /* of the value in the struct that the table describes */
    long min, max;
    long absent; /* of a number whose argument may be left out: what it is then; else 0 */
    enum option_kind kind;
    enum option_value value;
    const char *choices; /* with blanks between them */
    char letter;         /* 0: none */
};

/* A table whose values go to OFFSET in the command's struct. */
struct option_table {
    const struct option_spec *specs;
    size_t n;
    size_t offset;
};
