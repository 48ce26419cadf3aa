/* SPDX-License-Identifier: MIT */
#include "hosts.h"

#include "announce.h"
#include "names.h"

#include "proto/json.h"
#include "proto/reply.h"

#include <string.h>

/* A client may have so many jobs in the queue for each slot of the fleet. */
#define JOBS_PER_SLOT 64
#define QUEUE_JOBS 1000000

static natsStatus add_host(jsCtx *js, const char *stream, const char *subject, json_t *hosts)
{
    natsMsg *message = NULL;
    jsErrCode code = 0;
    json_t *host = NULL;
    struct fault fault = FAULT_NULL;
    natsStatus status = js_GetLastMsg(&message, js, stream, subject, NULL, &code);
    if (status != NATS_OK)
        return status == NATS_NOT_FOUND ? NATS_OK : status; /* it has become too old meanwhile */
    if (json_read_object(natsMsg_GetData(message), (size_t)natsMsg_GetDataLength(message), &host,
                         &fault) == 0) {
        if (!announce_has_stopped(host))
            (void)json_array_append(hosts, host);
        json_decref(host);
    }
    natsMsg_Destroy(message);
    return NATS_OK;
}

static int by_name(const void *left, const void *right)
{
    return strcmp(*(const char *const *)left, *(const char *const *)right);
}

/* Reads the announcements of SUBJECTS, in the order of their names. */
static natsStatus add_hosts(jsCtx *js, const char *stream, const jsStreamStateSubjects *subjects,
                            json_t *hosts)
{
    size_t n = subjects ? (size_t)subjects->Count : 0;
    _cleanup_free_ const char **names = calloc(MAX(n, (size_t)1), sizeof(*names));
    natsStatus status = names ? NATS_OK : NATS_NO_MEMORY;
    for (size_t i = 0; status == NATS_OK && i < n; i++)
        names[i] = subjects->List[i].Subject;
    if (status == NATS_OK)
        qsort(names, n, sizeof(*names), by_name);
    for (size_t i = 0; status == NATS_OK && i < n; i++)
        status = add_host(js, stream, names[i], hosts);
    return status;
}

int hosts_read(struct bus *bus, json_t **ret, struct fault *fault)
{
    char stream[NAMES_SUBJECT_SIZE];
    jsCtx *js = NULL;
    jsStreamInfo *info = NULL;
    jsErrCode code = 0;
    jsOptions options;
    json_t *hosts = json_array();
    names_stream(bus_fleet(bus), STREAM_HOSTS, stream);
    (void)jsOptions_Init(&options);
    options.Stream.Info.SubjectsFilter = ">";
    natsStatus status = natsConnection_JetStream(&js, bus_connection(bus), NULL);
    if (status == NATS_OK)
        status = js_GetStreamInfo(&info, js, stream, &options, &code);
    bool is_there = status != NATS_NOT_FOUND;
    if (status == NATS_OK)
        status = add_hosts(js, stream, info->State.Subjects, hosts);
    jsStreamInfo_Destroy(info);
    jsCtx_Destroy(js);
    if (status != NATS_OK) {
        (void)fault_set(fault, "cannot read the stream %s: %s", stream,
                        is_there ? natsStatus_GetText(status)
                                 : "there is none: run `rubricctl fleet init`");
        json_decref(hosts);
        return is_there ? -EAGAIN : -ENOENT;
    }
    *ret = hosts;
    return 0;
}

static const char *text_of(const json_t *object, const char *name)
{
    const char *text = json_string_value(json_object_get(object, name));
    return text ? text : "?";
}

int hosts_check_alike(const json_t *hosts, struct fault *fault)
{
    const json_t *first = NULL;
    const char *first_name = NULL;
    for (size_t i = 0; i < json_array_size(hosts); i++) {
        const json_t *host = json_array_get(hosts, i), *daemons = json_object_get(host, "daemons");
        for (size_t j = 0; j < json_array_size(daemons); j++) {
            const json_t *daemon = json_array_get(daemons, j);
            if (first && strcmp(text_of(first, "digest"), text_of(daemon, "digest")) != 0)
                return fault_set(fault,
                                 "the hosts of the fleet confine jobs differently, so that their "
                                 "scores are not comparable: %.60s has the isolation %.12s..., "
                                 "%.60s has %.12s...; --mix runs the jobs all the same",
                                 first_name, text_of(first, "digest"), text_of(host, "worker"),
                                 text_of(daemon, "digest"));
            first_name = first ? first_name : text_of(host, "worker");
            first = first ? first : daemon;
        }
    }
    return 0;
}

int64_t hosts_slots(const json_t *hosts)
{
    int64_t slots = 0;
    for (size_t i = 0; i < json_array_size(hosts); i++)
        slots += json_integer_value(json_object_get(json_array_get(hosts, i), "slots"));
    return slots;
}

const char *hosts_digest(const json_t *hosts)
{
    const json_t *daemons = json_object_get(json_array_get(hosts, 0), "daemons");
    return text_of(json_array_get(daemons, 0), "digest");
}

json_t *hosts_hello(const json_t *hosts)
{
    json_t *host = json_array_get(hosts, 0);
    json_int_t slots = (json_int_t)hosts_slots(hosts), max_frame = 0;
    _cleanup_json_ json_t *limits = json_copy(json_object_get(host, "limits"));
    for (size_t i = 0; i < json_array_size(hosts); i++) {
        json_int_t of_host =
            json_integer_value(json_object_get(json_array_get(hosts, i), "max_frame"));
        max_frame = max_frame == 0 ? of_host : MIN(max_frame, of_host);
    }
    if (!limits || json_object_set_new(limits, "slots", json_integer(MAX(slots, 1))) < 0 ||
        json_object_set_new(limits, "max_frame", json_integer(max_frame)) < 0 ||
        json_object_set_new(limits, "queue_jobs", json_integer(QUEUE_JOBS)) < 0 ||
        json_object_set_new(limits, "jobs_per_client",
                            json_integer(MAX(slots, 16) * JOBS_PER_SLOT)) < 0)
        return NULL;
    return json_pack("{s:s,s:s,s:O,s:i,s:b,s:O,s:O,s:O?}", "type", "hello", "software", "rubricd",
                     "version", json_object_get(host, "version"), "protocol", PROTOCOL_VERSION,
                     "reruns_starved", true, "limits", limits, "isolation",
                     json_object_get(host, "isolation"), "interpreter",
                     json_object_get(host, "interpreter"));
}
