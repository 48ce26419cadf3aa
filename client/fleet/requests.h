/* SPDX-License-Identifier: MIT */
#pragma once
/* The requests of a bus that have no answer yet: found by their number, and in the order in which
 * they are due. Pure.
 *
 * A request is in one of two lists. All that were SENT wait equally long for an answer, and all
 * that are to be sent AGAIN wait equally long before that, so each list is in the order of due_ms.
 */

#include "bustypes.h"

#include "proto/util.h"

#include <sys/queue.h>

struct request {
    uint64_t number;
    natsMsg *message; /* owned */
    bus_reply *reply;
    void *arg;
    int64_t due_ms;
    unsigned silent; /* times it was sent without an answer */
    unsigned nobody; /* times the server said that nobody takes it */
    bool is_again;   /* which list it is in */
    TAILQ_ENTRY(request) link;
};

TAILQ_HEAD(request_list, request);

struct requests {
    struct request_list sent, again;
    /* The number of a request is its place here, and above that how often the place was used. */
    struct request **places;
    uint64_t *uses;
    size_t n, room;
};

void requests_init(struct requests *requests);

/* Drops every request that is left. */
void requests_deinit(struct requests *requests);

/* Returns a new request with a number, in no list; NULL when memory runs out. */
struct request *requests_add(struct requests *requests);

/* Returns NULL if no request has this number. */
struct request *requests_find(const struct requests *requests, uint64_t number);

/* Puts REQUEST, which is in no list, at the end of one; it is due after a time that depends on the
 * list alone. */
void requests_enlist(struct requests *requests, struct request *request, bool is_again,
                     int64_t now);

/* Takes REQUEST out of its list. */
void requests_unlist(struct requests *requests, struct request *request);

/* Frees REQUEST, which is in no list. */
void requests_drop(struct requests *requests, struct request *request);

/* Returns when the next request is due; INT64_MAX: there is none. */
int64_t requests_due(const struct requests *requests);
