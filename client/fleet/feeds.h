/* SPDX-License-Identifier: MIT */
#pragma once
/* The queues that a worker may pull from: a consumer for each run and priority. Pure.
 *
 * Runs take turns, whatever they have waiting; within a run the highest priority goes first. The
 * worker reads the list of consumers from the server once in a while. A feed of which a pull found
 * nothing is empty until the list or a message says otherwise; its run has another turn at once. */

#include "names.h"

#include <jansson.h>

/* Beside the subject's tokens: the description of a consumer says which daemons may run its jobs.
 */
#define FEEDS_ANY "any"

/* Whether jobs that are to have the isolation WANTED, or FEEDS_ANY, may have DIGEST. */
bool feeds_allow(const char *wanted, const char *digest);

struct feed {
    char name[NAMES_RUN_MAX + 8]; /* of the consumer */
    char run[NAMES_RUN_MAX + 1];
    int64_t priority;
    int64_t ack_wait_ms;
    char digest[80];         /* of the isolation that the jobs are to have; FEEDS_ANY */
    int64_t yields_until_ms; /* until then the worker lets others have its jobs first */
    bool is_empty;
    bool is_owed; /* the last turn of its run went to this feed, which was empty */
    bool is_listed;
    bool is_foreign; /* no daemon of this worker may run its jobs, and the worker has said so */
};

struct feeds {
    struct feed *items; /* by run, then the highest priority first */
    size_t n;
    char last_run[NAMES_RUN_MAX + 1]; /* whose turn it was last */
    char last_idle[NAMES_RUN_MAX + 8];
};

#define FEEDS_NULL     \
    {                  \
        .items = NULL, \
    }

void feeds_deinit(struct feeds *feeds);

/* Takes a page of the server's list of consumers, an array. FIRST: it is the first page. LAST: the
 * feeds that no page had are gone. Feeds that were returned before are no longer valid. */
void feeds_take_page(struct feeds *feeds, const json_t *consumers, bool first, bool last);

/* Returns the feed of that name, or NULL. */
struct feed *feeds_find(struct feeds *feeds, const char *name);

typedef bool feeds_suits(void *arg, const struct feed *feed);

/* Notes that a pull of FEED found nothing. If it was the turn of its run, the run keeps that. */
void feeds_miss(struct feed *feed, bool was_turn);

/* Returns the feed whose turn it is among those that are not empty and that SUITS accepts; NULL:
 * none. */
struct feed *feeds_next(struct feeds *feeds, feeds_suits *suits, void *arg);

/* Counts the runs that have such a feed. */
size_t feeds_count_runs(const struct feeds *feeds, feeds_suits *suits, void *arg);

/* Returns the feed to wait at: each that SUITS accepts in turn, empty or not; NULL: none. */
struct feed *feeds_next_idle(struct feeds *feeds, feeds_suits *suits, void *arg);
