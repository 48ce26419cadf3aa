/* SPDX-License-Identifier: MIT */
#include "announce.h"

#include "names.h"

#include <string.h>
#include <sys/utsname.h>

/* Makes what a `hello` says of the confinement of what a `status` says. */
static json_t *isolation_of(const struct lane *lane)
{
    static const char *const of_status_alone[] = {"missing", "warm", "cold_because",
                                                  "networked_digest"};
    json_t *isolation = json_copy(json_object_get(lane->status, "isolation"));
    for (size_t i = 0; i < ARRAY_SIZE(of_status_alone); i++)
        (void)json_object_del(isolation, of_status_alone[i]);
    return isolation;
}

static json_t *languages_of(const struct lane *lane)
{
    const json_t *list = json_object_get(lane->status, "languages");
    json_t *names = json_array();
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *language = json_array_get(list, i);
        if (json_is_true(json_object_get(language, "available")))
            (void)json_array_append(names, json_object_get(language, "name"));
    }
    return names;
}

static json_t *lane_json(const struct lane *lane)
{
    return json_pack("{s:s,s:I,s:I,s:s}", "socket", lane->path, "slots", (json_int_t)lane->slots,
                     "others", (json_int_t)lane->others, "digest", lane_digest(lane));
}

json_t *announce_make(const char *name, const struct lane *const *lanes, size_t n,
                      const struct announce_counts *counts, int64_t uptime_ms, json_t *take_held)
{
    const struct lane *first = NULL;
    struct utsname host = {.nodename = ""};
    json_int_t slots = 0;
    json_t *list = json_array();
    (void)uname(&host);
    for (size_t i = 0; i < n; i++) {
        if (!lane_is_ready(lanes[i]))
            continue;
        first = first ? first : lanes[i];
        slots += (json_int_t)lanes[i]->slots;
        (void)json_array_append_new(list, lane_json(lanes[i]));
    }
    if (!first) {
        json_decref(list);
        json_decref(take_held);
        return NULL;
    }
    const json_t *about = first->session.host; /* what its hello said: hostinfo_make() */
    return json_pack(
        "{s:s,s:s,s:i,s:s,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:o,s:o,s:o,s:O?,s:O?,s:"
        "I,s:f,s:o}",
        "worker", name, "host", host.nodename, "pid", (int)getpid(), "version",
        first->session.version, "slots", slots, "running", (json_int_t)counts->running, "done",
        (json_int_t)counts->done, "errors", (json_int_t)counts->errors, "dead",
        (json_int_t)counts->dead, "known", (json_int_t)counts->known, "handed_back",
        (json_int_t)counts->back, "cancelled", (json_int_t)counts->cancelled, "redelivered",
        (json_int_t)counts->redelivered, "starved", (json_int_t)counts->starved, "passed_by",
        (json_int_t)counts->passed, "uptime_ms", (json_int_t)uptime_ms, "daemons", list,
        "isolation", isolation_of(first), "languages", languages_of(first), "limits",
        json_object_get(about, "limits"), "interpreter", json_object_get(about, "interpreter"),
        "max_frame", (json_int_t)first->session.max_frame, "rate", counts->rate, "holds",
        take_held);
}

void announce_stop(struct bus *bus, const char *name)
{
    char subject[NAMES_SUBJECT_SIZE], text[256];
    (void)snprintf(subject, sizeof(subject), "%s.hosts.%s", bus_fleet(bus), name);
    int n = snprintf(text, sizeof(text),
                     "{\"worker\":\"%s\",\"slots\":0,\"daemons\":[],\"stopped\":true}", name);
    (void)bus_publish(bus, subject, NULL, text, (size_t)n);
}

bool announce_has_stopped(const json_t *about)
{
    return json_is_true(json_object_get(about, "stopped"));
}
