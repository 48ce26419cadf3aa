/* SPDX-License-Identifier: MIT */
#include "servestatus.h"

#include "serveanswer.h"
#include "summetrics.h"
#include "sumstatus.h"

#include "client/terminal/text.h"
#include "proto/printer.h"

#include <inttypes.h>
#include <string.h>

#define CLIENTS_MAX 100
#define CONTENT_TYPE "application/openmetrics-text; version=1.0.0; charset=utf-8"

/* Says of a slot's job, which a worker has told, what its client calls it. Jobs that come from
 * elsewhere are only known to take the slot. */
static void name_job(const struct serve *serve, json_t *slot)
{
    json_t *job = json_object_get(slot, "job");
    const char *run = json_string_value(json_object_get(job, "run"));
    const char *id = json_string_value(json_object_get(job, "id"));
    const struct served *served =
        run && id ? servejobs_find_number(serve, serveanswer_number(id)) : NULL;
    if (!served || strcmp(served->run->run.name, run) != 0) {
        (void)json_object_set_new(slot, "job", json_null());
        return;
    }
    json_t *named = json_copy(job);
    (void)json_object_del(named, "run");
    (void)json_object_set_new(named, "job_no", json_integer((json_int_t)served->number));
    (void)json_object_set_new(named, "id", json_stringn(served->id.data, served->id.length));
    (void)json_object_set_new(named, "client",
                              json_integer((json_int_t)served->guest->caller->number));
    (void)json_object_set_new(named, "uid", json_integer((json_int_t)served->guest->user->uid));
    (void)json_object_set_new(slot, "job", named);
}

static size_t count_started(const struct guest *guest)
{
    const struct served *served;
    size_t n = 0;
    TAILQ_FOREACH(served, &guest->jobs, of_guest)
    n += served->is_started;
    return n;
}

/* Lists the clients, and counts the jobs that have not started. */
static json_t *list_clients(const struct serve *serve, size_t *ret_queued)
{
    json_t *list = json_array();
    const struct caller *caller;
    TAILQ_FOREACH(caller, &serve->callers.list, of_list)
    {
        const struct guest *guest = caller->of_owner;
        if (!guest || !caller_is_served(caller))
            continue;
        size_t started = count_started(guest), queued = caller->unanswered - started;
        *ret_queued += queued;
        if (json_array_size(list) >= CLIENTS_MAX)
            continue;
        (void)json_array_append_new(
            list,
            json_pack("{s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:b}", "client", (json_int_t)caller->number,
                      "uid", (json_int_t)caller->peer.uid, "gid", (json_int_t)caller->peer.gid,
                      "pid", (json_int_t)caller->peer.pid, "queued", (json_int_t)queued, "running",
                      (json_int_t)started, "unsent_bytes", (json_int_t)caller->unsent, "paused",
                      caller->is_parked || caller->is_choked));
    }
    return list;
}

static json_t *list_failures(const struct serve *serve)
{
    json_t *list = json_array();
    for (size_t i = 0; i < json_array_size(serve->failures); i++) {
        json_t *failure = json_copy(json_array_get(serve->failures, i));
        json_int_t at_ms = json_integer_value(json_object_get(failure, "at_ms"));
        (void)json_object_del(failure, "at_ms");
        (void)json_object_set_new(failure, "ago_ms",
                                  json_integer((json_int_t)monotonic_ms() - at_ms));
        (void)json_array_append_new(list, failure);
    }
    return list;
}

static void fill_in(struct serve *serve, json_t *status)
{
    size_t queued = 0;
    json_t *slots = json_object_get(status, "slots"), *queue = json_object_get(status, "queue");
    for (size_t i = 0; i < json_array_size(slots); i++)
        name_job(serve, json_array_get(slots, i));
    (void)json_object_set_new(status, "clients", list_clients(serve, &queued));
    (void)json_object_set_new(status, "clients_total", json_integer((json_int_t)serve->callers.n));
    (void)json_object_set_new(status, "last_failures", list_failures(serve));
    (void)json_object_set_new(status, "pid", json_integer(getpid()));
    (void)json_object_set_new(status, "state",
                              json_string(serve->is_draining ? "draining" : "running"));
    (void)json_object_set_new(queue, "jobs", json_integer((json_int_t)queued));
    (void)json_object_set_new(queue, "jobs_max", json_integer((json_int_t)SERVEJOBS_MAX));
    (void)json_object_set_new(queue, "bytes", json_integer((json_int_t)serve->bytes));
    (void)json_object_set_new(queue, "bytes_max", json_integer((json_int_t)SERVEJOBS_BYTES_MAX));
}

/* Has the daemons asked for GUEST. */
static bool ask(struct guest *guest, enum census_question question, census_told *told)
{
    if (guest->caller->owed >= SERVEJOBS_OWED_MAX) {
        guest->caller->parked_size = 0;
        return false;
    }
    guest->caller->owed++;
    census_ask(&guest->serve->census, question, told, guest);
    return true;
}

/* GUEST has its answer. */
static void settle(struct guest *guest)
{
    guest->caller->owed--;
    servejobs_unpark(guest->serve);
    caller_settle(guest->caller);
}

/* If no daemon has answered, what the last one said of its isolation still holds. */
static void settle_isolation(struct serve *serve, json_t *status)
{
    json_t *isolation = json_object_get(status, "isolation");
    if (!isolation && serve->isolation) {
        (void)json_object_set(status, "isolation", serve->isolation);
    } else if (isolation) {
        json_decref(serve->isolation);
        serve->isolation = json_incref(isolation);
    }
}

static void on_status(void *arg, const json_t *answers)
{
    struct guest *guest = arg;
    struct serve *serve = guest->serve;
    _cleanup_bytes_ struct bytes text = BYTES_NULL;
    _cleanup_json_ json_t *status = sumstatus_make(answers, monotonic_ms() - serve->started_ms);
    if (status) {
        fill_in(serve, status);
        settle_isolation(serve, status);
    }
    if (status && !json_object_get(status, "isolation"))
        caller_send_error(guest->caller, NULL, 0, ERROR_INTERNAL,
                          *serve->trouble ? serve->trouble
                                          : "no daemon of the fleet has told its status in time");
    else if (status && json_print(status, &text) == 0)
        caller_send(guest->caller, &text);
    else
        caller_send_error(guest->caller, NULL, 0, ERROR_INTERNAL, "out of memory");
    settle(guest);
}

bool servestatus_send(struct guest *guest)
{
    return ask(guest, CENSUS_STATUS, on_status);
}

/* Writes the metrics that only serve has. */
static void print_own(const struct serve *serve, char *ret, size_t size)
{
    size_t queued = 0;
    json_decref(list_clients(serve, &queued));
    (void)snprintf(
        ret, size,
        "# TYPE rubricd_fleet_hosts gauge\n"
        "# HELP rubricd_fleet_hosts Workers that have announced themselves.\n"
        "rubricd_fleet_hosts %zu\n"
        "# TYPE rubricd_fleet_connections gauge\n"
        "# HELP rubricd_fleet_connections Clients of this fleet serve.\n"
        "rubricd_fleet_connections %zu\n"
        "# TYPE rubricd_fleet_jobs_waiting gauge\n"
        "# HELP rubricd_fleet_jobs_waiting Jobs of these clients that have not started.\n"
        "rubricd_fleet_jobs_waiting %zu\n"
        "# TYPE rubricd_fleet_jobs_submitted counter\n"
        "# HELP rubricd_fleet_jobs_submitted Jobs that these clients have submitted.\n"
        "rubricd_fleet_jobs_submitted_total %" PRIu64 "\n",
        json_object_size(serve->census.hosts), serve->callers.n, queued, serve->submitted);
}

static void on_metrics(void *arg, const json_t *answers)
{
    struct guest *guest = arg;
    char own[2048];
    _cleanup_bytes_ struct bytes text = BYTES_NULL, payload = BYTES_NULL;
    print_own(guest->serve, own, sizeof(own));
    int r = summetrics_make(answers, own, &text);
    _cleanup_json_ json_t *reply =
        r < 0 ? NULL
              : json_pack("{s:s,s:s,s:s%}", "type", "metrics", "content_type", CONTENT_TYPE, "text",
                          text.data, text.length);
    if (reply && json_print(reply, &payload) == 0)
        caller_send(guest->caller, &payload);
    else
        caller_send_error(guest->caller, NULL, 0, ERROR_INTERNAL, "out of memory");
    settle(guest);
}

bool servestatus_send_metrics(struct guest *guest)
{
    return ask(guest, CENSUS_METRICS, on_metrics);
}
