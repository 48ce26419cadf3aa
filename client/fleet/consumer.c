/* SPDX-License-Identifier: MIT */
#include "consumer.h"

#include "api.h"

#include "client/terminal/text.h"
#include "proto/json.h"

#include <inttypes.h>

/* One look may come between a job's loss and its arrival in the queue for the second time. */
#define STALLED_LOOKS 2

static uint64_t request(struct bus *bus, const char *run, int64_t priority, const char *what,
                        const char *text, size_t n, bus_reply *reply, void *arg)
{
    char name[NAMES_SUBJECT_SIZE], subject[API_SUBJECT_SIZE];
    names_consumer(run, priority, name);
    api_subject(what, bus_fleet(bus), STREAM_JOBS, name, subject, sizeof(subject));
    return bus_request(bus, subject, NULL, text, n, reply, arg);
}

uint64_t consumer_ask(struct bus *bus, const char *run, int64_t priority, const char *what,
                      bus_reply *reply, void *arg)
{
    return request(bus, run, priority, what, "", 0, reply, arg);
}

uint64_t consumer_create(struct bus *bus, const char *run, int64_t priority, const char *digest,
                         int64_t ack_wait_s, bus_reply *reply, void *arg)
{
    char text[2 * NAMES_SUBJECT_SIZE];
    size_t n = names_consumer_config(bus_fleet(bus), run, priority, digest, ack_wait_s, text,
                                     sizeof(text));
    return request(bus, run, priority, "CONSUMER.DURABLE.CREATE", text, n, reply, arg);
}

json_t *consumer_read(natsMsg *reply)
{
    json_t *info = NULL;
    struct fault fault = FAULT_NULL;
    int r = json_read_object(natsMsg_GetData(reply), (size_t)natsMsg_GetDataLength(reply), &info,
                             &fault);
    return r < 0 ? NULL : info;
}

static json_int_t number_in(const json_t *info, const char *name)
{
    return json_integer_value(json_object_get(info, name));
}

bool consumer_has_nothing(const json_t *info)
{
    return info && !json_object_get(info, "error") && number_in(info, "num_pending") == 0 &&
           number_in(info, "num_ack_pending") == 0;
}

bool consumer_settles(const json_t *info)
{
    return number_in(info, "num_pending") == 0 && number_in(info, "num_ack_pending") > 0;
}

uint64_t consumer_floor(const json_t *info)
{
    json_int_t floor =
        json_integer_value(json_object_get(json_object_get(info, "ack_floor"), "stream_seq"));
    return floor > 0 ? (uint64_t)floor : 0;
}

/* If the server refuses, which one alone does, the next looks try again. */
static bool on_asked(_unused_ void *arg, _unused_ natsMsg *reply)
{
    return false;
}

void consumer_give_up(struct bus *bus, const char *run, int64_t priority)
{
    bus_complain(bus,
                 "run %s: its consumer of priority %" PRId64
                 " is ahead of the queue, which the NATS server has lost the end of; having it "
                 "made again",
                 run, priority);
    (void)consumer_ask(bus, run, priority, "CONSUMER.DELETE", on_asked, NULL);
}

bool consumer_is_gone(struct consumer_watch *watch, struct bus *bus, const char *run,
                      int64_t priority, natsMsg *reply)
{
    _cleanup_json_ json_t *info = consumer_read(reply);
    const json_t *code = json_object_get(json_object_get(info, "error"), "err_code");
    watch->looks = watch->waits && consumer_has_nothing(info) ? watch->looks + 1 : 0;
    watch->waits = false;
    if (json_integer_value(code) == JSConsumerNotFoundErr) {
        complain("run %s: its consumer of priority %" PRId64
                 " is gone from the NATS server; making it again",
                 run, priority);
        return true;
    }
    if (watch->looks < STALLED_LOOKS)
        return false;
    watch->looks = 0;
    complain("run %s: its consumer of priority %" PRId64
             " delivers nothing although jobs wait; having another NATS server lead it (one whose "
             "copy of the queue lags for long, see rubricctl fleet status, needs a restart)",
             run, priority);
    (void)consumer_ask(bus, run, priority, "CONSUMER.LEADER.STEPDOWN", on_asked, NULL);
    return false;
}

void consumer_wake_workers(struct bus *bus)
{
    char wake[NAMES_SUBJECT_SIZE];
    (void)snprintf(wake, sizeof(wake), "%s.wake", bus_fleet(bus));
    (void)bus_publish(bus, wake, NULL, "", 0);
}
