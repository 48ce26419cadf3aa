/* SPDX-License-Identifier: MIT */
#include "streams.h"

#include <inttypes.h>
#include <string.h>

#define SECOND_NS INT64_C(1000000000)
/* A host that has not said anything for so long is gone. */
#define HOSTS_KEEP_S 20
/* Dead letters of one job. */
#define DEAD_PER_JOB 16

struct stream_plan {
    jsStreamConfig config;
    char name[NAMES_SUBJECT_SIZE], subject[NAMES_SUBJECT_SIZE];
    const char *subjects[1];
};

/* One message for each subject. A stream that is full refuses another and loses none that it has.
 */
static void keep_one(jsStreamConfig *config)
{
    config->MaxMsgsPerSubject = 1;
    config->Discard = js_DiscardNew;
}

/* The first message of each subject wins, and the server says so to whoever sends another. */
static void keep_first(jsStreamConfig *config)
{
    keep_one(config);
    config->DiscardNewPerSubject = true;
}

static void plan_kind(enum fleet_stream stream, const struct streams_wish *wish,
                      jsStreamConfig *config)
{
    switch (stream) {
    case STREAM_JOBS:
        config->Retention = js_WorkQueuePolicy; /* what is acknowledged goes */
        config->MaxAge = 0;
        config->MaxBytes = wish->max_bytes;
        keep_first(config);
        break;
    case STREAM_RESULTS:
        config->MaxBytes = wish->max_bytes;
        keep_first(config);
        break;
    case STREAM_INPUTS:
        /* All messages of a subject are equal, so the last one may win. If the first one had to,
         * two copies of the stream that lost different messages could never become equal again:
         * nats-server 2.9 stores what a copy lacks under the same rule, and gives up. */
        config->MaxBytes = wish->max_bytes;
        keep_one(config);
        break;
    case STREAM_MARKS:
        config->MaxMsgsPerSubject = 1;
        break;
    case STREAM_DEAD:
        config->MaxMsgsPerSubject = DEAD_PER_JOB;
        break;
    case STREAM_HOSTS:
        config->MaxMsgsPerSubject = 1;
        config->MaxAge = HOSTS_KEEP_S * SECOND_NS;
        config->Duplicates = HOSTS_KEEP_S * SECOND_NS;
        /* In a file: a single server forgets streams in memory when it starts again. */
        break;
    case FLEET_STREAMS:
        break;
    }
}

static void make_plan(const struct streams_wish *wish, enum fleet_stream stream,
                      struct stream_plan *ret)
{
    (void)jsStreamConfig_Init(&ret->config);
    names_stream(wish->fleet, stream, ret->name);
    names_all(wish->fleet, stream, ret->subject);
    ret->subjects[0] = ret->subject;
    ret->config.Name = ret->name;
    ret->config.Subjects = ret->subjects;
    ret->config.SubjectsLen = 1;
    ret->config.Replicas = wish->replicas;
    ret->config.MaxAge = wish->keep_s * SECOND_NS;
    ret->config.AllowDirect = true;
    plan_kind(stream, wish, &ret->config);
}

/* Says that the call WHAT on stream NAME failed. */
static int refuse(struct bus *bus, const char *what, const char *name, natsStatus status,
                  jsErrCode code, struct fault *fault)
{
    natsStatus last = NATS_OK;
    const char *detail = nats_GetLastError(&last), *refusal = NULL;
    /* The server does not answer what it does not permit. */
    (void)natsConnection_GetLastError(bus_connection(bus), &refusal);
    if (status == NATS_TIMEOUT && refusal && strstr(refusal, "ermissions"))
        (void)fault_set(fault,
                        "cannot %s the stream %s: the NATS server does not permit it to this user: "
                        "%s",
                        what, name, refusal);
    else if (status == NATS_TIMEOUT)
        (void)fault_set(fault,
                        "cannot %s the stream %s: the NATS server did not answer in time: it is "
                        "slow, or stuck, as when its disk is full (make room, then restart it)",
                        what, name);
    else if (code == JSNotEnabledErr || code == JSNotEnabledForAccountErr ||
             status == NATS_NO_RESPONDERS)
        (void)fault_set(fault,
                        "the NATS server has no JetStream%s: start it with -js, or set `jetstream` "
                        "in its configuration; if it is set, nats-server has disabled it, as when "
                        "its disk is full: see its log",
                        code == JSNotEnabledForAccountErr ? " for this account" : "");
    else if (code == JSStreamReplicasNotSupportedErr)
        (void)fault_set(fault,
                        "cannot %s the stream %s: the NATS server is not in a cluster, so it can "
                        "keep each stream only once: use --replicas 1",
                        what, name);
    else
        (void)fault_set(fault, "cannot %s the stream %s: %s", what, name,
                        detail && *detail ? detail : natsStatus_GetText(status));
    return status == NATS_TIMEOUT ? -ETIMEDOUT : -EIO;
}

/* Adds "NAME OLD -> NEW" to WHAT if they differ. */
static void note(char what[FAULT_MAX], const char *name, int64_t old, int64_t new)
{
    size_t used = strlen(what);
    if (old != new &&used < FAULT_MAX)
        (void)snprintf(what + used, FAULT_MAX - used, "%s%s %" PRId64 " -> %" PRId64,
                       used > 0 ? ", " : "", name, old, new);
}

static void note_subjects(char what[FAULT_MAX], const jsStreamConfig *is, const char *wish)
{
    size_t used = strlen(what);
    bool is_same = is->SubjectsLen == 1 && strcmp(is->Subjects[0], wish) == 0;
    if (!is_same && used < FAULT_MAX)
        (void)snprintf(what + used, FAULT_MAX - used, "%ssubjects %s%s -> %s", used > 0 ? ", " : "",
                       is->SubjectsLen > 0 ? is->Subjects[0] : "(none)",
                       is->SubjectsLen > 1 ? ", ..." : "", wish);
}

/* What the server tells of a limit that is not set. */
static int64_t limit_of(int64_t wish)
{
    return wish > 0 ? wish : -1;
}

/* Compares what the fleet relies on, whatever the operator has chosen. */
static void compare_nature(const jsStreamConfig *is, const jsStreamConfig *wish,
                           char what[FAULT_MAX])
{
    note(what, "max_msgs", is->MaxMsgs, limit_of(wish->MaxMsgs));
    note(what, "max_msg_size", is->MaxMsgSize, limit_of(wish->MaxMsgSize));
    note(what, "max_consumers", is->MaxConsumers, limit_of(wish->MaxConsumers));
    note(what, "max_msgs_per_subject", is->MaxMsgsPerSubject, wish->MaxMsgsPerSubject);
    note(what, "discard new", is->Discard == js_DiscardNew, wish->Discard == js_DiscardNew);
    note(what, "discard_new_per_subject", is->DiscardNewPerSubject, wish->DiscardNewPerSubject);
    note(what, "retention", (int64_t)is->Retention, (int64_t)wish->Retention);
    note(what, "allow_direct", is->AllowDirect, wish->AllowDirect);
    note(what, "sealed", is->Sealed, false);
    note(what, "deny_delete", is->DenyDelete, false);
    note(what, "deny_purge", is->DenyPurge, false);
    note(what, "no_ack", is->NoAck, false);
    note_subjects(what, is, wish->Subjects[0]);
}

static void compare(const jsStreamConfig *is, const jsStreamConfig *wish, char what[FAULT_MAX])
{
    what[0] = '\0';
    note(what, "replicas", is->Replicas, wish->Replicas);
    note(what, "max_age (s)", is->MaxAge / SECOND_NS, wish->MaxAge / SECOND_NS);
    note(what, "max_bytes", is->MaxBytes, limit_of(wish->MaxBytes));
    note(what, "storage", (int64_t)is->Storage, (int64_t)wish->Storage);
    compare_nature(is, wish, what);
}

static int open_js(struct bus *bus, jsCtx **ret, struct fault *fault)
{
    if (natsConnection_JetStream(ret, bus_connection(bus), NULL) == NATS_OK)
        return 0;
    (void)fault_set(fault, "out of memory");
    return -ENOMEM;
}

int streams_compare(struct bus *bus, const struct streams_wish *wish, enum fleet_stream stream,
                    enum streams_change *ret, char ret_what[FAULT_MAX], struct fault *fault)
{
    struct stream_plan plan;
    jsStreamInfo *info = NULL;
    jsErrCode code = 0;
    jsCtx *js = NULL;
    int r = open_js(bus, &js, fault);
    if (r < 0)
        return r;
    make_plan(wish, stream, &plan);
    natsStatus status = js_GetStreamInfo(&info, js, plan.name, NULL, &code);
    ret_what[0] = '\0';
    if (status == NATS_OK) {
        compare(info->Config, &plan.config, ret_what);
        *ret = *ret_what ? STREAMS_UPDATE : STREAMS_SAME;
    } else if (status == NATS_NOT_FOUND) {
        *ret = STREAMS_CREATE;
    } else {
        r = refuse(bus, "look at", plan.name, status, code, fault);
    }
    jsStreamInfo_Destroy(info);
    jsCtx_Destroy(js);
    return r;
}

/* Makes a stream anew, whose storage the server would not change: OLD is how it is. What was in it
 * comes again. If the new one is refused, the old one is put back. */
static int replace_stream(struct bus *bus, jsCtx *js, jsStreamConfig *old, jsStreamConfig *config,
                          struct fault *fault)
{
    struct fault why = FAULT_NULL;
    jsErrCode code = 0;
    natsStatus status = js_DeleteStream(js, config->Name, NULL, &code);
    if (status != NATS_OK)
        return refuse(bus, "change", config->Name, status, code, fault);
    status = js_AddStream(NULL, js, config, NULL, &code);
    if (status == NATS_OK)
        return 0;
    int r = refuse(bus, "change", config->Name, status, code, &why);
    bool is_back = js_AddStream(NULL, js, old, NULL, &code) == NATS_OK;
    (void)fault_set(fault, "%.*s; %s", FAULT_MAX - 100, why.text,
                    is_back ? "it is as it was, but empty"
                            : "it is gone, and the fleet needs it: run `rubricctl fleet init`");
    return r;
}

static int update(struct bus *bus, jsCtx *js, jsStreamConfig *config, bool can_replace,
                  struct fault *fault)
{
    jsStreamInfo *old = NULL;
    jsErrCode code = 0;
    int r = 0;
    natsStatus status = js_GetStreamInfo(&old, js, config->Name, NULL, &code);
    bool is_anew = status == NATS_OK && can_replace && old->Config->Storage != config->Storage;
    if (is_anew)
        r = replace_stream(bus, js, old->Config, config, fault);
    else if (status == NATS_OK)
        status = js_UpdateStream(NULL, js, config, NULL, &code);
    if (status != NATS_OK)
        r = refuse(bus, "change", config->Name, status, code, fault);
    jsStreamInfo_Destroy(old);
    return r;
}

/* Checks that the server can keep the replicas that CONFIG has, which differs from the stream that
 * is there. A server without a cluster lets a stream be changed to any number, and does nothing
 * about it; it refuses to create one. If it can, it says that the name is taken. */
static int check_replicas(struct bus *bus, jsCtx *js, jsStreamConfig *config, struct fault *fault)
{
    jsErrCode code = 0;
    if (config->Replicas <= 1)
        return 0;
    natsStatus status = js_AddStream(NULL, js, config, NULL, &code);
    if (status == NATS_OK || code != JSStreamReplicasNotSupportedErr)
        return 0;
    return refuse(bus, "change", config->Name, status, code, fault);
}

static int create(struct bus *bus, jsCtx *js, jsStreamConfig *config, struct fault *fault)
{
    jsErrCode code = 0;
    natsStatus status = js_AddStream(NULL, js, config, NULL, &code);
    return status == NATS_OK ? 0 : refuse(bus, "create", config->Name, status, code, fault);
}

int streams_apply(struct bus *bus, const struct streams_wish *wish, enum fleet_stream stream,
                  enum streams_change change, struct fault *fault)
{
    struct stream_plan plan;
    jsCtx *js = NULL;
    int r = open_js(bus, &js, fault);
    if (r < 0)
        return r;
    make_plan(wish, stream, &plan);
    if (change == STREAMS_CREATE)
        r = create(bus, js, &plan.config, fault);
    else if (change == STREAMS_UPDATE)
        r = check_replicas(bus, js, &plan.config, fault);
    if (r == 0 && change == STREAMS_UPDATE)
        r = update(bus, js, &plan.config, stream == STREAM_HOSTS, fault);
    jsCtx_Destroy(js);
    return r;
}

/* Checks that the stream is there, and as the fleet needs it. */
static int check_stream(struct bus *bus, jsCtx *js, enum fleet_stream stream, struct fault *fault)
{
    const struct streams_wish wish = {.fleet = bus_fleet(bus), .replicas = 1};
    char what[FAULT_MAX] = "";
    struct stream_plan plan;
    jsStreamInfo *info = NULL;
    jsErrCode code = 0;
    int r = 0;
    make_plan(&wish, stream, &plan);
    natsStatus status = js_GetStreamInfo(&info, js, plan.name, NULL, &code);
    if (status == NATS_OK)
        compare_nature(info->Config, &plan.config, what);
    if (status == NATS_NOT_FOUND) {
        (void)fault_set(fault, "the NATS server has no stream %s: run `rubricctl fleet init`",
                        plan.name);
        r = -ENOENT;
    } else if (status != NATS_OK) {
        r = refuse(bus, "look at", plan.name, status, code, fault);
    } else if (*what) {
        (void)fault_set(fault,
                        "the stream %s is not as the fleet needs it (%.300s): run `rubricctl fleet "
                        "init`",
                        plan.name, what);
        r = -EINVAL;
    }
    jsStreamInfo_Destroy(info);
    return r;
}

int streams_check(struct bus *bus, struct fault *fault)
{
    jsCtx *js = NULL;
    int r = open_js(bus, &js, fault);
    for (enum fleet_stream stream = 0; r == 0 && stream < FLEET_STREAMS; stream++)
        r = check_stream(bus, js, stream, fault);
    jsCtx_Destroy(js);
    return r;
}
