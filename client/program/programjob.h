/* SPDX-License-Identifier: MIT */
#pragma once
/* Makes the job that `rubricctl run-program` sends from the options of the command. */

#include "fewnames.h"

#include "client/cli/collect.h"
#include "client/cli/options.h"
#include "proto/json.h"

/* Bytes of the inputs and outputs of all tests together; no daemon takes a larger frame. */
#define PROGRAM_JOB_MAX ((size_t)64 << 20)

struct program_options {
    const char *tests;
    const char *language;
    const char *compare;
    const char *checker;    /* a file */
    const char *interactor; /* likewise */
    const char *time;
    const char *memory;
    struct text_list limits;
    struct collect_options collect;
    bool all;
    bool watch;
    bool json;
};

/* Makes a job of the program in the file SOURCE. Returns 0 with a new reference in *ret, and the
 * names of its tests, an array of strings, in *ret_names; -EINVAL or another negative errno with
 * FAULT; -ENOMEM. Adds to LEFT the files beside the tests that may have been meant as tests. */
int program_job(const char *source, const struct program_options *options, json_t **ret,
                json_t **ret_names, struct few_names *left, struct fault *fault);
