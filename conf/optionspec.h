/* SPDX-License-Identifier: MIT */
#pragma once
/* One row of a program's table of options. The parser, --help, the shell completions and the man
 * pages are all made from such tables. */

#include <stdbool.h>
#include <stddef.h>

/* The words of the command line that one option or a command collected. The array is on the heap,
 * its strings are borrowed from argv. */
struct text_list {
    const char **items;
    size_t n;
};

enum option_kind {
    OPTION_FLAG,   /* bool: set to true */
    OPTION_TEXT,   /* const char *: borrowed from argv */
    OPTION_NUMBER, /* long: min to max */
    OPTION_LIST,   /* struct text_list: each occurrence is appended, at most max of them */
};

/* The type of an option's value, so that a shell can complete it. */
enum option_value {
    VALUE_OTHER, /* no value, or one that no shell can complete */
    VALUE_FILE,
    VALUE_DIRECTORY,
    VALUE_SOCKET,
    VALUE_CHOICE,     /* one of `choices` */
    VALUE_TASK_CLASS, /* a folder with a rubric.py beneath --bench-root */
    VALUE_NAMED_FILE, /* NAME or NAME=PATH, a file either way */
    VALUE_VARIABLE,   /* NAME or NAME=VALUE, NAME a variable of the environment */
    VALUE_LIMIT,      /* NAME=VALUE, NAME a limit that requests know */
    VALUE_SETTING,    /* SECTION.KEY=VALUE, a key of the configuration */
    VALUE_JOB,        /* the number of a running job */
    VALUE_COMMAND,    /* a command of the shell, and its arguments */
};

struct option_spec {
    const char *name;
    const char *argument; /* NULL exactly for a flag */
    const char *help;
    size_t offset;    /* of the value in the struct that the table describes */
    const char *hint; /* ends the complaint about a number that is none; may be NULL */
    long min, max;    /* of a list: max 0 means any number of items */
    long absent;      /* for a number whose argument may be left out: its value then; otherwise 0 */
    enum option_kind kind;
    enum option_value value;
    const char *choices; /* separated by spaces */
    char letter;         /* 0: none */
    bool last;           /* the parser reads nothing behind this option */
};

/* A table whose values go to OFFSET in the command's struct. */
struct option_table {
    const struct option_spec *specs;
    size_t n;
    size_t offset;
};
