/* SPDX-License-Identifier: MIT */
#pragma once
/* The command line of rubricd-http. */

#include "conf/optparse.h"

#include <stdio.h>

struct http_arguments {
    const char *config;
    struct text_list settings;
    bool check;
    bool help;
    bool version;
};

extern const struct option_spec http_options[];
extern const size_t n_http_options;

/* 0; a negative errno after a complaint on stderr. http_arguments_deinit() is due either way. */
int http_options_parse(int argc, char **argv, struct http_arguments *ret);
void http_arguments_deinit(struct http_arguments *arguments);

void http_options_help(FILE *out);
