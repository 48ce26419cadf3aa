/* SPDX-License-Identifier: MIT */
#pragma once
/* What `rubricctl grade` does for each sample: its job, and the line of results for the answer. */

#include "grade_tasks.h"
#include "transcripts.h"

#include "client/batch/engine.h"
#include "client/grade/preflight.h"
#include "client/grade/sample.h"
#include "client/grade/tally.h"

/* A line of samples of which some are not graded yet. */
struct sample_line {
    json_t *object; /* owned; NULL: none */
    struct sample sample;
    size_t next;
    struct fault place;
};

struct grading {
    const char *dataset_name; /* for messages */
    struct dataset dataset;
    struct tally tally; /* same task indices as the data set */
    uint64_t unusable;  /* unusable records of the data set */
    struct input samples;
    struct sample_line pending;
    size_t next_task; /* whose canonical solution is graded next */
    struct jobline_policy line;
    struct preflight preflight;
    bool isolated_only;
    struct transcripts transcripts;
    json_t *blamed; /* owned; object of unusable tasks of which a sample was named; NULL: none */
    json_t *warm_modules; /* owned; what jobs are to have loaded ahead; NULL: nothing */
    json_t *lacking; /* owned; object of what jobs lack, in words, to how many; NULL: nothing */
};

#define GRADING_NULL                                                         \
    {                                                                        \
        .dataset = DATASET_NULL, .tally = TALLY_NULL, .samples = INPUT_NULL, \
        .transcripts = TRANSCRIPTS_NULL,                                     \
    }

void grading_deinit(struct grading *grading);
#define _cleanup_grading_ _cleanup_(grading_deinit)

/* Refuses the file of samples at PATH if its beginning shows that it cannot be JSON Lines. Looks at
 * regular files alone; input that comes once is found out line by line. -EINVAL with FAULT. */
int grading_check_samples(const char *path, struct fault *fault);

/* Functions of struct engine_work; ARG is a struct grading. */
enum input_state grading_next_sample(void *arg, struct engine_job *ret, struct fault *fault);
enum input_state grading_next_canonical(void *arg, struct engine_job *ret, struct fault *fault);
int grading_answer_line(void *arg, struct message *message, json_t *note, struct bytes *ret_line);
void grading_recount(void *arg);
void grading_recounted(void *arg, const struct result_line *line, struct summary *summary);

/* Says on stderr which modules samples lacked. */
void grading_complain_lacking(const struct grading *grading);
