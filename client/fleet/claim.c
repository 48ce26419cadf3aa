/* SPDX-License-Identifier: MIT */
#include "claim.h"

#include "names.h"

#include <assert.h>
#include <string.h>
#include <sys/utsname.h>

/* Another one answers in this time. */
#define CLAIM_MS 1000
#define HOST_MAX 64

static void on_claim(void *arg, natsMsg *message)
{
    struct bus *bus = arg;
    const char *reply = natsMsg_GetReply(message);
    if (reply)
        (void)bus_publish(bus, reply, NULL, "", 0);
}

int claim_name(struct bus *bus, enum claim_kind kind, const char *name, struct fault *fault)
{
    static const char *const subjects[] = {[CLAIM_SERVE] = "serving", [CLAIM_WORKER] = "working"},
                             *const programs[] = {
                                 [CLAIM_SERVE] = "serve", [CLAIM_WORKER] = "worker"};
    char subject[NAMES_SUBJECT_SIZE];
    natsMsg *answer = NULL;
    natsConnection *connection = bus_connection(bus);
    (void)snprintf(subject, sizeof(subject), "%s.%s.%s", bus_fleet(bus), subjects[kind], name);
    if (connection &&
        natsConnection_RequestString(&answer, connection, subject, "", CLAIM_MS) == NATS_OK) {
        natsMsg_Destroy(answer);
        (void)fault_set(fault,
                        "another fleet %s of the fleet %s is called %s and runs: give one of them "
                        "another --name",
                        programs[kind], bus_fleet(bus), name);
        return -EBUSY;
    }
    return bus_watch(bus, subject, on_claim, bus);
}

size_t claim_host(size_t max, char *ret)
{
    struct utsname host = {.nodename = "host"};
    assert(max <= HOST_MAX);
    (void)uname(&host);
    (void)snprintf(ret, max + 1, "%s", host.nodename);
    for (char *c = ret; *c; c++)
        if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-", *c))
            *c = '-';
    return strlen(ret);
}
