/* SPDX-License-Identifier: MIT */
#pragma once
/* Counts the correct samples of each task and computes pass@k from them. Pure. */

#include "gradejob.h"
#include "passk.h"

/* Why pass@k leaves out a task without a verdict. */
enum tally_absence {
    TALLY_PRESENT,    /* it does not */
    TALLY_SAMPLELESS, /* nobody has a sample of it: pass@k is of a part of the data set */
    TALLY_UNSELECTED, /* filters or a limit leave it out */
};

struct tally_task {
    uint64_t samples; /* with a verdict */
    uint64_t asked;   /* samples with a verdict or an error */
    uint64_t correct;
    uint64_t shared; /* samples whose code could have forged its verdict */
    bool broken;     /* the reference solution fails the tests */
    bool refused;    /* its samples are not to be graded: pass@k leaves it out */
    enum tally_absence absence;
};

struct tally {
    struct tally_task *tasks;
    size_t n;
    size_t room;
    json_t *index;     /* object of task id to number */
    json_t *languages; /* owned counts of bylanguage.h; NULL: none */

    /* Any of these makes the tally incomplete. */
    uint64_t not_graded; /* samples whose job ended in an error */
    uint64_t unanswered; /* samples whose job was not answered */
    uint64_t refused;    /* samples left out because only a shared verdict is possible */
    uint64_t unusable;   /* records and lines that could not be used */
    bool cut_short;      /* not all samples were read */

    uint64_t not_in_input; /* samples of an earlier run that are not among those of this one */
    size_t unusable_tasks; /* of the data set, among `unusable`; they have no number */
    uint64_t unusable_task_samples; /* samples of these, not among `unusable` */
};

#define TALLY_NULL    \
    {                 \
        .tasks = NULL \
    }

int tally_init(struct tally *ret);
void tally_deinit(struct tally *tally);
#define _cleanup_tally_ _cleanup_(tally_deinit)

/* Returns the index of the task ID and adds it if it is new. -ENOMEM. */
ssize_t tally_task(struct tally *tally, const char *id);

/* Forgets the samples and keeps the tasks, and which of them are refused. */
void tally_clear(struct tally *tally);

void tally_add(struct tally *tally, size_t task, enum grade grade);

/* Notes in which language the sample was that tally_add() has counted. 0 or -ENOMEM. */
int tally_add_language(struct tally *tally, size_t task, const char *language, enum grade grade);

/* The language that LINE tells, a line of results; NULL: none. */
const char *tally_language_of(const json_t *line);

/* Notes the same as LINE tells it, if it does. 0 or -ENOMEM. */
int tally_add_language_of(struct tally *tally, size_t task, const json_t *line, enum grade grade);

/* Leaves TASK out of pass@k, which is then incomplete. */
void tally_refuse(struct tally *tally, size_t task);

/* Leaves TASK, of which no sample was asked for, out of pass@k. */
void tally_leave_out(struct tally *tally, size_t task, enum tally_absence why);

/* Notes what a verdict on a sample of TASK is worth. */
void tally_note(struct tally *tally, size_t task, bool shared, bool broken);

/* Notes the same as LINE tells it, a line of results. */
void tally_note_line(struct tally *tally, size_t task, const json_t *line);

/* Whether LINE, a line of results, tells a verdict that the code could have forged, and whether it
 * tells that the reference solution fails the tests. */
bool tally_is_shared(const json_t *line);
bool tally_is_broken(const json_t *line);

/* Returns the mean over all tasks but those left out of their pass@k, and in *ret_too_few how
 * many of these have fewer than k samples. NAN if that is not 0, or if there is no task. */
double tally_pass_at_k(const struct tally *tally, uint64_t k, size_t *ret_too_few);

/* Writes lines for people. */
void tally_put(FILE *out, const struct tally *tally, const struct passk_ks *ks);

/* Makes an object of the same. NULL when memory runs out. */
json_t *tally_json(const struct tally *tally, const struct passk_ks *ks);

/* Writes the object if AS_JSON, else the lines. 0 or -ENOMEM. */
int tally_print(FILE *out, const struct tally *tally, const struct passk_ks *ks, bool as_json);
