/* SPDX-License-Identifier: MIT */
#pragma once
/* When a joined pair (link.h) is over: what the jail knows of its two programs while they run.
 *
 * The pair is over when both have ended; when the program in the jail has failed, whose word then
 * counts; and when somebody has it stopped.
 *
 * The jail has all ends of the wire open, too, and closes those of a program when it has seen that
 * program end. So no program fails because the other has ended before the jail knows which ended
 * first. If a program has ended well, the end that it read from stays open, and the jail drops what
 * arrives there: whether the other one meets SIGPIPE with its last words must not depend on who was
 * quicker. If a candidate has failed, or is written more to than JOINED_DROPPED_MAX,
 * the jail closes that end. If the program in the jail has failed, the pair is over. */

#include "link.h"
#include "twin.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct joined {
    bool is_pair;           /* otherwise there is one program */
    bool is_stopped;        /* it must end, whatever runs */
    bool is_program_over;   /* the program in the jail has ended */
    bool is_failed;         /* and not well */
    bool is_candidate_over; /* the other one has, or it never ran */
    bool was_first;         /* and the jail saw that first */
    uint64_t ended_ns;      /* when it saw that; 0: it has not */
    struct twin_ends ends;  /* the status tells so; -1: it has */
    size_t dropped;         /* bytes to the candidate */
};

/* Bytes to a candidate that has ended well which are dropped. A program that writes more, though it
 * could have read that the candidate has gone, meets SIGPIPE after all. */
#define JOINED_DROPPED_MAX ((size_t)1 << 20)

#define JOINED_NULL             \
    {                           \
        .ends = TWIN_ENDS_NULL, \
    }

/* Begins with a pair whose wire has ENDS, which it takes. */
void joined_begin(struct joined *joined, struct twin_ends *ends);

/* Notes that the program PID, which is not reaped yet, has ended. */
void joined_note_program(struct joined *joined, pid_t pid);

/* Notes that the status can be read. */
void joined_note_candidate(struct joined *joined);

/* Returns the end of the wire whose reader has gone, to be watched for what is written to it; -1:
 * both are there, or nothing more is dropped. */
int joined_unread(const struct joined *joined);

/* Drops what has come to joined_unread(). */
void joined_drop(struct joined *joined);

/* Whether nothing of it need run any more. */
bool joined_is_over(const struct joined *joined);

/* Closes everything, and tells how the candidate stands. Call before the twin ends it. */
void joined_end(struct joined *joined, struct link_candidate *ret);
