/* SPDX-License-Identifier: MIT */
#pragma once
/* Decodes and checks messages from the daemon. Accepts fields that this client does not know, which
 * a newer daemon may send. */

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
    MESSAGE_STORED,
    MESSAGE_OUTPUT,
    MESSAGE_INPUT_TAKEN,
    MESSAGE_BYE,
    MESSAGE_OTHER, /* a type that this client does not know */
};

struct message {
    enum message_type type;
    struct bytes payload; /* byte for byte as received, with a NUL behind it */
    json_t *object;
};

#define MESSAGE_NULL           \
    {                          \
        .type = MESSAGE_OTHER, \
    }

void message_deinit(struct message *message);
#define _cleanup_message_ _cleanup_(message_deinit)

/* The end of the last result, from its member `isolation` on. That is the longest part of most
 * results and the same in nearly all results of one daemon, so it is decoded once and shared. */
struct message_tail {
    struct bytes text; /* from the comma before the member to the end of the payload */
    json_t *isolation;
};

#define MESSAGE_TAIL_NULL  \
    {                      \
        .text = BYTES_NULL \
    }

void message_tail_deinit(struct message_tail *tail);

/* Decodes *TAKE_PAYLOAD and takes it over, also on failure. Shares the end that it has in common
 * with TAIL instead of decoding it again. On success *ret, which the caller deinits, has every
 * field that its type requires, with the right JSON type. -EBADMSG or -EINVAL with FAULT, -ENOMEM.
 */
int message_decode(struct bytes *take_payload, struct message_tail *tail, struct message *ret,
                   struct fault *fault);

/* Returns the string field NAME, borrowed from MESSAGE and cut at the first NUL; NULL if there is
 * none. */
const char *message_text(const struct message *message, const char *name);

/* Returns the integer field NAME; 0 if there is none. */
int64_t message_integer(const struct message *message, const char *name);

/* The parts of a result's BenchScore that the client needs; borrowed from the message. */
struct score_parts {
    bool passed;
    double score; /* NAN if there is none */
    double cost_usd;
    const char *reason;          /* why there is no BenchScore; NULL if there is one */
    const json_t *failure_modes; /* array of objects with a string `code`; may be NULL */
};

/* MESSAGE is a MESSAGE_RESULT. */
struct score_parts message_score(const struct message *message);
