/* SPDX-License-Identifier: MIT */
#pragma once
/* Reads the tasks that models write code for, in the formats of HumanEval and MBPP, and in those of
 * EvalPlus, whose further tests it takes. Pure except for dataset_read(). */

#include "taskid.h"

/* Bytes of a data set, inflated. HumanEval has 0.2 MB, MBPP 0.5. */
#define DATASET_MAX (UINT32_C(256) << 20)

/* A task. Unless noted, its JSON values are borrowed from `object`; NULL: the record has none. */
struct task {
    char id[TASK_ID_MAX + 1];
    uint64_t line;
    json_t *object;            /* the record, owned */
    const json_t *prompt;      /* a string: the beginning of the program */
    const json_t *test;        /* a string that defines check() */
    const json_t *entry_point; /* a string: what check() is called with */
    const json_t *targets;     /* instead of `test`: assertions, an array of strings, not empty */
    json_t *test_setup;        /* a string, owned: runs before the targets */
    json_t *made;              /* owned: what `test` or `targets` borrows from; NULL: the record */
    const json_t *solution;    /* a string: the data set's own solution */
    json_t *names;             /* names under test, owned: see names.h */
    uint64_t samples;          /* counted by the caller */
};

struct dataset {
    struct task *tasks;
    size_t n;
    size_t room;
    size_t plus;   /* tasks with the further tests of EvalPlus */
    json_t *index; /* object of id to number of the task */
};

#define DATASET_NULL  \
    {                 \
        .tasks = NULL \
    }

void dataset_deinit(struct dataset *dataset);
#define _cleanup_dataset_ _cleanup_(dataset_deinit)

/* Receives "FILE:LINE: what is wrong" for each record that cannot be used. */
typedef void dataset_complain(void *arg, const char *what);

/* Reads the N bytes of TEXT (JSON Lines, or one array); NAME is for messages. Reports each unusable
 * record to COMPLAIN and takes the others. 0 or -ENOMEM. */
int dataset_parse(const char *name, const char *text, size_t n, dataset_complain *complain,
                  void *arg, struct dataset *ret);

/* Reads the file at PATH ("-": standard input; ".gz": compressed) in the same way. Negative with
 * FAULT if the file as a whole cannot be read. */
int dataset_read(const char *path, dataset_complain *complain, void *arg, struct dataset *ret,
                 struct fault *fault);

/* Returns the index of the task ID, or -1. */
ssize_t dataset_find(const struct dataset *dataset, const char *id);
