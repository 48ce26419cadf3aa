/* SPDX-License-Identifier: MIT */
#pragma once
/* The command line of rubricd: one table of options, which the parser, --help, the completions and
 * the man page are made from. */

#include "conf/optionspec.h"

#include <stdbool.h>
#include <stdio.h>

#define SETTINGS_MAX 64

struct setting_list {
    const char *items[SETTINGS_MAX]; /* borrowed from argv */
    size_t n;
};

struct arguments {
    const char *config_path; /* NULL: the default path, where no file need be */
    struct setting_list settings;
    bool check_config;
    long serve_fd; /* -1: none */
    bool help;
    bool version;
};

#define ARGUMENTS_NULL  \
    {                   \
        .serve_fd = -1, \
    }

extern const struct option_spec daemon_options[];
extern const size_t n_daemon_options;

/* Parses ARGV into ARGUMENTS, which borrows from it. 0, or -EINVAL after printing to stderr what is
 * wrong. */
int options_parse(int argc, char **argv, struct arguments *arguments);

void options_help(FILE *out);
