/* SPDX-License-Identifier: MIT */
#pragma once
/* Reads the tasks that models write code for, in any of the formats of formats.h. Pure except for
 * dataset_read(). */

#include "formats.h"

/* Bytes of a data set, inflated. HumanEval has 0.2 MB, MBPP 0.5; parts of LiveCodeBench have more
 * than 100. */
#define DATASET_MAX (UINT32_C(1) << 30)

struct dataset {
    struct task *tasks;
    size_t n;
    size_t room;
    size_t plus;   /* tasks with the further tests of EvalPlus */
    json_t *index; /* object of id to number of the task */

    /* Records that cannot be used: of these that have an id, an object of it to the line. */
    json_t *unusable;
    size_t unusable_nameless;
};

#define DATASET_NULL  \
    {                 \
        .tasks = NULL \
    }

void dataset_deinit(struct dataset *dataset);
#define _cleanup_dataset_ _cleanup_(dataset_deinit)

struct dataset_options {
    const struct data_format *format; /* of every record; NULL: each record shows its own */
    const char *language;             /* --language; NULL: none was given */
};

/* Receives "FILE:LINE: what is wrong" for each record that cannot be used. */
typedef void dataset_complain(void *arg, const char *what);

/* Reads the N bytes of TEXT (JSON Lines, or one array); NAME is for messages. Reports each unusable
 * record to COMPLAIN and takes the others. 0 or -ENOMEM. */
int dataset_parse(const char *name, const char *text, size_t n,
                  const struct dataset_options *options, dataset_complain *complain, void *arg,
                  struct dataset *ret);

/* Reads the file at PATH ("-": standard input; ".gz": compressed) in the same way. Negative with
 * FAULT if the file as a whole cannot be read. */
int dataset_read(const char *path, const struct dataset_options *options,
                 dataset_complain *complain, void *arg, struct dataset *ret, struct fault *fault);

/* Returns the index of the task ID, or -1. */
ssize_t dataset_find(const struct dataset *dataset, const char *id);

/* Returns how many records are no tasks because they cannot be used. One that only repeats the id
 * of another is not among them. */
size_t dataset_unusable(const struct dataset *dataset);

/* Returns the line of the record ID that cannot be used; 0: there is none. */
uint64_t dataset_unusable_line(const struct dataset *dataset, const char *id);
