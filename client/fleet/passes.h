/* SPDX-License-Identifier: MIT */
#pragma once
/* Jobs that this worker leaves to other hosts for a while, because they have starved here. Pure.
 *
 * The time counts from the moment when the worker first saw that the job has starved so often, on
 * its own clock: those of two hosts may differ. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

/* Leave a job to other hosts for so long. */
#define PASSES_MS 10000
/* Then remember for so long that it was left to them. */
#define PASSES_KEEP_MS 600000

struct pass {
    uint64_t seq;
    size_t n;
    int64_t since_ms;
    TAILQ_ENTRY(pass) link;
};

/* The one that was noted last comes first. */
TAILQ_HEAD(passes, pass);

void passes_init(struct passes *passes);
void passes_deinit(struct passes *passes);

/* Whether the job of message SEQ, which has starved N times, is still left to other hosts. Notes it
 * if this is new. If memory runs out it is not. */
bool passes_by(struct passes *passes, uint64_t seq, size_t n, int64_t now);
