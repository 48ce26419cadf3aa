/* SPDX-License-Identifier: MIT */
#pragma once
/* What all requests share: settings, tokens, languages, and the connections to the daemon. */

#include "backend.h"
#include "pace.h"
#include "settings.h"
#include "steps.h"
#include "tokens.h"

/* A connection to the daemon for the jobs of one token: the daemon lets the connections of a user
 * take turns, so each token has its turns. */
struct share {
    const char *name;        /* of the token, borrowed; "" where no tokens are needed */
    struct backend *backend; /* NULL: it had no jobs yet */
    uint64_t bodies;         /* what it has of the gateway's */
    uint64_t results;        /* and of these */
};

struct gateway {
    struct event_base *base;
    const struct http_settings *settings;
    struct tokens tokens;
    bool wants_token;
    bool guards_browsers; /* a browser of this host can reach the address */
    bool stopping;        /* each connection ends with the answer under way */
    struct language_list languages;

    struct backend *control; /* for questions: no job holds them up */
    struct share *shares;
    size_t share_count;

    json_t *limits;    /* of the daemon's last hello; NULL: there was none */
    json_t *available; /* `languages` of the daemon's last status; NULL: nobody needed it yet */
    char *python;

    uint64_t bodies;  /* bytes of bodies that are in memory, without small ones */
    size_t exchanges; /* requests under way */
    size_t parts;     /* connections, parts of requests and of answers that there have been */

    uint64_t results; /* bytes of results that are there, or for which there has to be room */
    struct waiters waiters;
    struct event *room; /* tells them */

    struct pace pace; /* at which bodies are read */
};

/* Borrows SETTINGS; takes over TAKE_TOKENS. Negative errno with FAULT. */
int gateway_init(struct gateway *gateway, struct event_base *base,
                 const struct http_settings *settings, struct tokens *take_tokens,
                 struct fault *fault);

void gateway_deinit(struct gateway *gateway);

/* The connection for the jobs of the token NAME. 0 or a negative errno. */
int gateway_share(struct gateway *gateway, const char *name, struct backend **ret);

/* How the ids begin that the daemon knows of the jobs of the token NAME, and no others; NULL if it
 * had no jobs yet. Borrowed. */
const char *gateway_own_ids(const struct gateway *gateway, const char *name);

/* Makes the room of a body of the share NAME NOW bytes, which was BEFORE. False: there is not so
 * much, and nothing changes. Less is always granted. */
bool gateway_take_room(struct gateway *gateway, const char *name, uint64_t before, uint64_t now);

/* Streams of jobs leave so much of the memory for results, a fourth, to requests of one job. */
#define GATEWAY_SINGLES_PART 4

/* Whether a request that holds HELD bytes of results of the share NAME may hold MORE; a STREAM has
 * to leave some to others. A share that holds none always may: nobody waits for ever. */
bool gateway_may_hold(struct gateway *gateway, const char *name, bool stream, uint64_t held,
                      uint64_t more);

/* Records that a request of the share NAME holds NOW bytes of results instead of BEFORE. */
void gateway_hold(struct gateway *gateway, const char *name, uint64_t before, uint64_t now);

/* WAITER is called from the loop once results have gone. It may wait already. */
void gateway_wait(struct gateway *gateway, struct waiter *waiter);

/* Keeps LANGUAGES of the daemon's status for requests that wait for their turn. They are many, so
 * each does not keep an answer of its own. */
void gateway_keep_available(struct gateway *gateway, json_t *languages);

/* What the daemon's hello told. False if none has come yet. */
bool gateway_host(const struct gateway *gateway, struct steps_host *ret);
