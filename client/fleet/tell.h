/* SPDX-License-Identifier: MIT */
#pragma once
/* A worker tells whoever asks the fleet (census.h) what its daemons say of themselves. */

#include "task.h"

#define TELL_QUESTIONS_MAX 8

/* Questions that a daemon has not answered yet, the oldest first. */
struct tell_questions {
    char *replies[TELL_QUESTIONS_MAX];    /* where to answer */
    uint64_t numbers[TELL_QUESTIONS_MAX]; /* lane_ask_status() */
    size_t n;
};

struct tell {
    struct bus *bus;
    struct lane *lane;
    const struct tasks *tasks;
    struct tell_questions status, metrics;
};

/* TELL stays where it is, and so do LANE and TASKS, the jobs of the worker. */
void tell_init(struct tell *tell, struct bus *bus, struct lane *lane, const struct tasks *tasks);
void tell_deinit(struct tell *tell);

/* Answers MESSAGE, a question, for the daemon of the lane. */
void tell_answer(struct tell *tell, natsMsg *message);

/* Whether MESSAGE asks the worker to announce itself. */
bool tell_is_announce(natsMsg *message);
