/* SPDX-License-Identifier: MIT */
#pragma once
/* A task that models write code for, as a format of data sets (formats.h) reads it from its record.
 * It is graded by jobs of one kind: `program` if it has `tests`, `code_exec` otherwise. */

#include "taskid.h"

#include <sys/types.h>

struct data_format;

enum sample_form {
    SAMPLE_COMPLETION, /* continues the prompt */
    SAMPLE_SOLUTION,   /* a whole program */
    SAMPLE_GENERATION, /* free text with code in it */
};

/* Unless noted, JSON values are borrowed from `object` or `kept`; NULL: the record has none. */
struct task {
    char id[TASK_ID_MAX + 1];
    uint64_t line;
    const struct data_format *format;
    json_t *object;            /* the record, owned */
    json_t *kept;              /* owned array of what was made from the record; NULL: nothing */
    const json_t *prompt;      /* a string: the beginning of the program */
    const json_t *entry_point; /* a string: the function or class that the tests are about */

    /* Of kind `code_exec`. */
    const json_t *test;       /* a string that defines check(), which is called with entry_point */
    const json_t *targets;    /* instead of `test`: assertions, an array of strings, not empty */
    const json_t *test_setup; /* a string: runs before the targets */
    json_t *names;            /* names under test, owned: see names.h */
    bool has_no_names;        /* the tests use no name but entry_point */
    bool is_joined;           /* the format's join() makes the code */
    bool has_plus;            /* with the further tests of EvalPlus */

    /* Of kind `program`. */
    json_t *tests;        /* the job's array, owned */
    const char *language; /* of every sample; NULL: each says, or --language does. Borrowed */
    const char *compare;  /* the job's rule; NULL: the daemon's default */
    const json_t *call;   /* a string: the function that the tests call; NULL: standard input */
    uint64_t memory;      /* bytes that a test may have; 0: the daemon's default */
    bool stop_all;        /* run all tests, whether or not one fails */
    bool is_forgeable;    /* the tests are a part of the program, which can forge its verdict */
    const json_t *tail;   /* a string: the tests, behind the code, if they are such a part */

    double timeout_s; /* of one test, or of the whole job of kind code_exec; 0: the daemon's */

    const json_t *solution; /* a string: the data set's own solution */
    enum sample_form solution_form;
    const char *solution_language; /* NULL: `language`, or what is otherwise assumed */
    bool solution_is_doubtful;     /* somebody's answer, which says nothing about the tests */

    uint64_t samples; /* counted by the caller */
};

void task_deinit(struct task *task);

/* Whether the task is graded by jobs of kind `program`. */
static inline bool task_is_program(const struct task *task)
{
    return task->tests != NULL;
}

/* Whether no text of TASK's tests, which are in Python, contains a word that makes a test fail,
 * such as `assert`. Words in comments count as well, so tests may assert nothing though this is
 * false. */
bool task_asserts_nothing(const struct task *task);

/* Keeps VALUE, of which the task then borrows. Returns it; NULL when memory runs out. */
json_t *task_keep(struct task *task, json_t *take_value);

/* Members of OBJECT, a record. NULL if it is null or not there. */
const json_t *task_member(const json_t *object, const char *name);

/* Take the member NAME, which must be a string, or an array of strings. -EINVAL with FAULT. */
int task_take_string(const json_t *object, const char *name, const json_t **ret,
                     struct fault *fault);
int task_take_strings(const json_t *object, const char *name, const json_t **ret,
                      struct fault *fault);

/* The same for a string that may be left out. */
int task_take_optional(const json_t *object, const char *name, const json_t **ret,
                       struct fault *fault);

/* Reads the N bytes of TEXT, which is what the member NAME says, as one JSON value of any type. The
 * caller owns *ret. -EINVAL with FAULT, or -ENOMEM. */
int task_read_json(const char *text, size_t n, const char *name, json_t **ret, struct fault *fault);

/* Takes the member NAME as JSON: the value itself, or the text of one. The task keeps it. */
int task_take_json(struct task *task, const char *name, const json_t **ret, struct fault *fault);

/* Whether TEXT, a string of JSON, may name a function: a letter or `_`, then these and digits. */
bool task_is_name(const json_t *text);
