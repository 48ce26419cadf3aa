/* SPDX-License-Identifier: MIT */
#include "servepast.h"

#include "api.h"

#include "client/terminal/text.h"
#include "proto/json.h"

#include <inttypes.h>
#include <string.h>

/* Digits of an instance. */
#define INSTANCE_LENGTH 8

bool servepast_is_mine(const struct servepast *past, const char *run)
{
    static const char hex[] = "0123456789abcdef", decimal[] = "0123456789";
    char head[NAMES_RUN_MAX + 8];
    int n = snprintf(head, sizeof(head), NAMES_SERVE_HEAD "%s-", past->name);
    if (strncmp(run, head, (size_t)n) != 0)
        return false;
    const char *instance = run + n;
    if (strspn(instance, hex) != INSTANCE_LENGTH || instance[INSTANCE_LENGTH] != '-' ||
        strncmp(instance, past->instance, INSTANCE_LENGTH) == 0)
        return false;
    const char *uid = instance + INSTANCE_LENGTH + 1;
    size_t digits = strspn(uid, decimal);
    return digits > 0 && uid[digits] == '-' && uid[digits + 1] &&
           uid[digits + 1 + strspn(uid + digits + 1, decimal)] == '\0';
}

static bool on_done(_unused_ void *arg, natsMsg *reply)
{
    struct api_answer answer;
    api_read(reply, &answer);
    return answer.outcome == API_AGAIN;
}

static void purge(const struct servepast *past, enum fleet_stream stream, const char *run)
{
    char subject[API_SUBJECT_SIZE], all[NAMES_SUBJECT_SIZE], text[API_PURGE_SIZE];
    names_of_run(bus_fleet(past->bus), stream, run, ">", all);
    size_t n = api_purge(bus_fleet(past->bus), stream, all, subject, text);
    (void)bus_request(past->bus, subject, NULL, text, n, on_done, NULL);
}

/* Takes CONSUMER away, and all of its run. What a worker has in hand ends, and is not heard of. */
static void clear(struct servepast *past, const char *consumer)
{
    char run[NAMES_RUN_MAX + 1], subject[API_SUBJECT_SIZE];
    int64_t priority;
    if (!consumer || !names_read_consumer(consumer, run, &priority) ||
        !servepast_is_mine(past, run))
        return;
    past->n++;
    api_subject("CONSUMER.DELETE", bus_fleet(past->bus), STREAM_JOBS, consumer, subject,
                sizeof(subject));
    (void)bus_request(past->bus, subject, NULL, "", 0, on_done, NULL);
    purge(past, STREAM_JOBS, run);
    purge(past, STREAM_RESULTS, run);
    purge(past, STREAM_MARKS, run);
}

static void ask(struct servepast *past);

static bool on_list(void *arg, natsMsg *reply)
{
    struct servepast *past = arg;
    _cleanup_json_ json_t *page = NULL;
    struct fault fault = FAULT_NULL;
    if (json_read_object(natsMsg_GetData(reply), (size_t)natsMsg_GetDataLength(reply), &page,
                         &fault) < 0)
        return true;
    const json_t *names = json_object_get(page, "consumers");
    for (size_t i = 0; i < json_array_size(names); i++)
        clear(past, json_string_value(json_array_get(names, i)));
    past->offset += (int64_t)json_array_size(names);
    if (json_array_size(names) > 0 &&
        past->offset < json_integer_value(json_object_get(page, "total")))
        ask(past);
    else if (past->n > 0)
        complain("took away %zu queue%s of an earlier fleet serve %s that did not end by itself",
                 past->n, text_plural(past->n), past->name);
    return false;
}

static void ask(struct servepast *past)
{
    char subject[API_SUBJECT_SIZE], text[64];
    api_subject("CONSUMER.NAMES", bus_fleet(past->bus), STREAM_JOBS, NULL, subject,
                sizeof(subject));
    int n = snprintf(text, sizeof(text), "{\"offset\":%" PRId64 "}", past->offset);
    (void)bus_request(past->bus, subject, NULL, text, (size_t)n, on_list, past);
}

void servepast_clear(struct servepast *past, struct bus *bus, const char *name,
                     const char *instance)
{
    *past = (struct servepast){.bus = bus, .name = name, .instance = instance};
    ask(past);
}
