/* SPDX-License-Identifier: MIT */
#include "suited.h"

#include "announce.h"
#include "feeds.h"

#include "client/terminal/text.h"
#include "proto/json.h"

#include <string.h>

/* A worker announces itself every five seconds. */
#define ABSENT_MS 30000

/* Whether one of the DAEMONS will do; notes the isolation of one that will not. */
static bool has_suiting(struct suited *suited, const json_t *daemons)
{
    for (size_t i = 0; i < json_array_size(daemons); i++) {
        const char *digest =
            json_string_value(json_object_get(json_array_get(daemons, i), "digest"));
        if (feeds_allow(suited->digest, digest ? digest : ""))
            return true;
        (void)snprintf(suited->other, sizeof(suited->other), "%s", digest ? digest : "");
    }
    return false;
}

static void on_announcement(void *arg, natsMsg *message)
{
    struct suited *suited = arg;
    _cleanup_json_ json_t *host = NULL;
    struct fault fault = FAULT_NULL;
    if (json_read_object(natsMsg_GetData(message), (size_t)natsMsg_GetDataLength(message), &host,
                         &fault) < 0 ||
        announce_has_stopped(host))
        return;
    const char *worker = json_string_value(json_object_get(host, "worker"));
    suited->seen_ms = monotonic_ms();
    if (has_suiting(suited, json_object_get(host, "daemons")))
        suited->suits_ms = suited->seen_ms;
    else
        (void)snprintf(suited->worker, sizeof(suited->worker), "%.64s", worker ? worker : "?");
}

int suited_init(struct suited *suited, struct bus *bus, const char *run, const char *digest)
{
    char subject[NAMES_SUBJECT_SIZE];
    int64_t now = monotonic_ms();
    *suited =
        (struct suited){.bus = bus, .run = run, .digest = digest, .seen_ms = now, .suits_ms = now};
    (void)snprintf(subject, sizeof(subject), "%s.hosts.*", bus_fleet(bus));
    return bus_watch(bus, subject, on_announcement, suited);
}

int64_t suited_check(struct suited *suited, bool waits, int64_t now)
{
    if (!waits || !bus_is_up(suited->bus))
        suited->seen_ms = suited->suits_ms = now;
    if (now - suited->suits_ms < ABSENT_MS)
        return suited->suits_ms + ABSENT_MS;
    if (now - suited->seen_ms >= ABSENT_MS)
        complain("run %s waits: the fleet has no worker now; start one on each host "
                 "(rubricctl fleet worker)",
                 suited->run);
    else
        complain("run %s waits: it began on daemons with the isolation %.12s..., and now none has "
                 "it (worker %s: %.12s...), because a configuration or a version has changed; "
                 "change it back, or give --mix to run the rest all the same",
                 suited->run, suited->digest, suited->worker, suited->other);
    suited->seen_ms = suited->suits_ms = now; /* say it again after a while */
    return now + ABSENT_MS;
}
