/* SPDX-License-Identifier: MIT */
#pragma once
/* One request and its answer.
 *
 * Theory of operation. libmicrohttpd reads a request and calls the server for each part of it. When
 * the body is complete the server starts the route's handler. The handler answers at once, or
 * later; until then the connection is suspended, so that libmicrohttpd does not look at it. What an
 * answer consists of goes through `out`; a connection whose output is not ready is suspended again.
 *
 * Each stage of a request has a deadline: its header, each MiB of its body, each part of the answer
 * that is to be taken. The daemon's work has none here: jobs have their own. */

#include "conn.h"
#include "reply.h"

#include <event2/buffer.h>

/* The bytes of a body, and of an answer, that must be on their way within body_time, reply_time. */
#define EXCHANGE_BODY_STEP ((size_t)1 << 20)
#define EXCHANGE_REPLY_STEP ((size_t)64 << 10)

/* Bodies of so many bytes need no room: connections bound how many there are. */
#define EXCHANGE_BODY_FREE ((size_t)64 << 10)

enum exchange_state {
    EXCHANGE_RECEIVING,
    EXCHANGE_WORKING,
    EXCHANGE_ANSWERING,
    EXCHANGE_STATES,
};

struct exchange {
    struct gateway *gateway;
    struct conn *conn;
    enum exchange_state state;
    enum reply_api api;
    int (*start)(struct exchange *exchange); /* the handler; negative errno: it cannot */
    const char *share;                       /* the token's name; "" without one */
    bool lines;                              /* the body is NDJSON */

    char *body;
    size_t body_length, body_room, body_max;
    size_t received; /* bytes of the body, those that were not kept included */

    /* The answer. */
    bool ready; /* status and headers are known */
    bool finished;
    unsigned status;
    const char *content_type;
    const char *allow;
    bool retry_after;
    bool closes;     /* no request may follow on the connection */
    bool is_chunked; /* others may see the end of its body elsewhere: see check_framing() */
    struct evbuffer *out;
    uint64_t reserved; /* bytes that may yet come into `out` */
    uint64_t held;     /* what the gateway counts of both */
    struct waiter waiter;

    /* Of the handler: called when `out` has room again, or other answers have left room for its
     * own; and when the exchange ends, also early. */
    void *work;
    void (*drained)(void *work);
    void (*end_work)(void *work);
};

struct exchange *exchange_new(struct conn *conn);

/* Ends the handler's work. Accepts NULL and returns NULL. */
struct exchange *exchange_free(struct exchange *exchange);

/* Appends N bytes of the body. 0; or a status for the client: 413, 503. */
unsigned exchange_take_body(struct exchange *exchange, const char *data, size_t n);

/* Keeps TAKE_TEXT, which the handler made of the body, in its place; it counts as a body does.
 * False if there is no room for it: the exchange is as it was, and the text is freed. */
bool exchange_replace_body(struct exchange *exchange, struct bytes *take_text);

/* Hands out the text that exchange_replace_body() has kept; the exchange has no body any more. */
struct bytes exchange_take_text(struct exchange *exchange);

/* Answers with a whole text, of N bytes. */
void exchange_answer(struct exchange *exchange, unsigned status, const char *content_type,
                     const char *text, size_t n);

/* The same, with a text that it takes over. */
void exchange_answer_text(struct exchange *exchange, unsigned status, const char *content_type,
                          struct bytes *take_text);

/* Answers with a JSON value, which it takes over; NULL is taken as a lack of memory. */
void exchange_answer_json(struct exchange *exchange, unsigned status, json_t *take);

/* Answers with an error in the form of the API. RETRIABLE adds Retry-After. */
void exchange_fail(struct exchange *exchange, unsigned status, const char *code,
                   const char *message, bool retriable);

/* Begins an answer that comes in parts. */
void exchange_stream(struct exchange *exchange, const char *content_type);
void exchange_put(struct exchange *exchange, struct bytes *take_text);
void exchange_finish(struct exchange *exchange);

/* Whether so much of the answer is unread that no more may be made. */
bool exchange_is_full(const struct exchange *exchange);

/* Whether there may be N more bytes of an answer. If not, `drained` is called once it is worth
 * another try. */
bool exchange_may_hold(struct exchange *exchange, uint64_t n);

/* Does the same, and keeps the room until the answer is there or it is given back. */
bool exchange_reserve(struct exchange *exchange, uint64_t n);
void exchange_give_back(struct exchange *exchange, uint64_t n);

/* Changes the state; each comes at most once, in their order. */
void exchange_enter(struct exchange *exchange, enum exchange_state state);

/* Hands the answer to libmicrohttpd; it is ready. */
enum MHD_Result exchange_respond(struct exchange *exchange);
