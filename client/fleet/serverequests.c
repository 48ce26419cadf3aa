/* SPDX-License-Identifier: MIT */
#include "serverequests.h"

#include "feeds.h"
#include "hosts.h"
#include "servepolicy.h"
#include "servestatus.h"

#include "client/terminal/text.h"
#include "proto/fair.h"
#include "proto/frame.h"
#include "proto/printer.h"

#include <inttypes.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>

/* Whoever has connected waits so long for a hello. */
#define GREET_MS 5000

/* --- small answers ------------------------------------------------------------------------ */

static void send_json(struct caller *caller, json_t *take_message)
{
    _cleanup_json_ json_t *message = take_message;
    _cleanup_bytes_ struct bytes text = BYTES_NULL;
    if (message && json_print(message, &text) == 0)
        caller_send(caller, &text);
    else
        caller_send_error(caller, NULL, 0, ERROR_INTERNAL, "out of memory");
}

static void send_bye(struct caller *caller, const char *reason, const char *message)
{
    _cleanup_bytes_ struct bytes payload = BYTES_NULL;
    if (reply_bye(reason, message, &payload) == 0)
        caller_send(caller, &payload);
}

static bool is_admin(const struct caller *caller)
{
    return caller->peer.uid == 0 || caller->peer.uid == geteuid();
}

/* --- cancel, drain ------------------------------------------------------------------------ */

static void cancel_job(struct served *served)
{
    struct serve *serve = served->run->serve;
    servejobs_fail(served, ERROR_CANCELLED,
                   served->is_started ? "cancelled while running" : "cancelled while queued");
    servejobs_unpark(serve);
}

static void cancel_by_number(struct guest *guest, uint64_t number)
{
    struct caller *caller = guest->caller;
    struct served *served = servejobs_find_number(guest->serve, number);
    char text[128];
    if (!served) {
        (void)snprintf(text, sizeof(text), "job_no: there is no unfinished job %" PRIu64, number);
        caller_send_error(caller, NULL, number, ERROR_BAD_REQUEST, text);
        return;
    }
    if (served->guest->user->uid != caller->peer.uid && !is_admin(caller)) {
        (void)snprintf(text, sizeof(text),
                       "job %" PRIu64 " is another user's; cancelling it takes an administrator",
                       number);
        caller_send_error(caller, NULL, number, ERROR_DENIED, text);
        return;
    }
    if (served->guest != guest) {
        (void)snprintf(text, sizeof(text), "job %" PRIu64 " is cancelled", number);
        caller_send_error(caller, NULL, number, ERROR_CANCELLED, text);
    }
    cancel_job(served);
}

static void cancel(struct guest *guest, const struct request *request)
{
    struct served *served = request->id.data ? servejobs_find_id(guest, &request->id) : NULL;
    if (!request->id.data) {
        cancel_by_number(guest, request->job_no);
    } else if (!served) {
        caller_send_error(guest->caller, &request->id, 0, ERROR_BAD_REQUEST,
                          "id: this connection has no such unfinished job");
    } else {
        cancel_job(served);
    }
}

static void drain(struct guest *guest)
{
    if (!is_admin(guest->caller))
        caller_send_error(guest->caller, NULL, 0, ERROR_DENIED,
                          "draining takes root, or the account of fleet serve");
    else
        (void)raise(SIGTERM); /* arrives in the loop as any other does */
}

/* --- put ---------------------------------------------------------------------------------- */

static void on_put_answer(void *arg, json_t *take_answer, const struct bytes *id,
                          enum error_code code, const char *why)
{
    const struct guest *guest = arg;
    if (take_answer)
        send_json(guest->caller, take_answer);
    else
        caller_send_error(guest->caller, id, 0, code, why);
}

/* TESTS are those of REQUEST, a put, as the client wrote them. */
static void put(struct guest *guest, const struct request *request,
                const struct json_places *places, const json_t *tests)
{
    struct serve *serve = guest->serve;
    const struct bytes *id = request->id.data ? &request->id : NULL;
    size_t n = json_place_length(places, tests);
    _cleanup_bytes_ struct bytes text = {.data = malloc(n + 1)};
    int r = text.data && n > 0 ? 0 : -ENOMEM;
    if (r == 0)
        text.length = json_place_copy(places, tests, text.data);
    if (r == 0 && !guest->puts)
        r = serveputs_new(serve->bus, &serve->puts_load, on_put_answer, guest, &guest->puts);
    if (r < 0)
        caller_send_error(guest->caller, id, 0, ERROR_INTERNAL, "out of memory");
    else
        serveputs_take(guest->puts, request, &text);
}

/* --- a frame ------------------------------------------------------------------------------ */

/* Returns the id of a message that is wrong otherwise; data NULL: it has none that can be used. */
static struct bytes peek_id(const json_t *message)
{
    const json_t *id = json_object_get(message, "id");
    size_t n = json_string_length(id);
    if (!json_is_string(id) || n == 0 || n > REQUEST_ID_MAX)
        return (struct bytes)BYTES_NULL;
    return (struct bytes){.data = (char *)(uintptr_t)json_string_value(id), .length = n};
}

static void refuse(struct guest *guest, const struct bytes *id, int error, const char *why)
{
    caller_send_error(guest->caller, id && id->data ? id : NULL, 0,
                      error == -ENOMEM ? ERROR_INTERNAL : ERROR_BAD_REQUEST,
                      error == -ENOMEM ? "out of memory" : why);
}

/* Answers a payload that is no object of JSON. */
static void refuse_payload(struct guest *guest, const char *payload, size_t n)
{
    _cleanup_json_ json_t *id = NULL;
    _cleanup_request_ struct request request = REQUEST_NULL;
    struct fault fault = FAULT_NULL;
    int r = request_read(payload, n, &guest->policy, &request, &id, &fault);
    const struct bytes name = {(char *)(uintptr_t)json_string_value(id), json_string_length(id)};
    refuse(guest, &name, r, fault.text);
}

/* As refuse(), for what a daemon would do and a fleet cannot. */
static void refuse_ability(struct guest *guest, const json_t *message, const char *why)
{
    const struct bytes id = peek_id(message);
    json_int_t number = json_integer_value(json_object_get(message, "job_no"));
    caller_send_error(guest->caller, id.data ? &id : NULL, (uint64_t)MAX(number, (json_int_t)0),
                      ERROR_BAD_REQUEST, why);
}

static bool submit(struct guest *guest, const json_t *message, size_t n)
{
    const struct bytes id = peek_id(message);
    const json_t *fields = json_object_get(message, "job");
    const char *kind = json_string_value(json_object_get(fields, "kind"));
    return servejobs_submit(guest, &id, job_kind_find(kind), fields, n);
}

/* Returns false if there is no room for it now. */
static bool handle(struct guest *guest, const struct request *request, const json_t *message,
                   const struct json_places *places, size_t n)
{
    switch (request->type) {
    case REQUEST_SUBMIT:
        return submit(guest, message, n);
    case REQUEST_CANCEL:
        cancel(guest, request);
        break;
    case REQUEST_PUT:
        put(guest, request, places, json_object_get(message, "tests"));
        break;
    case REQUEST_STATUS:
        return servestatus_send(guest);
    case REQUEST_METRICS:
        return servestatus_send_metrics(guest);
    case REQUEST_PING:
        send_json(guest->caller, json_pack("{s:s}", "type", "pong"));
        break;
    case REQUEST_DRAIN:
        drain(guest);
        break;
    case REQUEST_SESSION_OPEN:
    case REQUEST_SESSION_CLOSE:
    case REQUEST_INPUT:
    case REQUEST_RESIZE:
    case REQUEST_RELOAD:
        break; /* refused before */
    }
    return true;
}

/* Decodes MESSAGE, of which PLACES know the text. A put is decoded with them: its digest is of what
 * the client wrote. */
static int decode(struct guest *guest, const char *payload, size_t n, const json_t *message,
                  struct request *ret, struct fault *fault)
{
    _cleanup_json_ json_t *id = NULL;
    const char *type = json_string_value(json_object_get(message, "type"));
    if (type && strcmp(type, "put") == 0)
        return request_read(payload, n, &guest->policy, ret, &id, fault);
    return request_decode(message, &guest->policy, ret, fault);
}

static bool on_request(struct caller *caller, const char *payload, size_t n, _unused_ void *arg)
{
    struct guest *guest = caller->of_owner;
    _cleanup_json_ json_t *message = NULL;
    _cleanup_request_ struct request request = REQUEST_NULL;
    struct json_places places;
    struct fault fault = FAULT_NULL;
    size_t at;
    if (json_read_bounded(payload, n, REQUEST_OVERHEAD_MAX, &message, &places, &at, &fault) < 0) {
        refuse_payload(guest, payload, n);
        return true;
    }
    const char *unable = servepolicy_refusal(message);
    if (unable) {
        refuse_ability(guest, message, unable);
        return true;
    }
    int r = decode(guest, payload, n, message, &request, &fault);
    /* What the configuration of a host forbids, its daemon has to say: no hello tells it. */
    if (r == -EPERM)
        return submit(guest, message, n);
    if (r < 0) {
        const struct bytes id = peek_id(message);
        refuse(guest, &id, r, fault.text);
        return true;
    }
    return handle(guest, &request, message, &places, n);
}

/* --- clients come and go ------------------------------------------------------------------ */

static struct serve_user *find_user(struct serve *serve, uid_t uid)
{
    struct serve_user *user;
    LIST_FOREACH(user, &serve->users, link)
    if (user->uid == uid)
        return user;
    user = calloc(1, sizeof(*user));
    if (!user)
        return NULL;
    user->uid = uid;
    LIST_INSERT_HEAD(&serve->users, user, link);
    return user;
}

static void leave(struct serve_user *user)
{
    if (user->callers > 0)
        return;
    LIST_REMOVE(user, link);
    free(user);
}

static void on_gone(struct caller *caller, void *arg)
{
    struct guest *guest = caller->of_owner;
    if (!guest)
        return;
    census_forget(&guest->serve->census, guest);
    servejobs_drop_guest(guest);
    servejobs_unpark(arg);
}

static void on_choked(struct caller *caller, bool choked, _unused_ void *arg)
{
    struct guest *guest = caller->of_owner;
    guest->lane.is_held = choked;
    if (!choked && guest->run)
        servejobs_feed(guest->run);
}

static void on_closed(struct caller *caller, _unused_ void *arg)
{
    struct guest *guest = caller->of_owner;
    if (!guest)
        return;
    struct serve_user *user = guest->user;
    servejobs_guest_free(guest);
    user->callers--;
    leave(user);
}

const struct caller_ops serverequests_ops = {
    .request = on_request,
    .gone = on_gone,
    .choked = on_choked,
    .closed = on_closed,
};

/* Says bye on FD (taken) in one try: a client too many must cost nothing. */
static void refuse_client(int fd)
{
    _cleanup_close_ int taken = fd;
    _cleanup_bytes_ struct bytes payload = BYTES_NULL;
    uint8_t header[FRAME_HEADER_SIZE];
    if (reply_bye("too_many_clients", "too many clients are connected; try again later", &payload) <
        0)
        return;
    frame_write_header(header, (uint32_t)payload.length);
    (void)!send(taken, header, sizeof(header), MSG_DONTWAIT | MSG_NOSIGNAL | MSG_MORE);
    (void)!send(taken, payload.data, payload.length, MSG_DONTWAIT | MSG_NOSIGNAL);
}

static bool may_connect(const struct serve *serve, const struct serve_user *user)
{
    size_t free = serve->options.max_callers - MIN(serve->options.max_callers, serve->callers.n);
    return fair_may_have_one(user->callers, free);
}

void serverequests_accept(struct serve *serve, int fd)
{
    struct caller *caller = NULL;
    struct ucred peer = {.uid = (uid_t)-1};
    socklen_t length = sizeof(peer);
    (void)getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length);
    struct serve_user *user = find_user(serve, peer.uid);
    if (!user || !may_connect(serve, user)) {
        complain("client refused (uid %d): %zu are connected", (int)peer.uid, serve->callers.n);
        refuse_client(fd);
        if (user)
            leave(user);
        return;
    }
    struct guest *guest = servejobs_guest_new(serve, user);
    int r = -ENOMEM;
    if (guest)
        r = caller_new(&serve->callers, fd, &user->held, &caller);
    else
        (void)close_fd(fd);
    if (r < 0) {
        complain("cannot serve a client: %s", strerror(-r));
        if (guest)
            servejobs_guest_free(guest);
        leave(user);
        return;
    }
    guest->caller = caller;
    user->callers++;
    caller->of_owner = guest;
    serverequests_greet(serve, monotonic_ms());
}

/* --- hello -------------------------------------------------------------------------------- */

/* Makes the hello of the fleet. NULL with FAULT: it has none now. */
static json_t *make_hello(struct serve *serve, const json_t *hosts, struct fault *fault)
{
    if (json_array_size(hosts) == 0) {
        const char *lost = bus_trouble(serve->bus);
        if (lost)
            (void)fault_set(fault, "the fleet's queue is out of reach: %s", lost);
        else
            (void)fault_set(fault,
                            "the fleet %s has no worker: start one on each host (rubricctl fleet "
                            "worker)",
                            bus_fleet(serve->bus));
        return NULL;
    }
    if (!serve->options.mix && hosts_check_alike(hosts, fault) < 0)
        return NULL;
    json_t *hello = hosts_hello(hosts);
    json_t *limits = json_object_get(hello, "limits");
    json_int_t per_client = json_integer_value(json_object_get(limits, "jobs_per_client"));
    if (!hello ||
        json_object_set_new(limits, "queue_jobs", json_integer((json_int_t)SERVEJOBS_MAX)) < 0 ||
        json_object_set_new(limits, "queue_bytes", json_integer((json_int_t)SERVEJOBS_BYTES_MAX)) <
            0 ||
        json_object_set_new(limits, "jobs_per_client",
                            json_integer(MIN(per_client, (json_int_t)SERVEJOBS_MAX))) < 0) {
        json_decref(hello);
        (void)fault_set(fault, "out of memory");
        return NULL;
    }
    return hello;
}

static void greet(struct guest *guest, const json_t *hosts, json_t *hello)
{
    const json_t *limits = json_object_get(hello, "limits");
    json_int_t max_frame = json_integer_value(json_object_get(limits, "max_frame"));
    guest->is_greeted = true;
    guest->jobs_max = (size_t)json_integer_value(json_object_get(limits, "jobs_per_client"));
    servepolicy_make(hello, &guest->policy);
    (void)snprintf(guest->digest, sizeof(guest->digest), "%s",
                   guest->serve->options.mix ? FEEDS_ANY : hosts_digest(hosts));
    send_json(guest->caller, json_incref(hello));
    if (caller_is_served(guest->caller))
        caller_start(guest->caller, (uint32_t)max_frame);
}

/* Nobody is dismissed before the fleet has had the time to answer. */
static void refuse_greeting(struct caller *caller, const char *why, int64_t now)
{
    if (now < caller->since_ms + GREET_MS)
        return;
    caller_send_error(caller, NULL, 0, ERROR_INTERNAL, why);
    caller_close(caller);
}

void serverequests_greet(struct serve *serve, int64_t now)
{
    struct caller *caller;
    struct fault fault = FAULT_NULL;
    bool is_settled = census_is_settled(&serve->census, now);
    _cleanup_json_ json_t *hosts = NULL, *hello = NULL;
    TAILQ_FOREACH(caller, &serve->callers.list, of_list)
    {
        struct guest *guest = caller->of_owner;
        if (!guest || guest->is_greeted || !caller_is_served(caller))
            continue;
        if (!hosts) {
            hosts = census_hosts(&serve->census, now);
            hello = make_hello(serve, hosts, &fault);
        }
        if (serve->is_draining) {
            send_bye(caller, "draining", "fleet serve stops");
            caller_close(caller);
        } else if (hello && is_settled) {
            greet(guest, hosts, hello);
        } else {
            refuse_greeting(caller, *fault.text ? fault.text : "the fleet is not known yet", now);
        }
    }
}
