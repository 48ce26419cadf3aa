/* SPDX-License-Identifier: MIT */
#include "servewatch.h"

#include "feeds.h"
#include "hosts.h"

#include "client/terminal/text.h"
#include "proto/json.h"

#include <inttypes.h>
#include <string.h>

/* Queue a job again that has had no answer for so long; after a lost connection. */
#define AGAIN_MS 60000
#define AGAIN_SOON_MS 5000
#define TROUBLE_SOON_MS 3000

/* As the front of a batch does: a server that lost its disk has no job and no result of it. The
 * consumers are looked at, too. */
static void send_again(struct serve_run *run, int64_t now)
{
    struct served *served, *next;
    int64_t before_ms = now - (run->was_lost ? AGAIN_SOON_MS : AGAIN_MS);
    if (run->epoch != bus_epoch(run->serve->bus)) {
        run->epoch = bus_epoch(run->serve->bus);
        run->again_ms = now + AGAIN_SOON_MS; /* results that are there are read first */
        run->was_lost = true;
    }
    if (run->again_ms == INT64_MAX)
        run->again_ms = now + AGAIN_MS;
    if (now < run->again_ms)
        return;
    if (run->lost_end)
        before_ms = INT64_MAX; /* answers may have come with numbers that were read */
    run->was_lost = run->lost_end = false;
    run->again_ms = now + AGAIN_MS;
    for (served = TAILQ_FIRST(&run->sent); served; served = next) {
        next = TAILQ_NEXT(served, of_run);
        /* The queue has the whole patience to take it again. */
        if (served->job->state == RUNJOB_QUEUED)
            served->sent_ms = now;
        if (runjob_send_again(served->job, before_ms))
            userrun_note_waiting(&run->run, served->job->priority);
    }
    if (run->n_jobs > 0)
        userrun_check(&run->run);
}

/* Whether the queue has not taken the job yet. */
static bool is_outside(const struct served *served)
{
    return served->job->state == RUNJOB_SENDING || served->job->state == RUNJOB_STORING;
}

/* Ends the jobs that the queue does not take. */
static void end_outside(struct serve_run *run, int64_t now)
{
    struct served *served, *next;
    int64_t before_ms = now - run->serve->options.patience_ms;
    if (*run->serve->trouble)
        return; /* which says better why */
    for (served = TAILQ_FIRST(&run->sent); served; served = next) {
        struct fault fault = FAULT_NULL;
        next = TAILQ_NEXT(served, of_run);
        /* One that runs has been taken. */
        if (!served->guest || !is_outside(served) || served->is_started ||
            served->sent_ms > before_ms)
            continue;
        (void)fault_set(&fault, "the fleet's queue has not taken the job for %" PRId64 " s: %s",
                        run->serve->options.patience_ms / 1000,
                        *served->job->why ? served->job->why : "it does not answer");
        servejobs_fail(served, ERROR_INTERNAL, fault.text);
    }
}

/* Answers every job of RUN (NULL: of all) that has a client. */
static void fail_all(struct serve *serve, const struct serve_run *run, enum error_code code,
                     const char *why)
{
    struct caller *caller;
    TAILQ_FOREACH(caller, &serve->callers.list, of_list)
    {
        struct guest *guest = caller->of_owner;
        struct served *served;
        while (guest && (!run || guest->run == run) && (served = TAILQ_FIRST(&guest->jobs)) != NULL)
            servejobs_fail(served, code, why);
    }
}

static bool has_digest(const json_t *hosts, const char *digest)
{
    for (size_t i = 0; i < json_array_size(hosts); i++) {
        const json_t *daemons = json_object_get(json_array_get(hosts, i), "daemons");
        for (size_t j = 0; j < json_array_size(daemons); j++) {
            const char *of_it =
                json_string_value(json_object_get(json_array_get(daemons, j), "digest"));
            if (of_it && strcmp(of_it, digest) == 0)
                return true;
        }
    }
    return false;
}

/* Ends the jobs of a run whose isolation no host has any more. */
static void look_for_home(struct serve_run *run, const json_t *hosts, int64_t now)
{
    struct fault fault = FAULT_NULL;
    if (strcmp(run->run.digest, FEEDS_ANY) == 0 || run->n_jobs == 0 ||
        json_array_size(hosts) == 0 || has_digest(hosts, run->run.digest)) {
        run->homeless_ms = INT64_MAX;
        return;
    }
    run->homeless_ms = MIN(run->homeless_ms, now);
    if (now < run->homeless_ms + run->serve->options.patience_ms)
        return;
    (void)fault_set(&fault,
                    "no host of the fleet has the isolation %.12s... any more that this "
                    "connection was told: connect again",
                    run->run.digest);
    fail_all(run->serve, run, ERROR_INTERNAL, fault.text);
}

/* Says so once, unless it is over soon. */
static void say_trouble(struct serve *serve, int64_t now)
{
    if (!*serve->trouble && serve->is_trouble_told)
        complain("the fleet goes on");
    if (!*serve->trouble)
        serve->is_trouble_told = false;
    if (!*serve->trouble || serve->is_trouble_told || now < serve->trouble_ms + TROUBLE_SOON_MS)
        return;
    complain("%s; jobs wait", serve->trouble);
    serve->is_trouble_told = true;
}

/* Finds out whether anything stands in the way of all jobs. */
static void look_for_trouble(struct serve *serve, const json_t *hosts, int64_t now)
{
    const char *lost = bus_trouble(serve->bus);
    struct fault fault = FAULT_NULL;
    if (lost)
        (void)fault_set(&fault, "the fleet's queue is out of reach: %s", lost);
    else if (json_array_size(hosts) == 0)
        (void)fault_set(&fault,
                        "the fleet %s has no worker: start one on each host (rubricctl fleet "
                        "worker)",
                        bus_fleet(serve->bus));
    if (*fault.text && !*serve->trouble)
        serve->trouble_ms = now;
    (void)snprintf(serve->trouble, sizeof(serve->trouble), "%s", fault.text);
    say_trouble(serve, now);
    if (servejobs_is_hopeless(serve, now)) {
        fail_all(serve, NULL, ERROR_INTERNAL, serve->trouble);
        servejobs_unpark(serve);
    }
}

void servewatch_tick(struct serve *serve, int64_t now)
{
    struct serve_run *run;
    _cleanup_json_ json_t *hosts = census_hosts(&serve->census, now);
    if (json_array_size(hosts) > 0)
        serve->slots = hosts_slots(hosts);
    look_for_trouble(serve, hosts, now);
    LIST_FOREACH(run, &serve->runs, link)
    {
        userrun_tick(&run->run, now, run->n_jobs > 0);
        send_again(run, now);
        end_outside(run, now);
        look_for_home(run, hosts, now);
        servejobs_feed(run);
    }
    servejobs_unpark(serve);
}

void servewatch_drain(struct serve *serve, bool started_too)
{
    struct caller *caller;
    TAILQ_FOREACH(caller, &serve->callers.list, of_list)
    {
        struct guest *guest = caller->of_owner;
        struct served *served, *next;
        served = guest ? TAILQ_FIRST(&guest->jobs) : NULL;
        for (; served && caller_is_served(caller); served = next) {
            next = TAILQ_NEXT(served, of_guest);
            if (started_too || !served->is_started)
                servejobs_fail(served, ERROR_DRAINING,
                               started_too ? "fleet serve stops, and the job has not ended in time"
                                           : "fleet serve stops");
        }
    }
    servejobs_unpark(serve);
}
