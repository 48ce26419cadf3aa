/* SPDX-License-Identifier: MIT */
#include "userrun.h"

#include "feeds.h"

#include "client/terminal/text.h"
#include "proto/json.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

/* A run without jobs for so long leaves nothing at the server. */
#define IDLE_MS 10000

static void enter(struct userrun_consumer *consumer, enum userrun_consumer_state state)
{
    static const _unused_ unsigned next[] = {
        [USERRUN_NONE] = 1U << USERRUN_CREATING,
        [USERRUN_CREATING] = 1U << USERRUN_THERE,
        [USERRUN_THERE] = 1U << USERRUN_CREATING | 1U << USERRUN_ASKING,
        [USERRUN_ASKING] = 1U << USERRUN_THERE | 1U << USERRUN_DELETING | 1U << USERRUN_NONE,
        [USERRUN_DELETING] = 1U << USERRUN_NONE,
    };
    assert(next[consumer->state] >> state & 1);
    consumer->state = state;
}

/* --- consumers ---------------------------------------------------------------------------- */

/* Sends the request WHAT about CONSUMER. */
static uint64_t ask(struct userrun_consumer *consumer, const char *what, bus_reply *reply)
{
    const struct userrun *run = consumer->run;
    return consumer_ask(run->bus, run->name, consumer->priority, what, reply, consumer);
}

static bool on_created(void *arg, natsMsg *reply)
{
    struct userrun_consumer *consumer = arg;
    struct api_answer answer;
    api_read(reply, &answer);
    if (answer.outcome != API_OK) {
        bus_complain(consumer->run->bus, "run %s has no consumer yet: %s; trying again",
                     consumer->run->name, answer.text);
        return true;
    }
    consumer->request = 0;
    enter(consumer, USERRUN_THERE);
    consumer_wake_workers(consumer->run->bus);
    return false;
}

static void create(struct userrun_consumer *consumer)
{
    struct userrun *run = consumer->run;
    enter(consumer, USERRUN_CREATING);
    consumer->is_wanted = false;
    consumer->request = consumer_create(run->bus, run->name, consumer->priority, run->digest,
                                        run->ack_wait_s, on_created, consumer);
}

/* The consumer is no more. */
static void end(struct userrun_consumer *consumer)
{
    enter(consumer, USERRUN_NONE);
    consumer_wake_workers(consumer->run->bus);
    if (consumer->is_wanted)
        create(consumer);
}

static bool on_deleted(void *arg, natsMsg *reply)
{
    struct userrun_consumer *consumer = arg;
    struct api_answer answer;
    api_read(reply, &answer);
    if (answer.outcome == API_AGAIN)
        return true;
    consumer->request = 0;
    end(consumer); /* or there was none */
    return false;
}

static bool on_left(void *arg, natsMsg *reply)
{
    struct userrun_consumer *consumer = arg;
    _cleanup_json_ json_t *info = consumer_read(reply);
    struct api_answer answer;
    api_read(reply, &answer);
    if (answer.outcome == API_AGAIN || !info)
        return true;
    consumer->request = 0;
    if (answer.outcome != API_OK) {
        end(consumer);
    } else if (consumer->is_wanted || !consumer_has_nothing(info)) {
        consumer->is_wanted = false;
        enter(consumer, USERRUN_THERE); /* the next tick asks again */
    } else {
        enter(consumer, USERRUN_DELETING);
        consumer->request = ask(consumer, "CONSUMER.DELETE", on_deleted);
    }
    return false;
}

void userrun_want(struct userrun *run, int64_t priority)
{
    struct userrun_consumer *consumer = &run->consumers[priority - NAMES_PRIORITY_MIN];
    run->has_traces = true;
    run->idle_ms = INT64_MAX;
    if (consumer->state == USERRUN_NONE)
        create(consumer);
    else if (consumer->state != USERRUN_CREATING && consumer->state != USERRUN_THERE)
        consumer->is_wanted = true;
}

/* Makes the consumer again if it is gone. Of other errors the next check hears again. */
static bool on_checked(void *arg, natsMsg *reply)
{
    struct userrun_consumer *consumer = arg;
    const struct userrun *run = consumer->run;
    consumer->check = 0;
    if (consumer->state == USERRUN_THERE &&
        consumer_is_gone(&consumer->watch, run->bus, run->name, consumer->priority, reply))
        create(consumer);
    return false;
}

void userrun_note_waiting(struct userrun *run, int64_t priority)
{
    run->consumers[priority - NAMES_PRIORITY_MIN].watch.waits = true;
}

void userrun_check(struct userrun *run)
{
    for (size_t i = 0; i < TURNS_PRIORITIES; i++) {
        struct userrun_consumer *consumer = &run->consumers[i];
        bus_forget(run->bus, consumer->check);
        consumer->check =
            consumer->state == USERRUN_THERE ? ask(consumer, "CONSUMER.INFO", on_checked) : 0;
    }
}

/* --- what workers say --------------------------------------------------------------------- */

static void on_known(_unused_ void *arg, _unused_ natsMsg *message, _unused_ uint64_t seq)
{
}

static void on_ready(void *arg)
{
    struct userrun *run = arg;
    run->is_ready = true;
    run->ops->ready(run->arg);
}

static void on_result(void *arg, natsMsg *message, uint64_t seq)
{
    struct userrun *run = arg;
    run->ops->result(run->arg, names_last(natsMsg_GetSubject(message)), message, seq);
}

static void on_lost(void *arg)
{
    struct userrun *run = arg;
    run->ops->lost(run->arg);
}

static const struct reader_ops reader_ops = {on_known, on_ready, on_result, on_lost};

static void on_started(void *arg, natsMsg *message)
{
    struct userrun *run = arg;
    run->ops->started(run->arg, names_last(natsMsg_GetSubject(message)));
}

/* --- the end of a busy time --------------------------------------------------------------- */

static bool on_purged(void *arg, natsMsg *reply)
{
    struct userrun *run = arg;
    struct api_answer answer;
    api_read(reply, &answer);
    if (answer.outcome == API_AGAIN)
        return true;
    run->n_sweeps--;
    return false;
}

/* Removes what STREAM has of the run. */
static void purge(struct userrun *run, enum fleet_stream stream)
{
    char subject[API_SUBJECT_SIZE], all[NAMES_SUBJECT_SIZE], text[API_PURGE_SIZE];
    names_of_run(bus_fleet(run->bus), stream, run->name, ">", all);
    size_t n = api_purge(bus_fleet(run->bus), stream, all, subject, text);
    run->n_sweeps += bus_request(run->bus, subject, NULL, text, n, on_purged, run) > 0;
}

void userrun_leave(struct userrun *run)
{
    for (size_t i = 0; i < TURNS_PRIORITIES; i++) {
        if (run->consumers[i].state != USERRUN_THERE)
            continue;
        enter(&run->consumers[i], USERRUN_ASKING);
        run->consumers[i].request = ask(&run->consumers[i], "CONSUMER.INFO", on_left);
    }
    if (!run->has_traces)
        return;
    run->has_traces = false;
    /* A server that was killed may have messages again whose acknowledgement it had not
     * written. */
    purge(run, STREAM_JOBS);
    purge(run, STREAM_RESULTS);
    purge(run, STREAM_MARKS);
}

bool userrun_is_left(const struct userrun *run)
{
    for (size_t i = 0; i < TURNS_PRIORITIES; i++)
        if (run->consumers[i].state != USERRUN_NONE)
            return false;
    return run->n_sweeps == 0;
}

void userrun_tick(struct userrun *run, int64_t now, bool busy)
{
    (void)reader_go_on(&run->reader, now);
    if (run->epoch != bus_epoch(run->bus)) {
        run->epoch = bus_epoch(run->bus);
        /* A server that has lost its disk has no consumers. */
        for (size_t i = 0; busy && i < TURNS_PRIORITIES; i++)
            if (run->consumers[i].state == USERRUN_THERE)
                create(&run->consumers[i]);
    }
    if (busy || run->idle_ms == INT64_MAX)
        run->idle_ms = busy ? INT64_MAX : now;
    else if (now >= run->idle_ms + IDLE_MS) {
        run->idle_ms = now;
        userrun_leave(run);
    }
}

/* --- making and ending -------------------------------------------------------------------- */

int userrun_init(struct userrun *run, struct bus *bus, const char *name, const char *digest,
                 int64_t ack_wait_s, const struct userrun_ops *ops, void *arg)
{
    char started[NAMES_SUBJECT_SIZE];
    *run = (struct userrun){
        .bus = bus,
        .ack_wait_s = ack_wait_s,
        .ops = ops,
        .arg = arg,
        .epoch = bus_epoch(bus),
        .idle_ms = INT64_MAX,
    };
    (void)snprintf(run->name, sizeof(run->name), "%s", name);
    (void)snprintf(run->digest, sizeof(run->digest), "%s", digest);
    for (size_t i = 0; i < TURNS_PRIORITIES; i++) {
        run->consumers[i].run = run;
        run->consumers[i].priority = (int64_t)i + NAMES_PRIORITY_MIN;
    }
    (void)snprintf(started, sizeof(started), "%s.started.%s.*", bus_fleet(bus), run->name);
    int r = bus_watch(bus, started, on_started, run);
    return r < 0 ? r : reader_init(&run->reader, bus, run->name, &reader_ops, run);
}

void userrun_deinit(struct userrun *run)
{
    for (size_t i = 0; i < TURNS_PRIORITIES; i++)
        if (run->consumers[i].run) {
            bus_forget(run->bus, run->consumers[i].request);
            bus_forget(run->bus, run->consumers[i].check);
        }
    reader_deinit(&run->reader);
}
