/* SPDX-License-Identifier: MIT */
#pragma once
/* A job as people write it (the job's fields with `id` beside them) to a submit message. */

#include "proto/json.h"

#include <sys/types.h>

struct jobline_policy {
    const char *bench_root; /* absolute; for a rubric job that names none. NULL: leave it out */
    size_t max_frame;       /* what the daemon takes */
};

struct submission {
    struct bytes id;
    struct bytes payload;
    json_t *run; /* what its line of results says of it: see runinfo.h */
};

#define SUBMISSION_NULL       \
    {                         \
        .id = {.data = NULL}, \
    }

void submission_deinit(struct submission *submission);
#define _cleanup_submission_ _cleanup_(submission_deinit)

/* Whether a line holds nothing but white space. */
bool jobline_blank(const char *text, size_t n);

/* The id of a job that has none: "NAME:LINE", made to fit into 128 bytes of UTF-8 by leaving out
 * the beginning of NAME. 0 or -ENOMEM. */
int jobline_default_id(const char *name, uint64_t line, struct bytes *ret);

/* Makes the submission; JOB is changed. What is wrong with it beyond what this client has to know
 * is left for the daemon to say. -EINVAL with FAULT, -EMSGSIZE with FAULT, -ENOMEM. */
int jobline_from_object(json_t *job, const struct bytes *default_id,
                        const struct jobline_policy *policy, struct submission *ret,
                        struct fault *fault);

/* Reads the JSON object in the N bytes of a line; FAULT says where in the line it is not one.
 * -EBADMSG, -EINVAL, -ENOMEM. */
int jobline_read_object(const char *text, size_t n, json_t **ret, struct fault *fault);

/* The same as jobline_from_object from the N bytes of a line. -EBADMSG, too, with FAULT. */
int jobline_from_text(const char *text, size_t n, const struct bytes *default_id,
                      const struct jobline_policy *policy, struct submission *ret,
                      struct fault *fault);
