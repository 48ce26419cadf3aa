/* SPDX-License-Identifier: MIT */
#pragma once
/* Messages from client to daemon: JSON to a validated plain struct. The decoder checks the form and
 * what the configuration allows; the supervisor finds out later whether a job can be run. */

#include "jobkinds.h"
#include "json.h"

#include <stdbool.h>
#include <stdint.h>

#define REQUEST_ID_MAX 128
#define REQUEST_SHARE_MAX 64 /* bytes */
/* How much memory the values of a frame may take besides their text. Reading so many takes less
 * than a tenth of a second, for which nobody else is served (tests/bench/frame_delay.py). */
#define REQUEST_OVERHEAD_MAX ((size_t)64 << 20)

enum request_type {
    REQUEST_SUBMIT,
    REQUEST_CANCEL,
    REQUEST_PUT,
    REQUEST_SESSION_OPEN,
    REQUEST_SESSION_CLOSE,
    REQUEST_INPUT,
    REQUEST_RESIZE,
    REQUEST_STATUS,
    REQUEST_METRICS,
    REQUEST_PING,
    REQUEST_DRAIN,
    REQUEST_RELOAD,
};

struct request {
    enum request_type type;
    struct bytes id;                  /* submit, cancel, put, session_open, session_close; data is
                                       * NULL if absent */
    uint64_t job_no;                  /* cancel; 0 if absent. input, resize */
    struct job_spec *job;             /* submit */
    char *share;                      /* submit, put, session_open: for whom a gateway asks; NULL
                                       * if absent */
    struct program_tests *tests;      /* put; a reference */
    char digest[PROGRAM_DIGEST_SIZE]; /* put: of all the tests */
    unsigned part, parts;             /* put: which of how many parts `tests` is; 0: it is all */
    struct bytes text;                /* put: of a part, as compact JSON; data NULL without parts */
    struct session_wish wish;         /* session_open; owned */
    uint64_t session;                 /* session_close: its number */
    struct bytes input;               /* input: what is typed */
    struct terminal_size size;        /* resize */
};

#define REQUEST_NULL         \
    {                        \
        .type = REQUEST_PING \
    }

void request_deinit(struct request *request);
#define _cleanup_request_ _cleanup_(request_deinit)

/* Decodes MESSAGE. 0; -EINVAL if it is wrong or -EPERM if POLICY forbids it, with FAULT naming the
 * JSON path; -ENOMEM. The caller owns *ret. */
int request_decode(const json_t *message, const struct request_policy *policy, struct request *ret,
                   struct fault *fault);

/* Reads and decodes the N bytes of a frame. Returns as request_decode() does, or -EBADMSG if they
 * are no JSON, with FAULT saying what is wrong and where. On failure *ret_id is the `id` of the
 * message, for the error that answers it: NULL if there is no usable one, or which one it is is
 * unsure. The caller owns *ret and *ret_id. */
int request_read(const char *text, size_t n, const struct request_policy *policy,
                 struct request *ret, json_t **ret_id, struct fault *fault);
