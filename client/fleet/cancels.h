/* SPDX-License-Identifier: MIT */
#pragma once
/* Jobs that their runs have taken back, as a worker remembers them. Pure.
 *
 * A run tells the workers that it no longer wants a job, but nothing keeps that message behind the
 * job: the two come from different places of a cluster. So a worker remembers for a while which
 * submissions were taken back, and does not begin with one that comes later. A submission has a
 * number of its own, so that a job which is submitted anew under the same id is not meant. */

#include "names.h"

#include <stddef.h>

/* Remember a submission for so long, and no more of them than that: the oldest ones go first. */
#define CANCELS_MS 60000
#define CANCELS_MAX 16384

/* A run sends this to the workers: "RUN QUEUE TOKEN NUMBER". It names the queue, because two
 * commands of a run may have queued jobs of the same id with different priorities. */
struct cancel {
    char run[NAMES_RUN_MAX + 1];
    char queue[NAMES_QUEUE_SIZE]; /* names_queue() */
    char token[NAMES_TOKEN_MAX + 1];
    uint64_t number; /* of the submission */
};

/* A number in text, with its NUL. */
#define CANCEL_NUMBER_SIZE 17

/* Writes what the run tells. Returns its length. */
size_t cancel_print(const char *run, int64_t priority, const char *token, uint64_t number,
                    char ret[NAMES_SUBJECT_SIZE]);

/* Reads the N bytes at TEXT. Returns whether they are such a message. */
bool cancel_read(const char *text, size_t n, struct cancel *ret);

/* Whether the message is of the job NAMES. */
bool cancel_is_of(const struct cancel *cancel, const struct names_job *names);

/* The number of a submission as a header of its job has it; 0: TEXT (may be NULL) is none. */
void cancel_print_number(uint64_t number, char ret[CANCEL_NUMBER_SIZE]);
uint64_t cancel_read_number(const char *text);

struct cancels {
    struct cancels_entry *entries; /* a ring of CANCELS_MAX */
    size_t next;
};

#define CANCELS_NULL     \
    {                    \
        .entries = NULL, \
    }

/* 0 or -ENOMEM. */
int cancels_init(struct cancels *cancels);
void cancels_deinit(struct cancels *cancels);

/* Notes at NOW (monotonic milliseconds) that the submission NUMBER was taken back. */
void cancels_note(struct cancels *cancels, uint64_t number, int64_t now);

/* Whether it was, not long ago. 0 never was. */
bool cancels_has(const struct cancels *cancels, uint64_t number, int64_t now);
