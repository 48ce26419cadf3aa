/* SPDX-License-Identifier: MIT */
#pragma once
/* Makes the job that `rubricctl sandbox` sends from the options of the command. */

#include "client/cli/collect.h"
#include "client/cli/options.h"
#include "proto/json.h"

struct sandbox_options {
    const char *snippet;
    const char *runner;
    struct text_list files;
    struct text_list limits;
    struct text_list env;
    struct text_list readable;
    struct collect_options collect;
    bool network;
    bool json;
    bool quiet;
    bool tty;
};

/* Makes a job that runs COMMAND, or the snippet of OPTIONS. Reads standard input to its end for the
 * job, unless it is a terminal or is to be one of the job's. Returns 0 with a new reference in
 * *ret; -EINVAL or another negative errno with FAULT; -ENOMEM. */
int sandbox_job(const struct sandbox_options *options, const struct text_list *command,
                json_t **ret, struct fault *fault);
