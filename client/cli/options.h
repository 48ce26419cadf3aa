/* SPDX-License-Identifier: MIT */
#pragma once
/* Commands and their options as tables, from which the parser, --help, the shell completions and
 * the man page are made.
 *
 * Room client/cli: the command line of rubricctl: its options and help, the files and limits that
 * options name, its exit statuses. It may include client/terminal, conf and proto; it knows no
 * connection and no single command (main.c hands the table of commands to help).
 *
 * Invariants:
 *  - An option is one row of a table; no command parses options by itself.
 *  - Whatever is wrong with a command line ends in one complaint on stderr and STATUS_USAGE. */

#include "exitstatus.h"

#include "conf/optparse.h"

#include <stdio.h>

struct session;

/* The options that every command takes, before its name or after it. */
struct globals {
    const char *socket;
    bool embedded;
    const char *config;
    long slots; /* 0: the daemon's default */
    bool no_fail;
    bool help;
    bool version;
    /* Opens a session in another way than those above say; it complains on stderr if it cannot.
     * NULL: none. No option sets it. */
    int (*open)(const struct globals *globals, struct session *ret);
    const void *open_arg;
};

struct command {
    const char *name;
    const char *arguments; /* for the line of usage: "FILE...", or "" */
    enum option_value argument_value;
    int arguments_min;
    int arguments_max;  /* -1: any number */
    bool takes_command; /* the arguments are a command with options of its own, so that our options
                         * end at the first argument */
    const char *brief;  /* one line, no full stop */
    const char *description;
    const char *examples;
    const char *exits;
    const struct option_spec *options;
    size_t n_options;
    size_t options_size;        /* of the struct that receives the values */
    struct option_table shared; /* a table that several commands share; may be empty */
    struct option_table also;   /* another one */
    enum exit_status (*run)(const struct globals *globals, const void *options,
                            const struct text_list *arguments);
};

enum { GLOBAL_OPTIONS = 7 };
extern const struct option_spec global_options[GLOBAL_OPTIONS];

/* A program that has commands. */
struct program {
    const char *name; /* what people type before the command: "rubricctl" */
    /* The options of every command, for a struct that begins with struct globals. */
    const struct option_spec *options;
    size_t n_options;
    const struct command *const *commands; /* in the order in which help lists them */
    size_t n_commands;                     /* at most PROGRAM_COMMANDS_MAX */
    void (*help)(FILE *out, const struct program *program);
    /* Whether the options of every command can be right, before one runs. A negative errno with
     * FAULT: it is wrong usage. NULL: nothing is to be looked at. */
    int (*check)(const struct globals *globals, struct fault *fault);
};

#define PROGRAM_COMMANDS_MAX 32

/* Parses the options before the command's name. Returns the index of that name in ARGV, or ARGC if
 * there is none; -1 after a complaint on stderr. */
int options_parse_globals(const struct program *program, int argc, char **argv,
                          struct globals *globals);

/* Parses ARGV, whose first word is the name of COMMAND. OPTIONS is the command's zeroed struct.
 * Returns 0, or -1 after a complaint on stderr. With globals->help or globals->version set, missing
 * or surplus arguments are no mistake. */
int options_parse_command(const struct program *program, const struct command *command, int argc,
                          char **argv, struct globals *globals, void *options,
                          struct text_list *arguments);

/* Frees the lists that the parser made in OPTIONS. */
void options_deinit(const struct command *command, void *options);
