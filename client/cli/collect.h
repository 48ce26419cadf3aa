/* SPDX-License-Identifier: MIT */
#pragma once
/* --collect NAME and --collect-to DIR: files of the working directory that come back. */

#include "options.h"

#include "proto/json.h"

struct collect_options {
    struct text_list names; /* and patterns */
    const char *to;         /* NULL: nowhere */
};

/* The options of a command that has a struct collect_options at AT of its own; WHEN says when the
 * files are taken. */
#define COLLECT_SPECS(AT, WHEN)                                                            \
    {                                                                                      \
        .name = "collect",                                                                 \
        .argument = "NAME",                                                                \
        .kind = OPTION_LIST,                                                               \
        .offset = (AT) + offsetof(struct collect_options, names),                          \
        .help = "bring the file NAME of the working directory back " WHEN                  \
                "; NAME may be a pattern, in which * stands for slashes, too; may be "     \
                "repeated",                                                                \
    },                                                                                     \
    {                                                                                      \
        .name = "collect-to", .argument = "DIR", .kind = OPTION_TEXT, .value = VALUE_FILE, \
        .offset = (AT) + offsetof(struct collect_options, to),                             \
        .help = "write the files of --collect below this directory",                       \
    }

/* Fails with FAULT if the files have nowhere to go: no directory, and no JSON that is printed. */
int collect_check(const struct collect_options *options, bool json, struct fault *fault);

/* Puts the names into JOB, if there are any. 0, -EINVAL with FAULT, or -ENOMEM. */
int collect_put(json_t *job, const struct collect_options *options, struct fault *fault);
