/* SPDX-License-Identifier: MIT */
#pragma once
/* A message from the daemon, checked. Fields that this client does not know are let through: a
 * newer daemon may have more to say. */

#include "proto/json.h"

enum message_type {
    MESSAGE_HELLO,
    MESSAGE_STARTED,
    MESSAGE_RESULT,
    MESSAGE_ERROR,
    MESSAGE_STATUS,
    MESSAGE_METRICS,
    MESSAGE_PONG,
    MESSAGE_RELOADED,
    MESSAGE_BYE,
    MESSAGE_OTHER, /* a type that this client does not know */
};

struct message {
    enum message_type type;
    struct bytes payload; /* byte for byte as it came */
    json_t *object;
};

#define MESSAGE_NULL           \
    {                          \
        .type = MESSAGE_OTHER, \
    }

void message_deinit(struct message *message);
#define _cleanup_message_ _cleanup_(message_deinit)

/* How the last result ended, with what it said of its isolation: that is the longest part of most,
 * and the same in nearly all that one daemon sends. */
struct message_tail {
    struct bytes text; /* from the comma before it to the end of the payload */
    json_t *isolation;
};

#define MESSAGE_TAIL_NULL  \
    {                      \
        .text = BYTES_NULL \
    }

void message_tail_deinit(struct message_tail *tail);

/* Decodes *PAYLOAD and takes it over; what TAIL has of the last one is not decoded again, but
 * shared. The fields that a type must have are there and of the right JSON type afterwards.
 * -EBADMSG, -EINVAL with FAULT, -ENOMEM. */
int message_decode(struct bytes *take_payload, struct message_tail *tail, struct message *ret,
                   struct fault *fault);

/* A string field; NULL where there is none. Cut at a NUL in it. */
const char *message_text(const struct message *message, const char *name);

/* An integer field; 0 where there is none. */
int64_t message_integer(const struct message *message, const char *name);

/* What the client needs of a result's BenchScore; borrowed from the message. */
struct verdict {
    bool passed;
    double score; /* NAN: none */
    double cost_usd;
    const char *reason;          /* why there is no BenchScore; NULL where there is one */
    const json_t *failure_modes; /* array of objects with a string `code`; may be NULL */
};

/* Of a MESSAGE_RESULT. */
struct verdict message_verdict(const struct message *message);
