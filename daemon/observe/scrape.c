/* SPDX-License-Identifier: MIT */
#include "scrape.h"

#include "conf/address.h"
#include "daemon/base/clock.h"
#include "daemon/base/events.h"
#include "daemon/net/listener.h"

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <string.h>
#include <strings.h>

#define BACKLOG 16
#define SOCKET_MODE 0660
#define SWEEP_MS 1000
/* A connection that was given up is freed by the event loop; then there is room. */
#define ROOM_MS 10

/* --- replies ------------------------------------------------------------------------------- */

/* The quality of one media range in thousandths, 1000 by default. */
static unsigned quality(const char *parameters, size_t n)
{
    for (const char *p = parameters; p < parameters + n; p++) {
        p += strspn(p, "; \t");
        if (p + 2 < parameters + n && strncasecmp(p, "q=", 2) == 0) {
            double q = strtod(p + 2, NULL);
            return q >= 0 && q <= 1 ? (unsigned)(q * 1000) : 0;
        }
        p += strcspn(p, ";,");
    }
    return 1000;
}

enum exposition_format scrape_negotiate(const char *accept)
{
    static const char openmetrics[] = "application/openmetrics-text", plain[] = "text/plain";
    unsigned wanted = 0, old = 0;
    for (const char *p = accept ? accept : ""; *p;) {
        p += strspn(p, ", \t");
        size_t n = strcspn(p, ","), type = strcspn(p, ";, \t");
        unsigned q = quality(p + type, n - type);
        if (type == strlen(openmetrics) && strncasecmp(p, openmetrics, type) == 0)
            wanted = MAX(wanted, q);
        else if (type == strlen(plain) && strncasecmp(p, plain, type) == 0)
            old = MAX(old, q);
        p += n;
    }
    return wanted > 0 && wanted >= old ? EXPOSITION_OPENMETRICS : EXPOSITION_PROMETHEUS;
}

static void free_text(const void *data, size_t length, void *text)
{
    (void)data;
    (void)length;
    free(text);
}

static void reply_metrics(struct scrape *scrape, struct evhttp_request *request)
{
    struct evkeyvalq *headers = evhttp_request_get_output_headers(request);
    enum exposition_format format =
        scrape_negotiate(evhttp_find_header(evhttp_request_get_input_headers(request), "Accept"));
    struct evbuffer *body = evbuffer_new();
    struct bytes text = BYTES_NULL;
    char length[24];
    if (!body || scrape->print(format, &text, scrape->userdata) < 0) {
        evhttp_send_reply(request, HTTP_SERVUNAVAIL, "Out of memory", NULL);
    } else {
        (void)snprintf(length, sizeof(length), "%zu", text.length);
        (void)evhttp_add_header(headers, "Content-Type", exposition_content_type(format));
        (void)evhttp_add_header(headers, "Content-Length", length);
        if (evhttp_request_get_command(request) == EVHTTP_REQ_GET &&
            evbuffer_add_reference(body, text.data, text.length, free_text, text.data) == 0)
            text = (struct bytes)BYTES_NULL;
        evhttp_send_reply(request, HTTP_OK, "OK", body);
    }
    bytes_deinit(&text);
    if (body)
        evbuffer_free(body);
}

static void refuse(struct evhttp_request *request, int code, const char *reason, const char *text)
{
    struct evbuffer *body = evbuffer_new();
    (void)evhttp_add_header(evhttp_request_get_output_headers(request), "Content-Type",
                            "text/plain; charset=utf-8");
    if (body)
        (void)evbuffer_add_printf(body, "%s\n", text);
    evhttp_send_reply(request, code, reason, body);
    if (body)
        evbuffer_free(body);
}

static void on_request(struct evhttp_request *request, void *userdata)
{
    enum evhttp_cmd_type command = evhttp_request_get_command(request);
    const struct evhttp_uri *uri = evhttp_request_get_evhttp_uri(request);
    const char *path = uri ? evhttp_uri_get_path(uri) : NULL;
    struct evkeyvalq *headers = evhttp_request_get_output_headers(request);
    (void)evhttp_add_header(headers, "Connection", "close");
    if (!path || strcmp(path, "/metrics") != 0) {
        refuse(request, HTTP_NOTFOUND, "Not Found", "Only /metrics is served here.");
    } else if (command != EVHTTP_REQ_GET && command != EVHTTP_REQ_HEAD) {
        (void)evhttp_add_header(headers, "Allow", "GET, HEAD");
        refuse(request, HTTP_BADMETHOD, "Method Not Allowed", "Use GET or HEAD.");
    } else {
        reply_metrics(userdata, request);
    }
}

/* --- connections --------------------------------------------------------------------------- */

/* Whether evhttp has freed the connection. It has no callback for that, but removes its callbacks
 * from the bufferevent, which we hold a reference to. */
static bool is_over(const struct scrape_conn *conn)
{
    bufferevent_data_cb on_read, on_write;
    bufferevent_event_cb on_event;
    void *userdata;
    bufferevent_getcb(conn->bev, &on_read, &on_write, &on_event, &userdata);
    return !on_read && !on_write && !on_event;
}

static void forget(struct scrape *scrape, size_t index)
{
    (void)bufferevent_decref(scrape->conns[index].bev);
    scrape->count--;
    memmove(&scrape->conns[index], &scrape->conns[index + 1],
            (scrape->count - index) * sizeof(scrape->conns[0]));
}

/* Makes evhttp see end of file and free the connection from the event loop. */
static void give_up(const struct scrape_conn *conn)
{
    (void)shutdown(bufferevent_getfd(conn->bev), SHUT_RDWR);
}

static void look_again(const struct scrape *scrape, unsigned ms)
{
    struct timeval later = {.tv_sec = ms / 1000, .tv_usec = ms % 1000 * 1000L};
    (void)event_add(scrape->sweep, &later);
}

/* Forgets connections that have ended and gives up those whose time is over. Without room for
 * another, gives up the older half: a genuine scraper has had its reply by then. */
static void sweep(struct scrape *scrape)
{
    uint64_t now_ns = clock_now_ns();
    for (size_t i = scrape->count; i-- > 0;) {
        if (is_over(&scrape->conns[i]))
            forget(scrape, i);
        else if (now_ns - scrape->conns[i].since_ns > SCRAPE_SECONDS * NS_PER_S)
            give_up(&scrape->conns[i]);
    }
    if (scrape->count == SCRAPE_CONNECTIONS) {
        for (size_t i = 0; i < SCRAPE_CONNECTIONS / 2; i++)
            give_up(&scrape->conns[i]);
        (void)evconnlistener_disable(scrape->listener);
        look_again(scrape, ROOM_MS);
    } else {
        (void)evconnlistener_enable(scrape->listener);
        if (scrape->count > 0)
            look_again(scrape, SWEEP_MS);
    }
}

static void on_sweep(evutil_socket_t fd, short what, void *userdata)
{
    (void)fd;
    (void)what;
    sweep(userdata);
}

/* Always has room for the connection, because the listener is disabled when there is none. */
static struct bufferevent *on_connection(struct event_base *base, void *userdata)
{
    struct scrape *scrape = userdata;
    struct bufferevent *bev = bufferevent_socket_new(base, -1, 0);
    if (!bev)
        return NULL; /* evhttp makes one of its own, if it can */
    sweep(scrape);
    bufferevent_incref(bev);
    scrape->conns[scrape->count++] = (struct scrape_conn){bev, clock_now_ns()};
    if (scrape->count == SCRAPE_CONNECTIONS) {
        (void)evconnlistener_disable(scrape->listener);
        look_again(scrape, 0);
    } else {
        look_again(scrape, SWEEP_MS);
    }
    return bev;
}

/* Most likely the process is out of descriptors. */
static void on_accept_error(struct evconnlistener *listener, void *userdata)
{
    (void)evconnlistener_disable(listener);
    look_again(userdata, SWEEP_MS);
}

/* --- set-up and tear-down ------------------------------------------------------------------ */

static int bind_inet(const struct address *address, const char *shown, struct fault *fault)
{
    int on = 1, family = address->inet.generic.sa_family;
    _cleanup_close_ int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) < 0 ||
        bind(fd, &address->inet.generic, address->inet_length) < 0 || listen(fd, BACKLOG) < 0) {
        int r = -errno;
        fault_set(fault, "[metrics] listen: %s: %s", shown, strerror(-r));
        return r;
    }
    return TAKE_FD(fd);
}

/* Returns the descriptor, or a negative errno with FAULT. */
static int bind_address(struct scrape *scrape, const struct scrape_config *config,
                        struct fault *fault)
{
    struct address address;
    struct fault why = FAULT_NULL;
    int r = address_parse(config->listen, &address);
    if (r < 0) {
        fault_set(fault, "[metrics] listen: %s is not a loopback address", config->listen);
        return r;
    }
    if (!address.path)
        return bind_inet(&address, config->listen, fault);
    int fd = listener_bind(address.path, SOCKET_MODE, config->group, NULL, scrape->log, &why);
    if (fd < 0)
        fault_set(fault, "[metrics] listen: %s", why.text);
    else
        scrape->path = strdup(address.path);
    return fd;
}

/* Takes FD. */
static int serve(struct scrape *scrape, struct event_base *base, int fd)
{
    scrape->sweep = event_new(base, -1, 0, on_sweep, scrape);
    scrape->http = evhttp_new(base);
    if (scrape->sweep && scrape->http)
        scrape->listener = evconnlistener_new(base, NULL, NULL,
                                              LEV_OPT_CLOSE_ON_FREE | LEV_OPT_CLOSE_ON_EXEC, 0, fd);
    if (!scrape->listener) {
        close_fd(fd);
        return -ENOMEM;
    }
    if (!evhttp_bind_listener(scrape->http, scrape->listener)) {
        evconnlistener_free(scrape->listener);
        return -ENOMEM;
    }
    evconnlistener_set_error_cb(scrape->listener, on_accept_error);
    evhttp_set_bevcb(scrape->http, on_connection, scrape);
    evhttp_set_gencb(scrape->http, on_request, scrape);
    evhttp_set_max_headers_size(scrape->http, SCRAPE_HEADERS_MAX);
    evhttp_set_max_body_size(scrape->http, 0);
    evhttp_set_timeout(scrape->http, SCRAPE_IDLE_S);
    /* All methods, so that on_request() answers the wrong ones. */
    evhttp_set_allowed_methods(scrape->http, UINT16_MAX);
    return 0;
}

int scrape_init(struct scrape *scrape, struct event_base *base, struct log *log,
                const struct scrape_config *config, struct fault *fault)
{
    *scrape = (struct scrape){.log = log, .print = config->print, .userdata = config->userdata};
    int fd = bind_address(scrape, config, fault);
    if (fd < 0)
        return fd;
    int r = serve(scrape, base, fd);
    if (r < 0)
        fault_set(fault, "[metrics] listen: out of memory");
    else
        log_write(log, LOG_INFO, "metrics are served at %s", config->listen);
    return r;
}

void scrape_deinit(struct scrape *scrape)
{
    if (scrape->http)
        evhttp_free(scrape->http);
    while (scrape->count > 0)
        forget(scrape, scrape->count - 1);
    if (scrape->path)
        (void)unlink(scrape->path);
    free(scrape->path);
    scrape->sweep = consume_event(scrape->sweep);
    *scrape = (struct scrape)SCRAPE_NULL;
}
