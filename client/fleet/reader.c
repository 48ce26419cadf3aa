/* SPDX-License-Identifier: MIT */
#include "reader.h"

#include "client/terminal/text.h"
#include "proto/json.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

/* Messages under way at once. */
#define BATCH 256
#define EXPIRES_S 20
#define HEARTBEAT_S 3
/* Two heartbeats that did not come. */
#define SILENCE_MS 7000
/* The server forgets a consumer that nobody asks for so long. */
#define INACTIVE_S 60
#define SECOND_NS INT64_C(1000000000)

static void create(struct reader *reader);

static void ask(struct reader *reader)
{
    char subject[API_SUBJECT_SIZE], reply[BUS_INBOX_SIZE + 8], text[128];
    api_subject("CONSUMER.MSG.NEXT", bus_fleet(reader->bus), STREAM_RESULTS, reader->consumer,
                subject, sizeof(subject));
    (void)snprintf(reply, sizeof(reply), "%s.s", reader->inbox);
    int n = snprintf(text, sizeof(text),
                     "{\"batch\":%d,\"expires\":%" PRId64 ",\"idle_heartbeat\":%" PRId64 "}", BATCH,
                     EXPIRES_S * SECOND_NS, HEARTBEAT_S * SECOND_NS);
    if (bus_publish(reader->bus, subject, reply, text, (size_t)n))
        reader->asked = BATCH;
}

/* What is there has been read. */
static void end_index(struct reader *reader)
{
    reader->indexed = true;
    create(reader); /* one that gives bodies, too */
    reader->ops->ready(reader->arg);
}

/* The one function that changes the state. */
static void enter(struct reader *reader, enum reader_state state)
{
    assert(state == READER_CREATING || reader->state == READER_CREATING);
    assert(state == READER_CREATING || (state == READER_LIVE) == reader->indexed);
    reader->state = state;
}

/* Goes by what the consumer INFO begins behind: it is lower than what was read if the stream has
 * lost that. */
static void note_end(struct reader *reader, const json_t *info)
{
    const json_t *delivered = json_object_get(json_object_get(info, "delivered"), "stream_seq");
    if (!json_is_integer(delivered) ||
        json_integer_value(delivered) >= (json_int_t)reader->last_seq)
        return;
    reader->last_seq = (uint64_t)MAX(json_integer_value(delivered), (json_int_t)0);
    if (reader->indexed)
        reader->ops->lost(reader->arg);
}

static bool on_created(void *arg, natsMsg *reply)
{
    struct reader *reader = arg;
    _cleanup_json_ json_t *object = NULL;
    struct fault fault = FAULT_NULL;
    if (json_read_object(natsMsg_GetData(reply), (size_t)natsMsg_GetDataLength(reply), &object,
                         &fault) < 0)
        return true;
    const char *name = json_string_value(json_object_get(object, "name"));
    const json_t *error = json_object_get(object, "error");
    if (!name) {
        const char *why = json_string_value(json_object_get(error, "description"));
        bus_complain(reader->bus, "the results cannot be read: %s%s; trying again",
                     why ? why : "no reason given",
                     json_integer_value(json_object_get(error, "err_code")) == JSStreamNotFoundErr
                         ? " (run `rubricctl fleet init`)"
                         : "");
        return true;
    }
    reader->request = 0;
    reader->asked = 0;
    reader->silence_ms = monotonic_ms() + SILENCE_MS;
    reader->epoch = bus_epoch(reader->bus);
    (void)snprintf(reader->consumer, sizeof(reader->consumer), "%s", name);
    note_end(reader, object);
    enter(reader, reader->indexed ? READER_LIVE : READER_INDEXING);
    if (!reader->indexed && json_integer_value(json_object_get(object, "num_pending")) == 0)
        end_index(reader);
    else
        ask(reader);
    return false;
}

static void create(struct reader *reader)
{
    char subject[API_SUBJECT_SIZE], text[1024];
    const char *fleet = bus_fleet(reader->bus);
    api_subject("CONSUMER.CREATE", fleet, STREAM_RESULTS, NULL, subject, sizeof(subject));
    int n = snprintf(text, sizeof(text),
                     "{\"stream_name\":\"%s-results\",\"config\":{\"ack_policy\":\"none\","
                     "\"deliver_policy\":\"by_start_sequence\",\"opt_start_seq\":%" PRIu64
                     ",\"filter_subject\":\"%s.results.%s.>\",\"headers_only\":%s,"
                     "\"inactive_threshold\":%" PRId64 ",\"num_replicas\":1,\"mem_storage\":true}}",
                     fleet, reader->last_seq + 1, fleet, reader->run,
                     reader->indexed ? "false" : "true", INACTIVE_S * SECOND_NS);
    enter(reader, READER_CREATING);
    bus_forget(reader->bus, reader->request);
    reader->request = bus_request(reader->bus, subject, NULL, text, (size_t)n, on_created, reader);
}

/* Returns how many messages the consumer has behind this one. */
static uint64_t pending_behind(natsMsg *message)
{
    const char *reply = natsMsg_GetReply(message);
    return reply ? strtoull(names_last(reply), NULL, 10) : 0;
}

static void on_message(void *arg, natsMsg *message)
{
    struct reader *reader = arg;
    struct api_delivery delivery;
    int64_t now = monotonic_ms();
    if (reader->state == READER_CREATING)
        return; /* of a consumer that was given up */
    if (!api_read_delivery(natsMsg_GetReply(message), &delivery)) {
        int status = api_status(message);
        reader->silence_ms = now + SILENCE_MS;
        if (status == 408) /* the request is over */
            reader->asked = 0;
        /* Somebody may have removed the end of the index, so that no message says that it is the
         * last one. A new consumer says how many are left. */
        if (status >= 400 && (status != 408 || !reader->indexed))
            reader->silence_ms = now; /* or the consumer is gone */
        return;
    }
    /* What an earlier consumer still sends would be wrong: that of the index has no bodies. */
    if (!api_is_from(&delivery, reader->consumer))
        return;
    if (delivery.stream_seq <= reader->last_seq)
        return; /* seen on another consumer */
    reader->silence_ms = now + SILENCE_MS;
    reader->last_seq = delivery.stream_seq;
    reader->asked -= reader->asked > 0;
    if (reader->indexed) {
        reader->ops->come(reader->arg, message, delivery.stream_seq);
        return;
    }
    reader->ops->known(reader->arg, message, delivery.stream_seq);
    if (pending_behind(message) == 0)
        end_index(reader);
}

int reader_init(struct reader *reader, struct bus *bus, const char *run,
                const struct reader_ops *ops, void *arg)
{
    char all[BUS_INBOX_SIZE + 2];
    *reader = (struct reader){.bus = bus, .run = run, .ops = ops, .arg = arg};
    bus_new_inbox(bus, reader->inbox);
    (void)snprintf(all, sizeof(all), "%s.*", reader->inbox);
    int r = bus_watch(bus, all, on_message, reader);
    if (r == 0)
        create(reader);
    return r;
}

void reader_deinit(struct reader *reader)
{
    if (reader->bus)
        bus_forget(reader->bus, reader->request);
}

int64_t reader_go_on(struct reader *reader, int64_t now)
{
    if (reader->state == READER_CREATING)
        return INT64_MAX;
    if (now >= reader->silence_ms || reader->epoch != bus_epoch(reader->bus)) {
        create(reader);
        return INT64_MAX;
    }
    if (reader->asked == 0)
        ask(reader);
    return reader->silence_ms;
}
