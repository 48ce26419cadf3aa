/* SPDX-License-Identifier: MIT */
#pragma once
/* The tasks that models write code for, as HumanEval and MBPP have them. Pure but for
 * dataset_read. */

#include "taskid.h"

/* Bytes, inflated. HumanEval has 0.2 MB, MBPP 0.5. */
#define DATASET_MAX (UINT32_C(256) << 20)

/* Borrowed from `object`; NULL where there is none. */
struct task {
    char id[TASK_ID_MAX + 1];
    uint64_t line;
    json_t *object;
    const json_t *prompt;      /* a string: begins the program */
    const json_t *test;        /* a string: defines check(), with */
    const json_t *entry_point; /* a string: what it is called with; or */
    const json_t *targets;     /* an array of strings, not empty: the assertions */
    json_t *test_setup;        /* a string, owned: runs before these */
    const json_t *solution;    /* a string: the data set's own */
    uint64_t samples;          /* counted by whoever grades them */
};

struct dataset {
    struct task *tasks;
    size_t n;
    size_t room;
    json_t *index; /* object of id to number of the task */
};

#define DATASET_NULL  \
    {                 \
        .tasks = NULL \
    }

void dataset_deinit(struct dataset *dataset);
#define _cleanup_dataset_ _cleanup_(dataset_deinit)

/* Is told of each record that cannot be used: "FILE:LINE: what is wrong". */
typedef void dataset_complain(void *arg, const char *what);

/* Reads the N bytes of TEXT (JSON Lines, or one array); NAME is for messages. What is wrong with a
 * record is told to COMPLAIN, and the others are taken. 0 or -ENOMEM. */
int dataset_parse(const char *name, const char *text, size_t n, dataset_complain *complain,
                  void *arg, struct dataset *ret);

/* The same with the file at PATH ("-": standard input; ".gz": compressed). Negative with FAULT
 * where it cannot be read at all. */
int dataset_read(const char *path, dataset_complain *complain, void *arg, struct dataset *ret,
                 struct fault *fault);

/* The number of the task ID, or -1. */
ssize_t dataset_find(const struct dataset *dataset, const char *id);
