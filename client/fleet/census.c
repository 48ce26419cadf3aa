/* SPDX-License-Identifier: MIT */
#include "census.h"

#include "announce.h"
#include "names.h"

#include "client/terminal/text.h"
#include "proto/json.h"

#include <inttypes.h>
#include <string.h>

/* An announcement counts for so long: four that did not come. */
#define KEEP_MS 20000
/* After the first worker was heard of, the others have so long to say that they are there. */
#define SETTLE_MS 500
/* Ask again if nobody is there. */
#define ASK_MS 1000
#define ANSWER_MS 1000

static const char *const questions[CENSUS_QUESTIONS] = {
    [CENSUS_STATUS] = CENSUS_ASK_STATUS,
    [CENSUS_METRICS] = CENSUS_ASK_METRICS,
};

static void publish_question(struct census *census, const char *what, const char *reply)
{
    char subject[NAMES_SUBJECT_SIZE];
    (void)snprintf(subject, sizeof(subject), "%s.ask", bus_fleet(census->bus));
    (void)bus_publish(census->bus, subject, reply, what, strlen(what));
}

/* --- who is there ------------------------------------------------------------------------- */

static void on_announced(void *arg, natsMsg *message)
{
    struct census *census = arg;
    const char *worker = names_last(natsMsg_GetSubject(message));
    struct fault fault = FAULT_NULL;
    json_t *about = NULL;
    int64_t now = monotonic_ms();
    if (json_read_object(natsMsg_GetData(message), (size_t)natsMsg_GetDataLength(message), &about,
                         &fault) < 0)
        return;
    if (announce_has_stopped(about)) {
        (void)json_object_del(census->hosts, worker);
        json_decref(about);
        return;
    }
    census->first_ms = MIN(census->first_ms, now);
    (void)json_object_set_new(census->hosts, worker,
                              json_pack("{s:o,s:I}", "about", about, "seen_ms", (json_int_t)now));
}

static void drop_old(struct census *census, int64_t now)
{
    const char *worker;
    json_t *host;
    void *next;
    json_object_foreach_safe(census->hosts, next, worker, host)
    {
        if (json_integer_value(json_object_get(host, "seen_ms")) + KEEP_MS < now)
            (void)json_object_del(census->hosts, worker);
    }
}

static int by_name(const void *left, const void *right)
{
    return strcmp(*(const char *const *)left, *(const char *const *)right);
}

json_t *census_hosts(struct census *census, int64_t now)
{
    drop_old(census, now);
    size_t n = 0, most = json_object_size(census->hosts);
    _cleanup_free_ const char **names = calloc(MAX(most, (size_t)1), sizeof(*names));
    json_t *list = json_array();
    const char *worker;
    json_t *host;
    if (!names || !list) {
        json_decref(list);
        return NULL;
    }
    json_object_foreach(census->hosts, worker, host) names[n++] = worker;
    qsort(names, n, sizeof(*names), by_name);
    for (size_t i = 0; i < n; i++)
        (void)json_array_append(list,
                                json_object_get(json_object_get(census->hosts, names[i]), "about"));
    return list;
}

bool census_is_settled(const struct census *census, int64_t now)
{
    return census->first_ms != INT64_MAX && now >= census->first_ms + SETTLE_MS;
}

/* --- what their daemons say --------------------------------------------------------------- */

static void end_poll(struct census_poll *poll)
{
    _cleanup_json_ json_t *answers = TAKE_PTR(poll->answers);
    struct census_asker *asker;
    while ((asker = poll->askers) != NULL) {
        poll->askers = asker->next;
        asker->told(asker->arg, answers);
        free(asker);
    }
}

/* Subjects of answers end in the number of the poll. */
static void on_answer(void *arg, natsMsg *message)
{
    struct census *census = arg;
    uint64_t number = strtoull(names_last(natsMsg_GetSubject(message)), NULL, 10);
    const char *data = natsMsg_GetData(message);
    size_t n = (size_t)natsMsg_GetDataLength(message);
    struct fault fault = FAULT_NULL;
    for (size_t i = 0; i < CENSUS_QUESTIONS; i++) {
        struct census_poll *poll = &census->polls[i];
        json_t *answer = NULL;
        if (!poll->answers || poll->number != number)
            continue;
        if (i == CENSUS_METRICS)
            answer = json_text(data, n);
        else
            (void)json_read_object(data, n, &answer, &fault);
        if (answer)
            (void)json_array_append_new(poll->answers, answer);
        if (json_array_size(poll->answers) >= poll->expected)
            end_poll(poll);
    }
}

static size_t count_daemons(struct census *census)
{
    const char *worker;
    json_t *host;
    size_t n = 0;
    json_object_foreach(census->hosts, worker, host) n +=
        json_array_size(json_object_get(json_object_get(host, "about"), "daemons"));
    return n;
}

static void begin_poll(struct census *census, enum census_question question)
{
    struct census_poll *poll = &census->polls[question];
    char reply[BUS_INBOX_SIZE + 24];
    int64_t now = monotonic_ms();
    drop_old(census, now);
    poll->answers = json_array();
    poll->number = ++census->last_number;
    poll->expected = count_daemons(census);
    poll->until_ms = poll->expected > 0 && bus_is_up(census->bus) ? now + ANSWER_MS : now;
    (void)snprintf(reply, sizeof(reply), "%s.%" PRIu64, census->inbox, poll->number);
    publish_question(census, questions[question], reply);
}

void census_ask(struct census *census, enum census_question question, census_told *told, void *arg)
{
    struct census_asker *asker = malloc(sizeof(*asker));
    if (!asker) {
        told(arg, NULL);
        return;
    }
    *asker = (struct census_asker){told, arg, census->polls[question].askers};
    census->polls[question].askers = asker;
    if (!census->polls[question].answers)
        begin_poll(census, question);
}

void census_forget(struct census *census, const void *arg)
{
    for (size_t i = 0; i < CENSUS_QUESTIONS; i++) {
        struct census_asker **at = &census->polls[i].askers;
        while (*at) {
            struct census_asker *asker = *at;
            if (asker->arg != arg) {
                at = &asker->next;
                continue;
            }
            *at = asker->next;
            free(asker);
        }
    }
}

void census_tick(struct census *census, int64_t now)
{
    for (size_t i = 0; i < CENSUS_QUESTIONS; i++)
        if (census->polls[i].answers && now >= census->polls[i].until_ms)
            end_poll(&census->polls[i]);
    bool is_new = census->epoch != bus_epoch(census->bus);
    bool is_empty = json_object_size(census->hosts) == 0 && now >= census->asked_ms + ASK_MS;
    if (!bus_is_up(census->bus) || (!is_new && !is_empty))
        return;
    census->epoch = bus_epoch(census->bus);
    census->asked_ms = now;
    publish_question(census, CENSUS_ASK_ANNOUNCE, NULL);
}

/* --- making and ending -------------------------------------------------------------------- */

int census_init(struct census *census, struct bus *bus)
{
    char subject[NAMES_SUBJECT_SIZE], all[BUS_INBOX_SIZE + 2];
    *census = (struct census){
        .bus = bus,
        .hosts = json_object(),
        .first_ms = INT64_MAX,
        .asked_ms = INT64_MIN / 2,
        .epoch = bus_epoch(bus),
    };
    if (!census->hosts)
        return -ENOMEM;
    bus_new_inbox(bus, census->inbox);
    (void)snprintf(all, sizeof(all), "%s.*", census->inbox);
    (void)snprintf(subject, sizeof(subject), "%s.hosts.*", bus_fleet(bus));
    int r = bus_watch(bus, subject, on_announced, census);
    return r < 0 ? r : bus_watch(bus, all, on_answer, census);
}

void census_deinit(struct census *census)
{
    for (size_t i = 0; i < CENSUS_QUESTIONS; i++) {
        struct census_asker *asker;
        while ((asker = census->polls[i].askers) != NULL) {
            census->polls[i].askers = asker->next;
            free(asker);
        }
        json_decref(census->polls[i].answers);
    }
    json_decref(census->hosts);
}
