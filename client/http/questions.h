/* SPDX-License-Identifier: MIT */
#pragma once
/* The questions that requests have for the daemon. Those who ask while an answer is on its way
 * share it. */

#include "client/connection/session.h"

#include <event2/event.h>
#include <sys/queue.h>

enum ask {
    ASK_STATUS,
    ASK_METRICS,
    ASK_PING,
    ASKS,
};

struct questions;

/* Embedded in what has a question; zero at first. */
struct asker {
    /* MESSAGE is the answer; NULL if there is none, and WHY says why. */
    void (*told)(struct asker *asker, struct message *message, const char *why);
    TAILQ_ENTRY(asker) link;
    struct questions *among; /* where it waits; NULL: it does not */
    enum ask ask;
};

TAILQ_HEAD(askers, asker);

struct questions {
    struct askers askers[ASKS];
    bool asked[ASKS];
    struct event *due; /* when an answer has to be there */
    bool is_overdue;   /* that time is over, and the grace runs */
    void (*silent)(void *userdata);
    void *userdata;
};

/* SILENT is called when an answer has not come in time. 0 or -ENOMEM. */
int questions_init(struct questions *questions, struct event_base *base,
                   void (*silent)(void *userdata), void *userdata);
void questions_deinit(struct questions *questions);

/* ASKER is told once: when the answer has come, or that there is none. */
void questions_add(struct questions *questions, enum ask ask, struct asker *asker);

/* ASKER does not want to be told any more; it may not wait. */
void questions_remove(struct asker *asker);

/* Sends each question that somebody has and whose answer is not on its way. */
void questions_send(struct questions *questions, struct session *session);

/* Tells the answer in MESSAGE, if it is one. */
void questions_take(struct questions *questions, struct message *message);

/* Tells everybody that there is no answer, and WHY. */
void questions_fail(struct questions *questions, const char *why);
