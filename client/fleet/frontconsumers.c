/* SPDX-License-Identifier: MIT */
#include "frontconsumers.h"

#include "api.h"

#include "client/terminal/text.h"
#include "proto/json.h"

/* --- making ------------------------------------------------------------------------------- */

static bool on_created(void *arg, natsMsg *reply)
{
    struct frontconsumers *all = arg;
    struct api_answer answer;
    api_read(reply, &answer);
    if (answer.outcome != API_OK) {
        bus_complain(all->bus, "the run has no consumer yet: %s; trying again", answer.text);
        return true;
    }
    consumer_wake_workers(all->bus);
    return false;
}

/* Has the server make CONSUMER; one that is there stays as it is. */
static void create(struct frontconsumer *consumer)
{
    struct frontconsumers *all = consumer->all;
    (void)consumer_create(all->bus, all->run, consumer->priority, all->digest, all->ack_wait_s,
                          on_created, all);
}

void frontconsumers_init(struct frontconsumers *ret, struct bus *bus, const char *run,
                         const char *digest, int64_t ack_wait_s)
{
    *ret =
        (struct frontconsumers){.bus = bus, .run = run, .digest = digest, .ack_wait_s = ack_wait_s};
    for (size_t i = 0; i < FRONTCONSUMERS_MAX; i++)
        ret->each[i] =
            (struct frontconsumer){.all = ret, .priority = (int64_t)i + NAMES_PRIORITY_MIN};
}

void frontconsumers_ensure(struct frontconsumers *all, int64_t priority)
{
    struct frontconsumer *consumer = &all->each[priority - NAMES_PRIORITY_MIN];
    if (consumer->is_used)
        return;
    consumer->is_used = true;
    create(consumer);
}

/* --- asking about them -------------------------------------------------------------------- */

/* Returns whether the library took the request. */
static bool ask(struct frontconsumer *consumer, bus_reply *reply)
{
    const struct frontconsumers *all = consumer->all;
    return consumer_ask(all->bus, all->run, consumer->priority, "CONSUMER.INFO", reply, consumer) >
           0;
}

/* Makes the consumer again if it is gone. Of other errors the next check hears again. */
static bool on_checked(void *arg, natsMsg *reply)
{
    struct frontconsumer *consumer = arg;
    const struct frontconsumers *all = consumer->all;
    if (!all->is_ending &&
        consumer_is_gone(&consumer->watch, all->bus, all->run, consumer->priority, reply))
        create(consumer);
    return false;
}

void frontconsumers_note_waiting(struct frontconsumers *all, int64_t priority)
{
    all->each[priority - NAMES_PRIORITY_MIN].watch.waits = true;
}

void frontconsumers_check(struct frontconsumers *all)
{
    for (size_t i = 0; i < FRONTCONSUMERS_MAX; i++)
        if (all->each[i].is_used)
            (void)ask(&all->each[i], on_checked);
}

/* Takes the consumer away if it has nothing left. Asks again while the last results are there and
 * their jobs are not acknowledged: of two commands that end at once, neither would take it away. */
static bool on_left(void *arg, natsMsg *reply)
{
    struct frontconsumer *consumer = arg;
    struct frontconsumers *all = consumer->all;
    _cleanup_json_ json_t *info = consumer_read(reply);
    const char *fleet = bus_fleet(all->bus);
    char name[NAMES_SUBJECT_SIZE], subject[API_SUBJECT_SIZE];
    char of_all[NAMES_SUBJECT_SIZE], text[API_PURGE_SIZE];
    if (consumer_settles(info))
        return true;
    all->n_ending--;
    if (!consumer_has_nothing(info))
        return false;
    names_consumer(all->run, consumer->priority, name);
    api_subject("CONSUMER.DELETE", fleet, STREAM_JOBS, name, subject, sizeof(subject));
    (void)bus_publish(all->bus, subject, NULL, "", 0);
    /* A server that was killed may have messages again whose acknowledgement it had not written. */
    names_job(fleet, all->run, consumer->priority, ">", of_all);
    size_t n = api_purge(fleet, STREAM_JOBS, of_all, subject, text);
    (void)bus_publish(all->bus, subject, NULL, text, n);
    consumer_wake_workers(all->bus);
    return false;
}

void frontconsumers_end(struct frontconsumers *all)
{
    all->is_ending = true;
    for (size_t i = 0; i < FRONTCONSUMERS_MAX; i++)
        if (all->each[i].is_used)
            all->n_ending += ask(&all->each[i], on_left);
}
