/* SPDX-License-Identifier: MIT */
#pragma once
/* The consumers of a run at the NATS server, from which workers pull its jobs: one for each
 * priority that the run uses. Nothing here blocks; what fails is said on stderr and tried again. */

#include "consumer.h"

#define FRONTCONSUMERS_MAX (NAMES_PRIORITY_MAX - NAMES_PRIORITY_MIN + 1)

struct frontconsumer {
    struct frontconsumers *all;
    int64_t priority;
    bool is_used;
    struct consumer_watch watch;
};

struct frontconsumers {
    struct bus *bus;
    const char *run, *digest;
    int64_t ack_wait_s;
    struct frontconsumer each[FRONTCONSUMERS_MAX];
    bool is_ending;
    size_t n_ending; /* those that the server is asked about at the end */
};

/* RUN and DIGEST, of the isolation that the jobs are to have, are borrowed. RET must stay where it
 * is while BUS has requests. */
void frontconsumers_init(struct frontconsumers *ret, struct bus *bus, const char *run,
                         const char *digest, int64_t ack_wait_s);

/* Sees to it that workers can pull jobs of this PRIORITY. */
void frontconsumers_ensure(struct frontconsumers *all, int64_t priority);

/* Notes that a job of this PRIORITY that the queue took long ago has no answer. */
void frontconsumers_note_waiting(struct frontconsumers *all, int64_t priority);

/* Asks the server about the consumers, and makes those again that somebody has deleted; has another
 * server lead those that deliver nothing although jobs were noted to wait since the last check. */
void frontconsumers_check(struct frontconsumers *all);

/* Takes the consumers away whose jobs are all done. It is over when n_ending is 0. */
void frontconsumers_end(struct frontconsumers *all);
