/* SPDX-License-Identifier: MIT */
#pragma once
/* Messages from client to daemon: JSON to a validated plain struct.
 * Whatever passes here is well-formed; whether it is allowed and possible is decided later. */

#include "jobkinds.h"
#include "json.h"

#include <stdbool.h>
#include <stdint.h>

#define REQUEST_ID_MAX 128

enum request_type {
    REQUEST_SUBMIT,
    REQUEST_CANCEL,
    REQUEST_STATUS,
    REQUEST_METRICS,
    REQUEST_PING,
    REQUEST_DRAIN,
    REQUEST_RELOAD,
};

struct request {
    enum request_type type;
    struct bytes id;      /* submit, cancel; data is NULL where there is none */
    uint64_t job_no;      /* cancel; 0 where there is none */
    struct job_spec *job; /* submit */
};

#define REQUEST_NULL         \
    {                        \
        .type = REQUEST_PING \
    }

void request_deinit(struct request *request);
#define _cleanup_request_ _cleanup_(request_deinit)

/* Decodes MESSAGE. -EINVAL: it is wrong; -EPERM: the policy forbids it; both with FAULT naming the
 * JSON path. -ENOMEM. */
int request_decode(const json_t *message, const struct request_policy *policy, struct request *ret,
                   struct fault *fault);

/* The `id` of a message that may be otherwise wrong, for the error that answers it: borrowed, NULL
 * where there is no usable one. */
const json_t *request_peek_id(const json_t *message);
