/* SPDX-License-Identifier: MIT */
#pragma once
/* Which workers a fleet has, without calls that block: it hears what they announce, asks for it
 * where it would have to wait, and asks them what their daemons say of themselves. */

#include "bus.h"

#include <jansson.h>

/* What workers answer on the subject FLEET.ask. */
#define CENSUS_ASK_ANNOUNCE "announce" /* with the next announcement, at once */
#define CENSUS_ASK_STATUS "status"     /* with the status of each daemon, a message for each */
#define CENSUS_ASK_METRICS "metrics"   /* with its metrics, likewise */

/* Called once with an array of the answers: objects (status) or strings (metrics). */
typedef void census_told(void *arg, const json_t *answers);

enum census_question {
    CENSUS_STATUS,
    CENSUS_METRICS,
    CENSUS_QUESTIONS,
};

struct census_asker {
    census_told *told;
    void *arg;
    struct census_asker *next;
};

/* A question that was put to all workers. */
struct census_poll {
    json_t *answers; /* NULL: there is none */
    size_t expected;
    uint64_t number;
    int64_t until_ms;
    struct census_asker *askers;
};

struct census {
    struct bus *bus;
    json_t *hosts;    /* by worker: {"about": what it announced, "seen_ms"} */
    int64_t first_ms; /* when the first one was heard of; INT64_MAX: none was */
    int64_t asked_ms; /* when the workers were asked to announce themselves */
    unsigned epoch;
    char inbox[BUS_INBOX_SIZE];
    uint64_t last_number;
    struct census_poll polls[CENSUS_QUESTIONS];
};

/* CENSUS stays where it is for as long as BUS lives. 0 or a negative errno. */
int census_init(struct census *census, struct bus *bus);
void census_deinit(struct census *census);

/* Whether the workers that are there have had the time to say so. */
bool census_is_settled(const struct census *census, int64_t now);

/* Returns the last announcement of each worker that is not too old, in the order of their names:
 * an array, which the caller owns. NULL when memory runs out. */
json_t *census_hosts(struct census *census, int64_t now);

/* Asks every daemon. TOLD is called when all have answered, or some have not for a second. */
void census_ask(struct census *census, enum census_question question, census_told *told, void *arg);

/* TOLD will not be called with ARG. */
void census_forget(struct census *census, const void *arg);

/* Does what is due. */
void census_tick(struct census *census, int64_t now);
