/* SPDX-License-Identifier: MIT */
#pragma once
/* The command line of rubricd: a table of options, from which the parser, --help, the completions
 * and the man page are made. */

#include "conf/optparse.h"

#include <stdio.h>

struct arguments {
    const char *config_path;   /* NULL: the default one, which may be missing */
    struct text_list settings; /* --set */
    bool check_config;
    bool check_languages; /* with check_config */
    long serve_fd;        /* -1: none */
    bool help;
    bool version;
};

#define ARGUMENTS_NULL  \
    {                   \
        .serve_fd = -1, \
    }

extern const struct option_spec daemon_options[];
extern const size_t n_daemon_options;

/* Reads ARGV into ARGUMENTS, which borrows its strings. Returns 0, or -EINVAL or -ENOMEM after a
 * complaint on stderr. */
int options_parse(int argc, char **argv, struct arguments *arguments);

void arguments_deinit(struct arguments *arguments);
#define _cleanup_arguments_ _cleanup_(arguments_deinit)

/* Writes --help. */
void options_help(FILE *out);
