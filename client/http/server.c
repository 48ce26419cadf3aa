/* SPDX-License-Identifier: MIT */
#include "server.h"
#include "crowd.h"
#include "guard.h"
#include "route.h"

#include "client/terminal/text.h"

#include <assert.h>
#include <string.h>

#define NDJSON "application/x-ndjson"
#define MESSAGE_MAX 100

/* libmicrohttpd reads at least so much of a request at once, if it is there. */
#define READ_STEP ((size_t)1024)
/* Runs of libmicrohttpd in vain, beyond those that read a header; and how long it rests then. A
 * header that comes meanwhile takes longer by as much for each READ_STEP. */
#define VAIN_RUNS_MAX 16
#define REST_MS 5

/* How often to look for connections that are full, as long as there may be one. */
#define LOOK_MS 50

struct server {
    struct gateway *gateway;
    struct crowd crowd;
    struct MHD_Daemon *mhd;
    struct event *readable, *timer;
    bool ended; /* a connection has ended since libmicrohttpd last looked at its listening socket */
    size_t vain_runs;  /* runs of libmicrohttpd that it wanted at once and that led to nothing */
    int64_t looked_ms; /* when end_full() has looked last */
    void (*idle)(void *userdata);
    void *idle_userdata;
};

/* --- the loop ----------------------------------------------------------------------------- */

/* Ends connections of whose requests libmicrohttpd takes no more. It waits for room where the
 * extensions of a chunk fill the memory of a connection, and would do so for ever: so it does not
 * see that the client leaves, either. */
static void end_full(struct server *server)
{
    struct conn *conn;
    int64_t now_ms = monotonic_ms();
    if (now_ms - server->looked_ms < LOOK_MS)
        return;
    server->looked_ms = now_ms;
    for (enum conn_place place = 0; place < CONN_ENDING; place++) {
        TAILQ_FOREACH(conn, &server->crowd.of[place], link)
        {
            conn_check_taken(conn);
        }
    }
}

/* Counts runs that libmicrohttpd WANTS at once, though they lead to nothing. True: it has had as
 * many as it takes to read a header, and rests now: a connection may be full to the last byte. An
 * event ends the rest. */
static bool must_rest(struct server *server, bool wants, bool went_on)
{
    size_t most = server->gateway->settings->header_bytes / READ_STEP + VAIN_RUNS_MAX;
    server->vain_runs = wants && !went_on ? server->vain_runs + 1 : 0;
    return server->vain_runs >= most;
}

static void run(struct server *server)
{
    MHD_UNSIGNED_LONG_LONG ms;
    const size_t parts = server->gateway->parts;
    server->ended = false;
    (void)MHD_run(server->mhd);
    bool is_due = MHD_get_timeout(server->mhd, &ms) == MHD_YES;
    bool wants = is_due && ms == 0; /* so it does as long as a connection is full */
    if (wants)
        end_full(server);
    if (must_rest(server, wants, server->gateway->parts != parts))
        ms = REST_MS;
    /* With as many connections as there may be, libmicrohttpd takes its listening socket out of its
     * epoll, and only its next run puts it back: without one, whoever waits would wait for somebody
     * else's deadline. It is a turn of the loop away, since connections may end in every run. */
    if (server->ended)
        ms = 0;
    if (is_due || server->ended) {
        const struct timeval tv = {.tv_sec = (time_t)(ms / 1000),
                                   .tv_usec = (long)(ms % 1000) * 1000};
        (void)event_add(server->timer, &tv);
    } else {
        (void)event_del(server->timer);
    }
    if (server->idle && server->gateway->exchanges == 0)
        server->idle(server->idle_userdata);
}

static void on_ready(_unused_ evutil_socket_t fd, _unused_ short events, void *userdata)
{
    run(userdata);
}

/* --- connections -------------------------------------------------------------------------- */

static void on_connection(void *cls, struct MHD_Connection *mhd, void **context,
                          enum MHD_ConnectionNotificationCode code)
{
    struct server *server = cls;
    struct conn *conn = *context;
    server->gateway->parts++;
    if (code == MHD_CONNECTION_NOTIFY_STARTED) {
        *context = conn = conn_new(server->gateway, mhd, server->readable);
        if (conn)
            crowd_add(&server->crowd, conn);
        return;
    }
    if (!conn)
        return;
    assert(!conn->exchange);
    server->ended = true;
    crowd_remove(&server->crowd, conn);
    *context = conn_free(conn);
}

static void on_completed(_unused_ void *cls, struct MHD_Connection *mhd, void **context,
                         _unused_ enum MHD_RequestTerminationCode code)
{
    struct conn *conn =
        MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_SOCKET_CONTEXT)->socket_context;
    *context = exchange_free(*context);
    /* The next request begins. */
    if (conn && conn->gateway->stopping)
        conn_end(conn);
    else if (conn && !conn->dead)
        conn_receive(conn, conn->gateway->settings->header_time);
}

/* --- requests ----------------------------------------------------------------------------- */

static const char *header(struct MHD_Connection *mhd, const char *name)
{
    return MHD_lookup_connection_value(mhd, MHD_HEADER_KIND, name);
}

/* Checks where the request comes from, and whose it is. False: it is answered. */
static bool admit(struct server *server, struct exchange *exchange)
{
    struct gateway *gateway = exchange->gateway;
    struct MHD_Connection *mhd = exchange->conn->mhd;
    if (gateway->guards_browsers && !guard_host_is_local(header(mhd, MHD_HTTP_HEADER_HOST))) {
        exchange_fail(exchange, MHD_HTTP_FORBIDDEN, "foreign_host",
                      "the header Host names another machine", false);
        return false;
    }
    if (gateway->guards_browsers && !guard_origin_is_local(header(mhd, MHD_HTTP_HEADER_ORIGIN))) {
        exchange_fail(exchange, MHD_HTTP_FORBIDDEN, "foreign_origin",
                      "pages of other sites may not use this", false);
        return false;
    }
    if (!gateway->wants_token)
        return true;
    exchange->share =
        tokens_match(&gateway->tokens, guard_bearer(header(mhd, MHD_HTTP_HEADER_AUTHORIZATION)));
    if (exchange->share && crowd_recognise(&server->crowd, exchange->conn, exchange->share))
        return true;
    if (exchange->share) {
        exchange->closes = true;
        exchange_fail(exchange, MHD_HTTP_SERVICE_UNAVAILABLE, "too_many_connections",
                      "the token has as many connections as it may have now", true);
        return false;
    }
    exchange->share = "";
    exchange_fail(exchange, MHD_HTTP_UNAUTHORIZED, "unauthorized",
                  "a bearer token is needed, and it must be a known one", false);
    return false;
}

static void fail_path(struct exchange *exchange, const char *path)
{
    const char *meant = route_meant(path);
    char message[MESSAGE_MAX];
    (void)snprintf(message, sizeof(message), "there is no such path%s%s%s",
                   meant ? "; did you mean " : "", meant ? meant : "", meant ? "?" : "");
    exchange_fail(exchange, MHD_HTTP_NOT_FOUND, "not_found", message, false);
}

/* Finds the route. False: the request is answered. */
static bool find_route(struct exchange *exchange, const char *path, const char *method)
{
    const struct route *route = route_find(path);
    exchange->api = route ? route->api : REPLY_OWN;
    if (!route) {
        fail_path(exchange, path);
        return false;
    }
    if (!route_takes(route, method)) {
        exchange->allow = route_allow(route);
        char message[MESSAGE_MAX];
        (void)snprintf(message, sizeof(message), "the path does not take this method; it takes %s",
                       exchange->allow);
        exchange_fail(exchange, MHD_HTTP_METHOD_NOT_ALLOWED, "method_not_allowed", message, false);
        return false;
    }
    exchange->start = route->start;
    if (!route->is_post)
        return true;
    const char *type = header(exchange->conn->mhd, MHD_HTTP_HEADER_CONTENT_TYPE);
    exchange->lines = route->lines && guard_is_type(type, NDJSON);
    if (exchange->lines || guard_is_type(type, "application/json"))
        return true;
    exchange_fail(exchange, MHD_HTTP_UNSUPPORTED_MEDIA_TYPE, "unsupported_media_type",
                  route->lines ? "expected Content-Type: application/json or " NDJSON
                               : "expected Content-Type: application/json",
                  false);
    return false;
}

static void fail_body(struct exchange *exchange, unsigned status)
{
    if (status == MHD_HTTP_CONTENT_TOO_LARGE)
        exchange_fail(exchange, status, "too_large", "the body is larger than is allowed", false);
    else
        exchange_fail(exchange, status, "busy", "there is no room for the body now", true);
}

/* Bounds the body, and refuses one that says itself that it is too large. */
static void bound_body(struct exchange *exchange)
{
    const struct gateway *gateway = exchange->gateway;
    const char *length = header(exchange->conn->mhd, MHD_HTTP_HEADER_CONTENT_LENGTH);
    size_t max = gateway->settings->body_bytes;
    if (!exchange->lines)
        max = MIN(max, backend_job_max(gateway->control));
    exchange->body_max = max;
    if (length && strtoull(length, NULL, 10) > max)
        fail_body(exchange, MHD_HTTP_CONTENT_TOO_LARGE);
}

static enum MHD_Result count_framing(void *cls, _unused_ enum MHD_ValueKind kind, const char *name,
                                     const char *value)
{
    guard_count_framing(cls, name, value);
    return MHD_YES;
}

/* Refuses a request whose body may end elsewhere for others. False: it is answered.
 *
 * libmicrohttpd ends the line of a chunk at a bare line feed, too, also in an extension, and does
 * not tell. A proxy that reads on sees the end of the body later: what is behind the end that we
 * see may then be no request to the proxy, but a part of this one. So nothing of it is read. */
static bool check_framing(struct exchange *exchange, const char *version)
{
    struct guard_framing framing = {.knows_encodings = strcmp(version, MHD_HTTP_VERSION_1_0) != 0};
    (void)MHD_get_connection_values(exchange->conn->mhd, MHD_HEADER_KIND, count_framing, &framing);
    exchange->is_chunked = framing.encodings > 0;
    if (guard_framing_is_clear(&framing))
        return true;
    exchange->closes = true;
    exchange_fail(exchange, MHD_HTTP_BAD_REQUEST, "bad_request",
                  "expected one Host, at most one Origin and Authorization, and one Content-Length "
                  "or \"Transfer-Encoding: chunked\", "
                  "each header in a line and without a space in its name",
                  false);
    return false;
}

/* Judges the header. The answer to a request that is refused waits for the end of the body, so that
 * the client gets it instead of a reset; a client that waits for a word before it sends the body
 * gets it at once. */
static enum MHD_Result begin(struct server *server, struct exchange *exchange, const char *path,
                             const char *method, const char *version)
{
    const char *expect = header(exchange->conn->mhd, MHD_HTTP_HEADER_EXPECT);
    if (check_framing(exchange, version) && find_route(exchange, path, method) &&
        admit(server, exchange))
        bound_body(exchange);
    conn_receive(exchange->conn, exchange->gateway->settings->body_time);
    if (exchange->ready && (expect || exchange->closes))
        return exchange_respond(exchange);
    return MHD_YES;
}

/* Takes a part of the body; of a refused request it is not kept. */
static enum MHD_Result take_body(struct exchange *exchange, const char *data, size_t n)
{
    const struct http_settings *settings = exchange->gateway->settings;
    size_t before = exchange->received;
    exchange->received += n;
    exchange->conn->untaken = 0;
    if (exchange->received > settings->body_bytes && exchange->ready &&
        exchange->received - settings->body_bytes > settings->body_bytes)
        return MHD_NO;
    if (before / EXCHANGE_BODY_STEP != exchange->received / EXCHANGE_BODY_STEP)
        conn_receive(exchange->conn, settings->body_time);
    unsigned status = exchange->ready ? 0 : exchange_take_body(exchange, data, n);
    if (status)
        fail_body(exchange, status);
    return MHD_YES;
}

/* The request is complete: starts its handler, or goes on with its answer. */
static enum MHD_Result go_on(struct exchange *exchange)
{
    struct conn *conn = exchange->conn;
    if (exchange->state == EXCHANGE_RECEIVING) {
        conn_received(conn);
        exchange_enter(exchange, EXCHANGE_WORKING);
        if (!exchange->ready && exchange->start(exchange) < 0 && !exchange->ready)
            exchange_fail(exchange, MHD_HTTP_SERVICE_UNAVAILABLE, "internal", "out of memory",
                          true);
    }
    if (conn->dead)
        return MHD_NO;
    if (exchange->ready)
        return exchange_respond(exchange);
    conn_suspend(conn);
    return MHD_YES;
}

static enum MHD_Result on_request(void *cls, struct MHD_Connection *mhd, const char *path,
                                  const char *method, const char *version, const char *data,
                                  size_t *n, void **context)
{
    struct server *server = cls;
    struct conn *conn =
        MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_SOCKET_CONTEXT)->socket_context;
    server->gateway->parts++;
    if (!conn || conn->dead)
        return MHD_NO;
    if (!*context) {
        *context = exchange_new(conn);
        return *context ? begin(server, *context, path, method, version) : MHD_NO;
    }
    if (*n == 0)
        return go_on(*context);
    size_t taken = *n;
    *n = 0;
    return take_body(*context, data, taken);
}

/* --- the server --------------------------------------------------------------------------- */

/* Decodes TEXT of a request's path or query. Behind a decoded NUL nobody would see the rest of a
 * path: a text with one stays as it came, and so is no path that there is. */
static size_t unescape(_unused_ void *cls, _unused_ struct MHD_Connection *mhd, char *text)
{
    return strstr(text, "%00") ? strlen(text) : MHD_http_unescape(text);
}

static struct MHD_Daemon *start_mhd(struct server *server, int listen_fd)
{
    const struct http_settings *settings = server->gateway->settings;
    bool counts = !server->crowd.has_strangers;
    unsigned most = settings->connections + (counts ? 0 : CROWD_ENDING_MAX);
    return MHD_start_daemon(
        MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME, 0, NULL, NULL, on_request, server,
        MHD_OPTION_LISTEN_SOCKET, listen_fd, MHD_OPTION_CONNECTION_LIMIT, most,
        MHD_OPTION_PER_IP_CONNECTION_LIMIT, counts ? settings->connections_per_address : 0,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)settings->header_bytes,
        MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_UNESCAPE_CALLBACK, unescape, NULL,
        MHD_OPTION_NOTIFY_CONNECTION, on_connection, server, MHD_OPTION_NOTIFY_COMPLETED,
        on_completed, server, MHD_OPTION_SIGPIPE_HANDLED_BY_APP, 1, MHD_OPTION_END);
}

static int watch(struct server *server)
{
    const union MHD_DaemonInfo *info = MHD_get_daemon_info(server->mhd, MHD_DAEMON_INFO_EPOLL_FD);
    server->readable =
        event_new(server->gateway->base, info->epoll_fd, EV_READ | EV_PERSIST, on_ready, server);
    server->timer = evtimer_new(server->gateway->base, on_ready, server);
    return server->readable && server->timer ? event_add(server->readable, NULL) : -1;
}

int server_new(struct gateway *gateway, int take_listen_fd, struct server **ret,
               struct fault *fault)
{
    struct server *server = calloc(1, sizeof(*server));
    if (!server)
        return -ENOMEM;
    server->gateway = gateway;
    crowd_init(&server->crowd, gateway);
    server->mhd = start_mhd(server, take_listen_fd);
    if (!server->mhd || watch(server) < 0) {
        (void)fault_set(fault, "libmicrohttpd cannot serve the socket");
        (void)server_free(server);
        return -EIO;
    }
    *ret = server;
    return 0;
}

/* Ends connections without a request, and bounds the time of requests that are still to come. */
static void end_requests_that_come(struct server *server)
{
    struct conn *conn;
    (void)MHD_run(server->mhd); /* what has come is one that is under way */
    for (enum conn_place place = 0; place < CONN_PLACES; place++) {
        TAILQ_FOREACH(conn, &server->crowd.of[place], link)
        {
            if (conn->receives && conn->exchange)
                conn_receive(conn, SERVER_STOP_BODY_MS);
            else if (conn->receives)
                conn_end(conn);
        }
    }
    server->gateway->stopping = true;
}

void server_drain(struct server *server, void (*idle)(void *userdata), void *userdata)
{
    if (server->idle)
        return;
    /* libmicrohttpd only stops to accept: closed, the socket refuses whoever comes now. */
    int listen_fd = MHD_quiesce_daemon(server->mhd);
    if (listen_fd >= 0)
        (void)close(listen_fd);
    server->idle = idle;
    server->idle_userdata = userdata;
    end_requests_that_come(server);
    event_active(server->readable, EV_READ, 0);
}

struct server *server_free(struct server *server)
{
    struct conn *conn;
    if (!server)
        return NULL;
    /* libmicrohttpd does not stop with connections that are suspended. */
    for (enum conn_place place = 0; place < CONN_PLACES; place++)
        TAILQ_FOREACH(conn, &server->crowd.of[place], link)
    conn_kill(conn);
    if (server->mhd)
        (void)MHD_run(server->mhd);
    if (server->mhd)
        MHD_stop_daemon(server->mhd);
    if (server->readable)
        event_free(server->readable);
    if (server->timer)
        event_free(server->timer);
    free(server);
    return NULL;
}
