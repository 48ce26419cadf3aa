/* SPDX-License-Identifier: MIT */
#pragma once
/* What the threads of the NATS library leave for the bus: messages, and what became of the
 * connection. This is all that they touch. mailbox.fd becomes readable when there is something. */

#include "busconnect.h"

#include <pthread.h>
#include <sys/queue.h>

struct arrival {
    natsMsg *message;
    void *of; /* as given to mailbox_put() */
    STAILQ_ENTRY(arrival) link;
};

STAILQ_HEAD(arrivals, arrival);

/* What has happened to connections since it was last taken. */
struct mailbox_news {
    bool is_closed, is_lost, is_back;
    char refusal[256]; /* what the server has refused; "": nothing */
};

struct mailbox {
    int fd; /* an eventfd */
    pthread_mutex_t lock;
    struct arrivals arrivals;
    struct mailbox_news news;
    bool is_ending; /* nobody will take what arrives now */
};

/* What busconnect() is to call; its argument is the mailbox. */
extern const struct busconnect_events mailbox_events;

/* 0, or a negative errno: then there is nothing to undo. */
int mailbox_init(struct mailbox *mailbox);

/* Closes it once no thread of the library is left. */
void mailbox_deinit(struct mailbox *mailbox);

/* Leaves a message, which the mailbox owns from now on, for what OF stands for. If memory runs out
 * it is lost, as the network may lose it. */
void mailbox_put(struct mailbox *mailbox, void *of, natsMsg *message);

/* Moves all messages to *RET, which is empty. */
void mailbox_take(struct mailbox *mailbox, struct arrivals *ret);

void mailbox_take_news(struct mailbox *mailbox, struct mailbox_news *ret);

/* Frees the messages that are there, and from now on at once what comes. The library must be open,
 * which messages need even to be freed. */
void mailbox_end(struct mailbox *mailbox);

void arrival_free(struct arrival *arrival);
