/* SPDX-License-Identifier: MIT */
#pragma once
/* The job that `rubricctl sandbox` sends, put together from its options. */

#include "client/cli/options.h"
#include "proto/json.h"

struct sandbox_options {
    const char *snippet;
    const char *runner;
    struct text_list files;
    struct text_list limits;
    struct text_list env;
    struct text_list readable;
    bool network;
    bool json;
    bool quiet;
};

/* COMMAND is what is run unless there is a snippet. Standard input is read to its end and given to
 * the job, unless it is a terminal. -EINVAL or another negative errno with FAULT, -ENOMEM. */
int sandbox_job(const struct sandbox_options *options, const struct text_list *command,
                json_t **ret, struct fault *fault);
