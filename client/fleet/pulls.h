/* SPDX-License-Identifier: MIT */
#pragma once
/* What a worker has asked the server for on behalf of one lane: exactly as many jobs as its daemon
 * has free slots. Each job asked for counts in lane->reserved until it comes or the request is
 * over. At most one request of a lane is open at each feed. */

#include "feeds.h"
#include "lane.h"

#include "bus.h"

struct pull {
    char feed[NAMES_RUN_MAX + 8];
    size_t asked, left; /* jobs that it asks for, and that may still come */
    bool waits;         /* at an empty feed */
    int64_t until_ms;
    LIST_ENTRY(pull) link;
};

struct pulls {
    struct bus *bus;
    struct lane *lane;
    char inbox[BUS_INBOX_SIZE];
    LIST_HEAD(, pull) open;
};

void pulls_init(struct pulls *pulls, struct bus *bus, struct lane *lane);

/* Forgets all requests, as after a lost connection. */
void pulls_clear(struct pulls *pulls);

/* Asks for as many jobs as there are free slots, from the feeds in turn. */
void pulls_fill(struct pulls *pulls, struct feeds *feeds, int64_t now);

/* A job of FEED has come. Returns whether it was asked for, and gives its slot back to the caller.
 */
bool pulls_take_job(struct pulls *pulls, const char *feed);

/* The server has ended the request at FEED (may be NULL: it is unknown) with STATUS. */
void pulls_end(struct pulls *pulls, struct feed *feed, const char *name, int status);

/* JOB is left to other hosts. When it comes again, the server gives it to the oldest request at its
 * feed, so this worker's requests there are to stay young for a while. */
void pulls_yield(struct feeds *feeds, const struct names_job *job, int64_t now);

/* Forgets the requests that should be over. Returns when the next one should be. */
int64_t pulls_expire(struct pulls *pulls, int64_t now);
