/* SPDX-License-Identifier: MIT */
#pragma once
/* The formats of data sets that `grade` reads, one file each (format_NAME.c). A format says whether
 * a record is of its kind, makes a task of it, and puts a sample and the tests together. Pure. */

#include "records.h"
#include "task.h"

#include <stdio.h>

/* In the order in which a record is tried. To add a format, add its name here, a file that defines
 * `data_format_NAME`, and that file to client/meson.build. */
#define DATA_FORMATS(ROW) \
    ROW(evalplus)         \
    ROW(classeval)        \
    ROW(livecodebench)    \
    ROW(codecontests)     \
    ROW(bigcodebench)     \
    ROW(apps)             \
    ROW(multipl_e)        \
    ROW(humanevalpack)    \
    ROW(humaneval_x)      \
    ROW(cruxeval_o)       \
    ROW(cruxeval_i)       \
    ROW(humaneval)        \
    ROW(mbpp)

/* What a task is made from. */
struct task_source {
    const struct record *record; /* the text that `object` was read from */
    uint64_t number;             /* of the record, from 0 */
    const char *language;        /* --language; NULL: none was given */
};

/* Lists end with NULL, and NULL is an empty one. */
struct data_format {
    const char *name;    /* for --format */
    const char *title;   /* "HumanEvalPack" */
    const char *what;    /* what its tests are, in words */
    const char *source;  /* whose rules it follows */
    const char *differs; /* where it does not */
    const char *samples; /* the shape of a sample */

    const char *const *ids;   /* members that may hold the id; NULL: `task_id` */
    bool is_numbered;         /* without an id, a record's number is its id */
    const char *const *uses;  /* further members that are decoded */
    const char *const *texts; /* members that are used as text, not as JSON values */
    const char *const *skips; /* members with tests that its own project does not run either */

    bool (*recognise)(const json_t *record);

    /* Fills TASK, whose record is read and whose id is known. -EINVAL with FAULT, or -ENOMEM. */
    int (*take)(struct task *task, const struct task_source *source, struct fault *fault);

    /* Makes the program of TEXT, a sample in LANGUAGE. NULL: the text is the program. -ENOMEM; the
     * caller owns *ret. */
    int (*join)(const struct task *task, const char *language, enum sample_form form,
                const json_t *text, json_t **ret);
};

/* Where calls of functions differ from those of harnesses that compare by Python's ==. */
#define VALUES_OF_CALLS                                                                         \
    "the values of calls are compared as JSON has them: a tuple in another value is a list, a " \
    "key that is a number is its text, an array of NumPy's is a list; what JSON has not "       \
    "(Fraction, Decimal, complex) is no answer, though Python's == may find it equal"

#define DATA_FORMAT_NUMBER(name_) DATA_FORMAT_##name_,
enum { DATA_FORMATS(DATA_FORMAT_NUMBER) DATA_FORMATS_N };
#undef DATA_FORMAT_NUMBER

#define DATA_FORMAT_DECLARED(name_) extern const struct data_format data_format_##name_;
DATA_FORMATS(DATA_FORMAT_DECLARED)
#undef DATA_FORMAT_DECLARED

extern const struct data_format *const data_formats[DATA_FORMATS_N];

/* The format NAME; NULL with FAULT, which names them all, if there is none. */
const struct data_format *formats_find(const char *name, struct fault *fault);

/* The first format that RECORD is of; NULL if there is none. */
const struct data_format *formats_recognise(const json_t *record);

/* Whether any format decodes the member NAME, of N bytes. */
bool formats_use(const char *name, size_t n);

/* Refuses RECORD, of FORMAT, if it has a member with tests, or with what judges outputs, that the
 * format does not know of. -EINVAL with FAULT. */
int formats_check(const struct data_format *format, const json_t *record, struct fault *fault);

/* Whether RECORD, of FORMAT, has something in the member NAME. */
bool formats_has(const json_t *record, const char *name);

/* Checks that RECORD, whose tests are those of USED, has none in the members LEFT as well, which
 * ends in NULL. 0, or -EINVAL with FAULT. */
int formats_check_left(const json_t *record, const char *used, const char *const *left,
                       struct fault *fault);

/* Writes all of them for people. */
void formats_list(FILE *out);
