/* SPDX-License-Identifier: MIT */
#pragma once
/* Tests of programs that a connection puts once, for all of its jobs that have them (`put` in
 * protocol.md).
 *
 * Theory of operation: a job with many bytes of tests names them by their digest. The client keeps
 * the tests beside the job until the job is answered. It sends the tests first, unless it knows
 * that the daemon has them, and then the job. The daemon may drop tests that no job uses: it then
 * answers tests_not_found, and the client sends the tests again with the job. If the daemon refuses
 * the tests, the client answers the jobs with that error. */

#include "client/connection/session.h"
#include "proto/jobspec.h"

/* Tests of fewer bytes go with each job: a message more would cost as much. */
#define PUTS_TESTS_MIN ((size_t)8 << 10)

/* The tests of a job: the compact text of an array. */
struct tests {
    struct bytes text; /* data NULL: the job carries its own, or is none that has any */
    char digest[PROGRAM_DIGEST_SIZE];
};

#define TESTS_NULL          \
    {                       \
        .text = BYTES_NULL, \
    }

/* Takes the tests of JOB out of it if they are many, and puts their digest there. -EMSGSIZE with
 * FAULT if one of them does not fit in a frame of MAX_FRAME bytes; -ENOMEM. */
int tests_take(json_t *job, size_t max_frame, struct tests *ret, struct fault *fault);

void tests_deinit(struct tests *tests);
#define _cleanup_tests_ _cleanup_(tests_deinit)

/* What a daemon has of the tests that were put on one connection. */
struct puts {
    json_t *known; /* by digest: a number: it has them, which were sent as that; an object: the
                      error with which it refused them */
    uint64_t sent; /* how often tests were sent */
};

#define PUTS_NULL                 \
    {                             \
        .known = NULL, .sent = 0, \
    }

void puts_deinit(struct puts *puts);
#define _cleanup_puts_ _cleanup_(puts_deinit)

/* Sends TESTS unless the daemon has them. 0 or a negative errno. */
int puts_send(struct puts *puts, struct session *session, const struct tests *tests);

/* Takes MESSAGE if it answers a put. Returns whether it does. */
bool puts_take_answer(struct puts *puts, const struct message *message);

/* Looks at the answer to a job that has TESTS. Returns whether the daemon does not have the tests
 * (any more): the job is to be sent again with them. If it has refused them, *RET_REFUSAL is that
 * error instead, owned by the caller: it is the answer to the job. */
bool puts_were_lost(struct puts *puts, const struct tests *tests, const struct message *answer,
                    json_t **ret_refusal);
