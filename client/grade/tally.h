/* SPDX-License-Identifier: MIT */
#pragma once
/* How many samples of each task were correct, and the pass@k that comes of it. Pure. */

#include "gradejob.h"
#include "passk.h"

struct tally_task {
    uint64_t samples; /* with a verdict */
    uint64_t correct;
};

struct tally {
    struct tally_task *tasks;
    size_t n;
    size_t room;
    json_t *index; /* object of task id to number */

    /* What makes it incomplete. */
    uint64_t not_graded; /* samples whose job ended in an error */
    uint64_t unanswered; /* samples whose job was not answered */
    uint64_t unusable;   /* records and lines that were left out */
    bool cut_short;      /* not all of the samples were read */
};

#define TALLY_NULL    \
    {                 \
        .tasks = NULL \
    }

int tally_init(struct tally *ret);
void tally_deinit(struct tally *tally);
#define _cleanup_tally_ _cleanup_(tally_deinit)

/* The number of the task ID, which is made where it is new. -ENOMEM. */
ssize_t tally_task(struct tally *tally, const char *id);

/* Forgets the samples, and keeps the tasks. */
void tally_clear(struct tally *tally);

void tally_add(struct tally *tally, size_t task, enum grade grade);

/* The mean over all tasks of their pass@k; NAN where there is none, for *ret_too_few of the tasks
 * (the number of all, where that is 0) have fewer than k samples. */
double tally_pass_at_k(const struct tally *tally, uint64_t k, size_t *ret_too_few);

/* Lines for a person. */
void tally_put(FILE *out, const struct tally *tally, const struct passk_ks *ks);

/* The same as an object; NULL when memory runs out. */
json_t *tally_json(const struct tally *tally, const struct passk_ks *ks);

/* Prints the one or the other; -ENOMEM. */
int tally_print(FILE *out, const struct tally *tally, const struct passk_ks *ks, bool as_json);
