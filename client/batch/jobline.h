/* SPDX-License-Identifier: MIT */
#pragma once
/* Turns a job as people write it (the job's fields, and `id` among them) into a submit message. */

#include "puts.h"

#include "proto/lenient.h"

#include <sys/types.h>

struct jobline_policy {
    const char *bench_root;  /* absolute; for rubric jobs that name none. NULL: none */
    size_t max_frame;        /* bytes that the daemon takes */
    struct digests *digests; /* see runinfo_make(); may be NULL */
};

struct submission {
    struct bytes id;
    struct bytes payload;
    struct tests tests; /* that have to be put before it */
    json_t *run;        /* `run` of its line of results: see runinfo.h */
};

#define SUBMISSION_NULL       \
    {                         \
        .id = {.data = NULL}, \
    }

void submission_deinit(struct submission *submission);
#define _cleanup_submission_ _cleanup_(submission_deinit)

/* Whether a line holds only white space. */
bool jobline_blank(const char *text, size_t n);

/* Makes the id of a job that has none: "NAME:LINE", in at most 128 bytes of UTF-8; cuts the
 * beginning of NAME to fit. 0 or -ENOMEM. */
int jobline_default_id(const char *name, uint64_t line, struct bytes *ret);

/* Makes the submission; changes JOB. Checks only what this client has to know and leaves the rest
 * to the daemon. -EINVAL or -EMSGSIZE with FAULT, or -ENOMEM. */
int jobline_from_object(json_t *job, const struct bytes *default_id,
                        const struct jobline_policy *policy, struct submission *ret,
                        struct fault *fault);

/* Reads the JSON object in the N bytes of a line, as json_read_lenient() does. -EBADMSG or -EINVAL
 * with FAULT, which says where in the line, or -ENOMEM. */
int jobline_read_object(const char *text, size_t n, json_is_used *is_used, json_t **ret,
                        struct fault *fault);

/* Whether a member of a job is used: all but the client's own notes, `metadata`. */
bool jobline_is_used(const char *name, size_t n);
