/* SPDX-License-Identifier: MIT */
#include "exchange.h"

#include "proto/printer.h"

#include <assert.h>
#include <string.h>

#define RETRY_AFTER_S "1"
/* Texts up to this size are copied. */
#define COPIED_MAX 4096

/* --- the request -------------------------------------------------------------------------- */

/* Results of others have gone. */
static void try_again(struct waiter *waiter)
{
    struct exchange *exchange = container_of(waiter, struct exchange, waiter);
    if (exchange->work && exchange->drained && !exchange->conn->dead)
        exchange->drained(exchange->work);
}

struct exchange *exchange_new(struct conn *conn)
{
    struct exchange *exchange = calloc(1, sizeof(*exchange));
    if (!exchange)
        return NULL;
    exchange->gateway = conn->gateway;
    exchange->conn = conn;
    exchange->share = "";
    exchange->out = evbuffer_new();
    if (!exchange->out) {
        free(exchange);
        return NULL;
    }
    exchange->waiter.again = try_again;
    conn->exchange = exchange;
    conn->gateway->exchanges++;
    return exchange;
}

/* Ends the work for EXCHANGE, if it has not ended yet. */
static void end_work(struct exchange *exchange)
{
    if (exchange->work)
        exchange->end_work(exchange->work);
    exchange->work = NULL;
}

/* The bytes of a body of ROOM for which there must be room. */
static uint64_t charge(size_t room)
{
    return room > EXCHANGE_BODY_FREE ? room : 0;
}

static void drop_body(struct exchange *exchange)
{
    (void)gateway_take_room(exchange->gateway, exchange->share, charge(exchange->body_room), 0);
    free(exchange->body);
    exchange->body = NULL;
    exchange->body_length = exchange->body_room = 0;
}

struct exchange *exchange_free(struct exchange *exchange)
{
    if (!exchange)
        return NULL;
    end_work(exchange);
    drop_body(exchange);
    gateway_hold(exchange->gateway, exchange->share, exchange->held, 0);
    waiter_wait_no_more(&exchange->waiter);
    evbuffer_free(exchange->out);
    exchange->conn->exchange = NULL;
    exchange->gateway->exchanges--;
    free(exchange);
    return NULL;
}

/* Sees to it that there is room for WANTED bytes. False: there is none. */
static bool make_room(struct exchange *exchange, size_t wanted)
{
    size_t room = MAX(wanted, 2 * exchange->body_room);
    if (wanted <= EXCHANGE_BODY_FREE)
        room = MIN(room, EXCHANGE_BODY_FREE);
    room = MIN(room, exchange->body_max);
    uint64_t before = charge(exchange->body_room), now = charge(room);
    if (!gateway_take_room(exchange->gateway, exchange->share, before, now))
        return false;
    char *body = realloc(exchange->body, room);
    if (!body) {
        (void)gateway_take_room(exchange->gateway, exchange->share, now, before);
        return false;
    }
    exchange->body = body;
    exchange->body_room = room;
    return true;
}

unsigned exchange_take_body(struct exchange *exchange, const char *data, size_t n)
{
    if (n > exchange->body_max - exchange->body_length) {
        drop_body(exchange);
        return MHD_HTTP_CONTENT_TOO_LARGE;
    }
    size_t wanted = exchange->body_length + n;
    if (wanted > exchange->body_room && !make_room(exchange, wanted)) {
        drop_body(exchange);
        return MHD_HTTP_SERVICE_UNAVAILABLE;
    }
    memcpy(exchange->body + exchange->body_length, data, n);
    exchange->body_length = wanted;
    return 0;
}

bool exchange_replace_body(struct exchange *exchange, struct bytes *take_text)
{
    _cleanup_bytes_ struct bytes text = TAKE_STRUCT(*take_text, BYTES_NULL);
    size_t room = text.length + 1; /* with its NUL */
    char *exact = realloc(text.data, room);
    text.data = exact ? exact : text.data;
    if (!exact || !gateway_take_room(exchange->gateway, exchange->share,
                                     charge(exchange->body_room), charge(room)))
        return false;
    free(exchange->body);
    exchange->body = text.data;
    exchange->body_length = text.length;
    exchange->body_room = room;
    text = (struct bytes)BYTES_NULL;
    return true;
}

struct bytes exchange_take_text(struct exchange *exchange)
{
    struct bytes text = {.data = exchange->body, .length = exchange->body_length};
    exchange->body = NULL;
    drop_body(exchange);
    return text;
}

/* --- the answer --------------------------------------------------------------------------- */

void exchange_enter(struct exchange *exchange, enum exchange_state state)
{
    assert(exchange->state < state); /* each comes once, in their order */
    exchange->state = state;
}

/* Counts what of the answer takes memory, or may yet take it. */
static void count(struct exchange *exchange)
{
    uint64_t now = evbuffer_get_length(exchange->out) + exchange->reserved;
    gateway_hold(exchange->gateway, exchange->share, exchange->held, now);
    exchange->held = now;
}

bool exchange_may_hold(struct exchange *exchange, uint64_t n)
{
    if (gateway_may_hold(exchange->gateway, exchange->share, exchange->lines, exchange->held, n))
        return true;
    gateway_wait(exchange->gateway, &exchange->waiter);
    return false;
}

bool exchange_reserve(struct exchange *exchange, uint64_t n)
{
    if (!exchange_may_hold(exchange, n))
        return false;
    exchange->reserved += n;
    count(exchange);
    return true;
}

void exchange_give_back(struct exchange *exchange, uint64_t n)
{
    exchange->reserved -= n;
    count(exchange);
}

static void free_text(const void *text, _unused_ size_t n, _unused_ void *extra)
{
    union {
        const void *borrowed;
        void *owned;
    } pointer = {.borrowed = text};
    free(pointer.owned);
}

/* Adds TAKE_TEXT without a copy: a result may be large, and a buffer of libevent's is up to twice
 * as large. 0 or -1. */
static int add_text(struct evbuffer *out, struct bytes *take_text)
{
    struct bytes text = TAKE_STRUCT(*take_text, BYTES_NULL);
    char *exact = NULL;
    int r = 0;
    if (text.length >= COPIED_MAX)
        exact = realloc(text.data, text.length);
    text.data = exact ? exact : text.data;
    if (exact)
        r = evbuffer_add_reference(out, exact, text.length, free_text, NULL);
    else
        r = evbuffer_add(out, text.data, text.length);
    if (!exact || r < 0)
        free(text.data);
    return r;
}

static void begin(struct exchange *exchange, unsigned status, const char *content_type)
{
    assert(!exchange->ready);
    exchange->ready = true;
    exchange->status = status;
    exchange->content_type = content_type;
}

void exchange_answer_text(struct exchange *exchange, unsigned status, const char *content_type,
                          struct bytes *take_text)
{
    begin(exchange, status, content_type);
    exchange->reserved = 0; /* this is all of it */
    if (add_text(exchange->out, take_text) < 0) {
        conn_kill(exchange->conn);
        return;
    }
    count(exchange);
    exchange->finished = true;
    drop_body(exchange);
    conn_resume(exchange->conn);
}

void exchange_answer(struct exchange *exchange, unsigned status, const char *content_type,
                     const char *text, size_t n)
{
    struct bytes copy = BYTES_NULL;
    if (bytes_copy(text, n, &copy) < 0)
        conn_kill(exchange->conn);
    else
        exchange_answer_text(exchange, status, content_type, &copy);
}

void exchange_answer_json(struct exchange *exchange, unsigned status, json_t *take)
{
    _cleanup_bytes_ struct bytes text = BYTES_NULL;
    int r = take ? json_print(take, &text) : -ENOMEM;
    json_decref(take);
    if (r < 0)
        conn_kill(exchange->conn);
    else
        exchange_answer_text(exchange, status, "application/json", &text);
}

void exchange_fail(struct exchange *exchange, unsigned status, const char *code,
                   const char *message, bool retriable)
{
    exchange->retry_after = retriable;
    exchange_answer_json(exchange, status, reply_error(exchange->api, code, message, retriable));
}

void exchange_stream(struct exchange *exchange, const char *content_type)
{
    begin(exchange, MHD_HTTP_OK, content_type);
}

void exchange_put(struct exchange *exchange, struct bytes *take_text)
{
    if (exchange->conn->dead) {
        bytes_deinit(take_text);
        return;
    }
    if (add_text(exchange->out, take_text) < 0)
        conn_kill(exchange->conn);
    else
        conn_resume(exchange->conn);
    count(exchange);
}

void exchange_finish(struct exchange *exchange)
{
    exchange->finished = true;
    conn_resume(exchange->conn);
}

bool exchange_is_full(const struct exchange *exchange)
{
    return evbuffer_get_length(exchange->out) >= exchange->gateway->settings->unread_bytes;
}

/* libmicrohttpd asks for the next part: the client has taken the one before. */
static ssize_t read_answer(void *cls, _unused_ uint64_t at, char *to, size_t n)
{
    struct exchange *exchange = cls;
    struct conn *conn = exchange->conn;
    exchange->gateway->parts++;
    if (conn->dead)
        return MHD_CONTENT_READER_END_WITH_ERROR;
    if (evbuffer_get_length(exchange->out) == 0) {
        if (exchange->finished)
            return MHD_CONTENT_READER_END_OF_STREAM;
        conn_suspend(conn);
        return 0;
    }
    int taken = evbuffer_remove(exchange->out, to, n);
    count(exchange);
    conn_deadline(conn, exchange->gateway->settings->reply_time);
    if (exchange->work && exchange->drained && !exchange_is_full(exchange))
        exchange->drained(exchange->work);
    return conn->dead ? MHD_CONTENT_READER_END_WITH_ERROR : taken;
}

static bool add_headers(const struct exchange *exchange, struct MHD_Response *response)
{
    bool ok =
        MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, exchange->content_type) ==
            MHD_YES &&
        MHD_add_response_header(response, "X-Content-Type-Options", "nosniff") == MHD_YES &&
        MHD_add_response_header(response, MHD_HTTP_HEADER_CACHE_CONTROL, "no-store") == MHD_YES;
    if (exchange->allow)
        ok = ok &&
             MHD_add_response_header(response, MHD_HTTP_HEADER_ALLOW, exchange->allow) == MHD_YES;
    if (exchange->retry_after)
        ok = ok && MHD_add_response_header(response, MHD_HTTP_HEADER_RETRY_AFTER, RETRY_AFTER_S) ==
                       MHD_YES;
    if (exchange->closes)
        ok =
            ok && MHD_add_response_header(response, MHD_HTTP_HEADER_CONNECTION, "close") == MHD_YES;
    if (exchange->status == MHD_HTTP_UNAUTHORIZED)
        ok = ok && MHD_add_response_header(response, MHD_HTTP_HEADER_WWW_AUTHENTICATE,
                                           "Bearer realm=\"rubricd\"") == MHD_YES;
    return ok;
}

enum MHD_Result exchange_respond(struct exchange *exchange)
{
    uint64_t size = exchange->finished ? evbuffer_get_length(exchange->out) : MHD_SIZE_UNKNOWN;
    exchange_enter(exchange, EXCHANGE_ANSWERING);
    conn_received(exchange->conn); /* also in the middle of a body that is refused */
    exchange->closes |= exchange->gateway->stopping || exchange->is_chunked;
    struct MHD_Response *response =
        MHD_create_response_from_callback(size, EXCHANGE_REPLY_STEP, read_answer, exchange, NULL);
    if (!response)
        return MHD_NO;
    enum MHD_Result result = MHD_NO;
    if (add_headers(exchange, response))
        result = MHD_queue_response(exchange->conn->mhd, exchange->status, response);
    MHD_destroy_response(response);
    conn_deadline(exchange->conn, exchange->gateway->settings->reply_time);
    return result;
}
