/* SPDX-License-Identifier: MIT */
#include "bus.h"
#include "mailbox.h"
#include "names.h"
#include "requests.h"

#include "client/terminal/text.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>
#include <sys/queue.h>

/* Between two connections of which the first was closed for good. */
#define REOPEN_MS 2000
/* The library connects again by itself, but does not say why it fails. After so long the bus does
 * it, and says why. */
#define GIVE_UP_MS 10000
/* A request that was sent so often without an answer is worth a word. */
#define SILENT_TRIES 2
/* As is one that the server has told nobody listens to: for longer than a leader's election. */
#define NOBODY_TRIES 20
/* What lasts is said again after a while, not for each request. */
#define COMPLAIN_AGAIN_MS 30000
/* What the server has to take: data, and room for the headers of a message. */
#define PAYLOAD_MIN (BUS_DATA_MAX + 4096)

struct watch {
    struct bus *bus;
    char *subject;
    natsSubscription *subscription;
    bus_take *take;
    void *arg;
    SLIST_ENTRY(watch) link;
};

struct bus {
    struct bus_options options;
    natsConnection *connection;
    natsSubscription *inbox_subscription;
    char *inbox; /* without the dot and the number behind it */
    unsigned n_inboxes;
    struct requests requests;
    SLIST_HEAD(, watch) watches;
    int64_t reopen_ms, give_up_ms;
    int64_t complained_ms;
    bool was_up;
    char why[FAULT_MAX]; /* the last try to connect failed; "": it did not */
    unsigned epoch;
    struct mailbox mailbox; /* the library's threads touch nothing else */
};

/* --- the library's threads ---------------------------------------------------------------- */

static void on_reply(_unused_ natsConnection *connection, _unused_ natsSubscription *subscription,
                     natsMsg *message, void *mailbox)
{
    mailbox_put(mailbox, NULL, message);
}

static void on_watched(_unused_ natsConnection *connection, _unused_ natsSubscription *subscription,
                       natsMsg *message, void *watch_)
{
    struct watch *watch = watch_;
    mailbox_put(&watch->bus->mailbox, watch, message);
}

/* --- sending ------------------------------------------------------------------------------ */

void bus_forget(struct bus *bus, uint64_t number)
{
    struct request *request = requests_find(&bus->requests, number);
    if (!request)
        return;
    requests_unlist(&bus->requests, request);
    requests_drop(&bus->requests, request);
}

bool bus_is_up(const struct bus *bus)
{
    return natsConnection_Status(bus->connection) == NATS_CONN_STATUS_CONNECTED;
}

const char *bus_trouble(const struct bus *bus)
{
    if (bus->connection && bus_is_up(bus))
        return NULL;
    return *bus->why ? bus->why : "the connection to the NATS server is lost";
}

/* Sends REQUEST, which is in neither list. While there is no server, the library would only store
 * it. */
static void send_request(struct bus *bus, struct request *request, int64_t now)
{
    bool is_sent =
        bus_is_up(bus) && natsConnection_PublishMsg(bus->connection, request->message) == NATS_OK;
    requests_enlist(&bus->requests, request, !is_sent, now);
}

/* Makes the subject that answers to NUMBER arrive at. */
static void name_inbox(const struct bus *bus, uint64_t number, char *ret, size_t size)
{
    (void)snprintf(ret, size, "%s.%" PRIx64, bus->inbox, number);
}

uint64_t bus_request(struct bus *bus, const char *subject, const struct header *headers,
                     const char *data, size_t n, bus_reply *reply, void *arg)
{
    char inbox[128];
    struct request *request = requests_add(&bus->requests);
    if (!request)
        return 0;
    name_inbox(bus, request->number, inbox, sizeof(inbox));
    natsStatus status = natsMsg_Create(&request->message, subject, inbox, data, (int)n);
    for (const struct header *h = headers; status == NATS_OK && h && h->name; h++)
        status = natsMsgHeader_Set(request->message, h->name, h->value);
    request->reply = reply;
    request->arg = arg;
    if (status != NATS_OK) {
        requests_drop(&bus->requests, request);
        return 0;
    }
    uint64_t number = request->number;
    send_request(bus, request, monotonic_ms());
    return number;
}

bool bus_publish(struct bus *bus, const char *subject, const char *reply, const char *data,
                 size_t n)
{
    if (!bus_is_up(bus))
        return false;
    natsStatus status =
        reply ? natsConnection_PublishRequest(bus->connection, subject, reply, data, (int)n)
              : natsConnection_Publish(bus->connection, subject, data, (int)n);
    return status == NATS_OK;
}

void bus_new_inbox(struct bus *bus, char ret[BUS_INBOX_SIZE])
{
    (void)snprintf(ret, BUS_INBOX_SIZE, "%s-%u", bus->inbox, ++bus->n_inboxes);
}

/* --- watching ----------------------------------------------------------------------------- */

static int subscribe_watch(struct bus *bus, struct watch *watch)
{
    natsStatus status = natsConnection_Subscribe(&watch->subscription, bus->connection,
                                                 watch->subject, on_watched, watch);
    if (status == NATS_OK)
        (void)natsSubscription_SetPendingLimits(watch->subscription, -1, -1);
    return status == NATS_OK ? 0 : -EIO;
}

int bus_watch(struct bus *bus, const char *subject, bus_take *take, void *arg)
{
    struct watch *watch = calloc(1, sizeof(*watch));
    if (!watch || !(watch->subject = strdup(subject))) {
        free(watch);
        return -ENOMEM;
    }
    watch->bus = bus;
    watch->take = take;
    watch->arg = arg;
    SLIST_INSERT_HEAD(&bus->watches, watch, link);
    return bus->connection ? subscribe_watch(bus, watch) : 0; /* else when there is one */
}

/* --- dispatching -------------------------------------------------------------------------- */

/* Returns the number behind the inbox's name; 0 if there is none. */
static uint64_t number_of(const char *subject)
{
    const char *dot = strrchr(subject, '.');
    return dot ? strtoull(dot + 1, NULL, 16) : 0;
}

/* The server has no JetStream, the stream has lost its leader, or was deleted. Acknowledgements are
 * left out: nobody takes those of a run that is over. */
static void complain_of_nobody(struct bus *bus, const struct request *request)
{
    const char *subject = natsMsg_GetSubject(request->message);
    if (request->nobody < NOBODY_TRIES || strncmp(subject, "$JS.ACK.", strlen("$JS.ACK.")) == 0)
        return;
    bus_complain(
        bus,
        "no stream takes %s: nats-server disables JetStream when its disk is full (make room, then "
        "restart it), a cluster has none while too few of its servers are up, and a stream that "
        "was deleted is made by `rubricctl fleet init`; trying on",
        subject);
}

static void take_reply(struct bus *bus, natsMsg *message, int64_t now)
{
    uint64_t number = number_of(natsMsg_GetSubject(message));
    struct request *request = requests_find(&bus->requests, number);
    if (!request)
        return; /* forgotten, or a second answer */
    bool is_nobodys = natsMsg_IsNoResponders(message);
    if (!is_nobodys && !request->is_again && request->silent > 0)
        bus_complain(bus, "the NATS server is slow: it has answered %s only now, sent %u times",
                     natsMsg_GetSubject(request->message), request->silent + 1);
    bool again = is_nobodys || request->reply(request->arg, message);
    /* The callback may have forgotten this very request. */
    request = requests_find(&bus->requests, number);
    if (!request)
        return;
    requests_unlist(&bus->requests, request);
    if (again) {
        request->silent = 0;
        request->nobody = is_nobodys ? request->nobody + 1 : 0;
        complain_of_nobody(bus, request);
        requests_enlist(&bus->requests, request, true, now);
    } else {
        requests_drop(&bus->requests, request);
    }
}

static void take_arrivals(struct bus *bus, int64_t now)
{
    struct arrivals arrivals = STAILQ_HEAD_INITIALIZER(arrivals);
    mailbox_take(&bus->mailbox, &arrivals);
    struct arrival *arrival;
    while ((arrival = STAILQ_FIRST(&arrivals)) != NULL) {
        STAILQ_REMOVE_HEAD(&arrivals, link);
        const struct watch *watch = arrival->of;
        if (watch)
            watch->take(watch->arg, arrival->message);
        else
            take_reply(bus, arrival->message, now);
        arrival_free(arrival);
    }
}

void bus_complain(struct bus *bus, const char *format, ...)
{
    char text[512];
    va_list args;
    int64_t now = monotonic_ms();
    if (now < bus->complained_ms + COMPLAIN_AGAIN_MS)
        return;
    bus->complained_ms = now;
    va_start(args, format);
    (void)vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    complain("%s", text);
}

static void send_due(struct bus *bus, struct request_list *list, int64_t now)
{
    struct request *request;
    while ((request = TAILQ_FIRST(list)) != NULL && request->due_ms <= now) {
        if (!request->is_again && bus_is_up(bus)) {
            if (++request->silent >= SILENT_TRIES)
                bus_complain(bus,
                             "the NATS server is slow: it has not answered %s, sent %u times; "
                             "trying on (one whose disk is full may stop answering: make room, "
                             "then restart it)",
                             natsMsg_GetSubject(request->message), request->silent);
        }
        requests_unlist(&bus->requests, request);
        send_request(bus, request, now);
    }
}

unsigned bus_epoch(const struct bus *bus)
{
    return bus->epoch;
}

/* Has everything that may not have arrived sent again. */
static void send_all_again(struct bus *bus, int64_t now)
{
    bus->epoch++;
    struct request *request;
    while ((request = TAILQ_FIRST(&bus->requests.sent)) != NULL) {
        requests_unlist(&bus->requests, request);
        requests_enlist(&bus->requests, request, true, now);
    }
}

/* --- the connection ----------------------------------------------------------------------- */

static int subscribe_inbox(struct bus *bus)
{
    char all[128];
    (void)snprintf(all, sizeof(all), "%s.*", bus->inbox);
    if (natsConnection_Subscribe(&bus->inbox_subscription, bus->connection, all, on_reply,
                                 &bus->mailbox) != NATS_OK)
        return -EIO;
    (void)natsSubscription_SetPendingLimits(bus->inbox_subscription, -1, -1);
    struct watch *watch;
    SLIST_FOREACH(watch, &bus->watches, link)
    if (subscribe_watch(bus, watch) < 0)
        return -EIO;
    return 0;
}

static void disconnect(struct bus *bus)
{
    /* First, since it ends the library's thread that reads. That one looks a subscription up and
     * uses it without a reference (natsConn_processMsg() of 3.4), so none may be freed while it
     * runs. */
    natsConnection_Close(bus->connection);
    struct watch *watch;
    SLIST_FOREACH(watch, &bus->watches, link)
    {
        natsSubscription_Destroy(watch->subscription);
        watch->subscription = NULL;
    }
    natsSubscription_Destroy(bus->inbox_subscription);
    bus->inbox_subscription = NULL;
    natsConnection_Destroy(bus->connection);
    bus->connection = NULL;
}

/* Whether the server takes no message as large as they may be here. */
static bool is_narrow(const struct bus *bus)
{
    return natsConnection_GetMaxPayload(bus->connection) < (int64_t)PAYLOAD_MIN;
}

static int connect_bus(struct bus *bus, struct fault *fault)
{
    int r = busconnect(&bus->options, &mailbox_events, &bus->mailbox, &bus->connection, fault);
    if (r == 0)
        r = subscribe_inbox(bus);
    if (r == 0 && is_narrow(bus)) {
        (void)fault_set(fault,
                        "the NATS server takes messages of at most %" PRId64
                        " bytes, and a fleet needs %zu: raise max_payload in its configuration "
                        "(1048576 is usual)",
                        natsConnection_GetMaxPayload(bus->connection), PAYLOAD_MIN);
        r = -EMSGSIZE;
    }
    return r;
}

/* Makes a new connection if the library has given the old one up. */
static void reopen(struct bus *bus, int64_t now)
{
    struct fault fault = FAULT_NULL;
    disconnect(bus);
    if (connect_bus(bus, &fault) == 0) {
        complain("connected to the NATS server again");
        bus->why[0] = '\0';
        bus->reopen_ms = bus->give_up_ms = INT64_MAX;
        bus->was_up = true;
        send_all_again(bus, now);
        return;
    }
    disconnect(bus);
    if (bus->was_up)
        bus->complained_ms = INT64_MIN / 2;
    bus_complain(bus, "%s; trying again", fault.text);
    (void)snprintf(bus->why, sizeof(bus->why), "%s", fault.text);
    bus->was_up = false;
    bus->reopen_ms = now + REOPEN_MS;
}

static void take_states(struct bus *bus, int64_t now)
{
    struct mailbox_news news;
    mailbox_take_news(&bus->mailbox, &news);
    if (*news.refusal)
        bus_complain(bus, "the NATS server refuses: %s", news.refusal);
    if (news.is_lost)
        bus->give_up_ms = now + GIVE_UP_MS;
    if (news.is_lost && bus->was_up) {
        complain("the connection to the NATS server is lost; connecting again");
        bus->was_up = false;
    }
    if (news.is_back && bus_is_up(bus) && is_narrow(bus)) {
        bus->reopen_ms = now; /* it has another configuration now, of which reopen() complains */
    } else if (news.is_back && bus_is_up(bus)) {
        complain("connected to the NATS server again");
        bus->was_up = true;
        bus->give_up_ms = INT64_MAX;
        send_all_again(bus, now);
    }
    /* It may be an earlier connection that was closed. */
    if (bus->reopen_ms == INT64_MAX && !bus_is_up(bus) &&
        ((news.is_closed && natsConnection_IsClosed(bus->connection)) || now >= bus->give_up_ms))
        bus->reopen_ms = now;
}

void bus_dispatch(struct bus *bus, int64_t now)
{
    take_states(bus, now);
    if (now >= bus->reopen_ms)
        reopen(bus, now);
    take_arrivals(bus, now);
    send_due(bus, &bus->requests.sent, now);
    send_due(bus, &bus->requests.again, now);
}

int64_t bus_due(const struct bus *bus)
{
    int64_t due = MIN(bus->reopen_ms, requests_due(&bus->requests));
    return bus->reopen_ms == INT64_MAX && !bus_is_up(bus) ? MIN(due, bus->give_up_ms) : due;
}

/* --- opening and closing ------------------------------------------------------------------ */

static int make_inbox(struct bus *bus)
{
    natsInbox *inbox = NULL;
    if (natsInbox_Create(&inbox) != NATS_OK)
        return -ENOMEM;
    bus->inbox = strdup(inbox);
    natsInbox_Destroy(inbox);
    return bus->inbox ? 0 : -ENOMEM;
}

static const char *fleet_of(const struct bus_options *options)
{
    return options->fleet ? options->fleet : BUS_FLEET_DEFAULT;
}

int bus_check(const struct bus_options *options, struct fault *fault)
{
    int r = names_check("--fleet", fleet_of(options), NAMES_FLEET_MAX, fault);
    return r < 0 ? r : busconnect_check(options, fault);
}

int bus_open(const struct bus_options *options, bool patient, struct bus **ret, struct fault *fault)
{
    struct bus *bus = calloc(1, sizeof(*bus));
    if (!bus)
        return -ENOMEM;
    bus->options = *options;
    bus->reopen_ms = bus->give_up_ms = INT64_MAX;
    bus->complained_ms = INT64_MIN / 2;
    requests_init(&bus->requests);
    SLIST_INIT(&bus->watches);
    int r = mailbox_init(&bus->mailbox);
    if (r < 0) {
        free(bus);
        return r;
    }
    r = bus_check(options, fault); /* trying again does not mend a wrong address */
    if (r == 0)
        r = make_inbox(bus);
    if (r == 0) {
        bus->was_up = true;
        r = connect_bus(bus, fault);
        if (r < 0 && patient) {
            disconnect(bus);
            complain("%s; trying again", fault->text);
            (void)snprintf(bus->why, sizeof(bus->why), "%s", fault->text);
            bus->was_up = false;
            bus->reopen_ms = monotonic_ms() + REOPEN_MS;
            r = 0;
        }
    }
    if (r < 0) {
        (void)bus_free(bus);
        return r;
    }
    *ret = bus;
    return 0;
}

/* Waits until the thread of SUBSCRIPTION, which may be NULL, has brought what has come, and calls
 * back no more. It may come to a message so late otherwise that the library, closed meanwhile,
 * frees it no more. */
static void drain(natsSubscription *subscription)
{
    if (subscription && natsSubscription_Drain(subscription) == NATS_OK)
        (void)natsSubscription_WaitForDrainCompletion(subscription, REOPEN_MS);
}

static void drain_all(struct bus *bus)
{
    const struct watch *watch;
    drain(bus->inbox_subscription);
    SLIST_FOREACH(watch, &bus->watches, link)
    drain(watch->subscription);
}

struct bus *bus_free(struct bus *bus)
{
    if (!bus)
        return NULL;
    if (bus->connection)
        (void)natsConnection_FlushTimeout(bus->connection, REOPEN_MS);
    if (bus_is_up(bus))
        drain_all(bus);
    disconnect(bus);
    requests_deinit(&bus->requests);
    /* A subscription's thread may be about to call back still. */
    mailbox_end(&bus->mailbox);
    nats_CloseAndWait(REOPEN_MS); /* after it no thread of the library calls back */
    while (!SLIST_EMPTY(&bus->watches)) {
        struct watch *watch = SLIST_FIRST(&bus->watches);
        SLIST_REMOVE_HEAD(&bus->watches, link);
        free(watch->subject);
        free(watch);
    }
    mailbox_deinit(&bus->mailbox);
    free(bus->inbox);
    free(bus);
    return NULL;
}

const char *bus_fleet(const struct bus *bus)
{
    return fleet_of(&bus->options);
}

natsConnection *bus_connection(struct bus *bus)
{
    return bus->connection;
}

int bus_fd(const struct bus *bus)
{
    return bus->mailbox.fd;
}
