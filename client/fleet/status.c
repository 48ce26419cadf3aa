/* SPDX-License-Identifier: MIT */
#include "commands.h"
#include "copies.h"
#include "hosts.h"
#include "streams.h"

#include "client/terminal/json.h"
#include "client/terminal/screen.h"
#include "client/terminal/table.h"
#include "client/terminal/text.h"
#include "proto/json.h"

#include <inttypes.h>
#include <string.h>

#define COLUMNS_DEFAULT 80
/* Show so many dead letters. */
#define DEAD_SHOWN_MAX 10
#define CELL_MAX 32

struct status_options {
    bool json;
};

/* --- what the server says ----------------------------------------------------------------- */

static int refuse(natsStatus status, struct fault *fault)
{
    natsStatus last = NATS_OK;
    const char *detail = nats_GetLastError(&last);
    (void)fault_set(fault, "the NATS server does not say how the fleet is: %s",
                    detail && *detail ? detail : natsStatus_GetText(status));
    return -EIO;
}

static json_t *queue_row(const jsConsumerInfo *info)
{
    char run[NAMES_RUN_MAX + 1];
    int64_t priority;
    if (!names_read_consumer(info->Name, run, &priority))
        return NULL;
    return json_pack("{s:s,s:I,s:I,s:I,s:I}", "run", run, "priority", (json_int_t)priority,
                     "waiting", (json_int_t)info->NumPending, "in_work",
                     (json_int_t)info->NumAckPending, "redelivered",
                     (json_int_t)info->NumRedelivered);
}

/* Lists the queues of the runs. */
static int read_queue(jsCtx *js, const char *fleet, json_t *ret, struct fault *fault)
{
    char stream[NAMES_SUBJECT_SIZE];
    jsConsumerInfoList *list = NULL;
    jsErrCode code = 0;
    names_stream(fleet, STREAM_JOBS, stream);
    natsStatus status = js_Consumers(&list, js, stream, NULL, &code);
    for (int i = 0; status == NATS_OK && list && i < list->Count; i++) {
        json_t *row = queue_row(list->List[i]);
        if (row)
            (void)json_array_append_new(ret, row);
    }
    jsConsumerInfoList_Destroy(list);
    return status == NATS_OK || status == NATS_NOT_FOUND ? 0 : refuse(status, fault);
}

/* Reads the dead letters on the first few of SUBJECTS. */
static void read_letters(jsCtx *js, const char *stream, const jsStreamStateSubjects *subjects,
                         json_t *ret)
{
    for (int i = 0; subjects && i < subjects->Count && i < DEAD_SHOWN_MAX; i++) {
        natsMsg *message = NULL;
        jsErrCode code = 0;
        struct fault fault = FAULT_NULL;
        json_t *letter = NULL;
        if (js_GetLastMsg(&message, js, stream, subjects->List[i].Subject, NULL, &code) ==
                NATS_OK &&
            json_read_object(natsMsg_GetData(message), (size_t)natsMsg_GetDataLength(message),
                             &letter, &fault) == 0)
            (void)json_array_append_new(ret, letter);
        natsMsg_Destroy(message);
    }
}

/* What the streams have. */
struct contents {
    json_int_t n[FLEET_STREAMS];   /* messages */
    json_t *letters, *late_copies; /* arrays */
};

static int read_stream(jsCtx *js, const char *fleet, enum fleet_stream which,
                       struct contents *contents, struct fault *fault)
{
    char stream[NAMES_SUBJECT_SIZE];
    json_t *letters = which == STREAM_DEAD ? contents->letters : NULL;
    jsStreamInfo *info = NULL;
    jsErrCode code = 0;
    jsOptions options;
    names_stream(fleet, which, stream);
    (void)jsOptions_Init(&options);
    if (letters)
        options.Stream.Info.SubjectsFilter = ">";
    natsStatus status = js_GetStreamInfo(&info, js, stream, &options, &code);
    if (status == NATS_OK) {
        contents->n[which] = (json_int_t)info->State.Msgs;
        copies_add(info, contents->late_copies);
        read_letters(js, stream, letters ? info->State.Subjects : NULL, letters);
    }
    jsStreamInfo_Destroy(info);
    return status == NATS_OK ? 0 : refuse(status, fault);
}

static int read_status(struct bus *bus, json_t **ret, struct fault *fault)
{
    const char *fleet = bus_fleet(bus);
    jsCtx *js = NULL;
    struct fault differ = FAULT_NULL;
    _cleanup_json_ json_t *hosts = NULL, *queue = json_array(), *letters = json_array();
    _cleanup_json_ json_t *late_copies = json_array();
    struct contents contents = {.letters = letters, .late_copies = late_copies};
    int r = streams_check(bus, fault);
    if (r == 0)
        r = hosts_read(bus, &hosts, fault);
    if (r == 0 && natsConnection_JetStream(&js, bus_connection(bus), NULL) != NATS_OK)
        r = -ENOMEM;
    if (r == 0)
        r = read_queue(js, fleet, queue, fault);
    for (enum fleet_stream which = 0; r == 0 && which < FLEET_STREAMS; which++)
        r = read_stream(js, fleet, which, &contents, fault);
    jsCtx_Destroy(js);
    if (r < 0)
        return r;
    bool alike = hosts_check_alike(hosts, &differ) == 0;
    *ret =
        json_pack("{s:s,s:b,s:I,s:I,s:I,s:I,s:O,s:O,s:O,s:O}", "fleet", fleet, "alike", alike,
                  "slots", (json_int_t)hosts_slots(hosts), "jobs", contents.n[STREAM_JOBS],
                  "results", contents.n[STREAM_RESULTS], "dead", contents.n[STREAM_DEAD], "hosts",
                  hosts, "queue", queue, "dead_letters", letters, "late_copies", late_copies);
    return *ret ? 0 : -ENOMEM;
}

/* --- the page ----------------------------------------------------------------------------- */

static json_int_t number(const json_t *object, const char *name)
{
    return json_integer_value(json_object_get(object, name));
}

static const char *text(const json_t *object, const char *name)
{
    const char *value = json_string_value(json_object_get(object, name));
    return value ? value : "?";
}

static const char *count_cell(const json_t *object, const char *name, char out[CELL_MAX])
{
    (void)snprintf(out, CELL_MAX, "%lld", (long long)number(object, name));
    return out;
}

static void put_host(const struct table *table, const json_t *host)
{
    char slots[CELL_MAX], running[CELL_MAX], rate[CELL_MAX], done[CELL_MAX], errors[CELL_MAX];
    char again[CELL_MAX], languages[CELL_MAX], digest[CELL_MAX];
    const json_t *daemons = json_object_get(host, "daemons");
    (void)snprintf(rate, sizeof(rate), "%.1f", json_real_value(json_object_get(host, "rate")));
    (void)snprintf(languages, sizeof(languages), "%zu",
                   json_array_size(json_object_get(host, "languages")));
    (void)snprintf(digest, sizeof(digest), "%.12s", text(json_array_get(daemons, 0), "digest"));
    const char *cells[] = {
        text(host, "worker"),
        count_cell(host, "slots", slots),
        count_cell(host, "running", running),
        rate,
        count_cell(host, "done", done),
        count_cell(host, "errors", errors),
        count_cell(host, "redelivered", again),
        languages,
        digest,
    };
    table_put_row(table, cells, NULL);
}

static void put_hosts(const json_t *hosts, size_t columns)
{
    static const struct table_column of_hosts[] = {
        {.heading = "worker", .width = 8, .most = 24},
        {.heading = "slots", .width = 5, .right = true},
        {.heading = "running", .width = 7, .right = true},
        {.heading = "jobs/s", .width = 6, .right = true},
        {.heading = "done", .width = 7, .right = true},
        {.heading = "errors", .width = 6, .right = true, .rank = 2},
        {.heading = "again", .width = 5, .right = true, .rank = 3},
        {.heading = "lang", .width = 4, .right = true, .rank = 1},
        {.heading = "isolation", .width = 12, .rank = 4},
    };
    struct table table;
    table_init(&table, stdout, of_hosts, ARRAY_SIZE(of_hosts), columns);
    table_put_headings(&table);
    for (size_t i = 0; i < json_array_size(hosts); i++)
        put_host(&table, json_array_get(hosts, i));
}

static void put_queue(const json_t *queue, size_t columns)
{
    static const struct table_column of_queue[] = {
        {.heading = "run", .width = 8, .most = 40},
        {.heading = "priority", .width = 8, .right = true},
        {.heading = "waiting", .width = 8, .right = true},
        {.heading = "in work", .width = 8, .right = true},
        {.heading = "again", .width = 6, .right = true},
    };
    struct table table;
    table_init(&table, stdout, of_queue, ARRAY_SIZE(of_queue), columns);
    (void)fputc('\n', stdout);
    table_put_headings(&table);
    for (size_t i = 0; i < json_array_size(queue); i++) {
        const json_t *row = json_array_get(queue, i);
        char priority[CELL_MAX], waiting[CELL_MAX], in_work[CELL_MAX], again[CELL_MAX];
        const char *cells[] = {
            text(row, "run"),
            count_cell(row, "priority", priority),
            count_cell(row, "waiting", waiting),
            count_cell(row, "in_work", in_work),
            count_cell(row, "redelivered", again),
        };
        table_put_row(&table, cells, NULL);
    }
}

static void put_letters(const json_t *letters)
{
    for (size_t i = 0; i < json_array_size(letters); i++) {
        const json_t *letter = json_array_get(letters, i);
        (void)printf("  run %s, job ", text(letter, "run"));
        text_put(stdout, text(letter, "id"), strlen(text(letter, "id")));
        (void)printf(": %s\n", text(letter, "reason"));
    }
}

static void put_page(const json_t *status)
{
    size_t columns = COLUMNS_DEFAULT, rows = 0;
    const json_t *hosts = json_object_get(status, "hosts");
    const json_t *queue = json_object_get(status, "queue");
    size_t n = json_array_size(hosts);
    screen_size(&columns, &rows);
    (void)printf("fleet %s: %zu worker%s, %lld slots; %lld jobs in the queue, %lld results kept, "
                 "%lld dead letters\n",
                 text(status, "fleet"), n, text_plural(n), (long long)number(status, "slots"),
                 (long long)number(status, "jobs"), (long long)number(status, "results"),
                 (long long)number(status, "dead"));
    if (!json_is_true(json_object_get(status, "alike")))
        (void)printf("the hosts confine jobs differently: a batch needs --mix\n");
    copies_put(json_object_get(status, "late_copies"));
    put_letters(json_object_get(status, "dead_letters"));
    if (n > 0) {
        (void)fputc('\n', stdout);
        put_hosts(hosts, columns);
    }
    if (json_array_size(queue) > 0)
        put_queue(queue, columns);
}

static enum exit_status run_status(const struct globals *globals, const void *options_,
                                   _unused_ const struct text_list *arguments)
{
    const struct status_options *options = options_;
    struct fault fault = FAULT_NULL;
    struct bus *bus = NULL;
    _cleanup_json_ json_t *status = NULL;
    int r = bus_open(&fleet_globals_of(globals)->bus, false, &bus, &fault);
    if (r == 0)
        r = read_status(bus, &status, &fault);
    if (r < 0) {
        complain("%s", *fault.text ? fault.text : strerror(-r));
    } else if (options->json) {
        (void)json_dumpf(status, stdout,
                         (isatty(STDOUT_FILENO) ? JSON_INDENT(2) : JSON_COMPACT) |
                             terminal_json_flags(stdout));
        (void)fputc('\n', stdout);
    } else {
        put_page(status);
    }
    (void)bus_free(bus);
    return r < 0 ? STATUS_NO_DAEMON : STATUS_OK;
}

static const struct option_spec status_specs[] = {
    {
        .name = "json",
        .kind = OPTION_FLAG,
        .offset = offsetof(struct status_options, json),
        .help = "print everything as JSON",
    },
};

const struct command fleet_status = {
    .name = "status",
    .arguments = "",
    .brief = "show the hosts of the fleet and its queues",
    .description =
        "Shows for each worker its daemons' slots, the jobs that run, the jobs per second\n"
        "lately, the verdicts and errors since it started, how many of its jobs had been\n"
        "delivered before, the number of languages its host has, and the isolation digest;\n"
        "then for each run and priority the jobs that wait and those in work; and the dead\n"
        "letters. A worker announces itself every five seconds, and is forgotten after\n"
        "twenty. Of a cluster of NATS servers it names those whose copy of a stream lags\n"
        "or that are away.\n"
        "\n"
        "--json names the languages and each daemon of a worker.\n",
    .examples = "  rubricctl fleet status\n"
                "  rubricctl fleet status --json | jq '.hosts[] | {worker, done, languages}'\n",
    .exits = "  0    the status was shown\n"
             "  2    wrong usage\n"
             "  3    no server, or it has no such fleet\n",
    .options = status_specs,
    .n_options = ARRAY_SIZE(status_specs),
    .options_size = sizeof(struct status_options),
    .run = run_status,
};
