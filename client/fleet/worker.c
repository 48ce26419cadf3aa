/* SPDX-License-Identifier: MIT */
/* Theory of operation: one poll loop serves the bus, the daemons and the signals. Everything else
 * happens in callbacks of the bus and of the lanes, none of which blocks. */
#include "alone.h"
#include "announce.h"
#include "cancels.h"
#include "claim.h"
#include "commands.h"
#include "pulls.h"
#include "streams.h"
#include "task.h"
#include "tell.h"

#include "client/connection/interrupt.h"
#include "client/terminal/text.h"
#include "proto/printer.h"

#include <poll.h>
#include <string.h>
#include <systemd/sd-daemon.h>

#define SOCKET_DEFAULT "/run/rubricd/rubricd.sock"
#define LANES_MAX 16
/* Look at the list of consumers so often, and announce the worker. */
#define LIST_MS 1000
#define ANNOUNCE_MS 5000
/* After SIGTERM, hand back what can be handed back in this time. */
#define STOP_MS 10000
#define ALONE_WAIT_DEFAULT_S 60

struct worker_options {
    struct text_list sockets;
    const char *name;
    const char *cache;
    long cache_mib;
    long alone_wait;
};

struct worker_lane {
    struct worker *worker;
    struct lane lane;
    struct pulls pulls;
    struct tell tell;
};

struct worker {
    struct bus *bus;
    unsigned epoch;
    const char *name;
    struct interrupt interrupt;
    struct worker_lane lanes[LANES_MAX];
    size_t n_lanes;
    struct feeds feeds;
    struct benches *benches; /* NULL: there is no cache */
    struct tasks tasks;
    struct passes passes;
    struct cancels cancels;
    struct announce_counts counts;
    int64_t alone_wait_ms;
    int64_t started_ms, list_ms, announce_ms, stop_ms;
    uint64_t list_request, announce_request, measured;
    int64_t measured_ms;
    int64_t list_offset;
    bool stopping;
};

/* --- jobs --------------------------------------------------------------------------------- */

/* Whether the run has taken the job in MESSAGE back before it came. */
static bool is_cancelled(const struct worker *worker, natsMsg *message, int64_t now)
{
    uint64_t number = cancel_read_number(api_header(message, API_SUBMISSION));
    return cancels_has(&worker->cancels, number, now);
}

static void take_job(struct worker_lane *at, natsMsg *message, int64_t now)
{
    struct worker *worker = at->worker;
    struct names_job names;
    char name[NAMES_SUBJECT_SIZE];
    static const char back[] = "-NAK", end[] = "+TERM";
    const char *reply = natsMsg_GetReply(message);
    if (!names_read_job(bus_fleet(worker->bus), natsMsg_GetSubject(message), &names))
        return; /* somebody's message of another form: it is delivered to everybody in turn */
    names_consumer(names.run, names.priority, name);
    struct feed *feed = feeds_find(&worker->feeds, name);
    bool was_asked_for = pulls_take_job(&at->pulls, name);
    if (worker->stopping || !feed || alone_is_wanted(&worker->tasks) ||
        (!was_asked_for && lane_free(&at->lane) == 0)) {
        (void)bus_publish(worker->bus, reply, NULL, back, strlen(back));
        return;
    }
    feed->is_empty = false;
    if (is_cancelled(worker, message, now)) {
        worker->counts.cancelled++;
        (void)bus_publish(worker->bus, reply, NULL, end, strlen(end));
        return;
    }
    struct task *task = task_new(worker->bus, &at->lane, worker->name, worker->benches,
                                 &worker->passes, feed, message, now);
    if (!task)
        return;
    worker->counts.redelivered += task->delivery.delivered > 1;
    LIST_INSERT_HEAD(&worker->tasks, task, link);
}

static void on_pulled(void *arg, natsMsg *message)
{
    struct worker_lane *at = arg;
    const char *name = names_last(natsMsg_GetSubject(message));
    int status = api_status(message);
    if (status != 0)
        pulls_end(&at->pulls, feeds_find(&at->worker->feeds, name), name, status);
    else
        take_job(at, message, monotonic_ms());
}

static void count_end(struct worker *worker, const struct task *task)
{
    struct announce_counts *counts = &worker->counts;
    uint64_t *const of[] = {
        [TASK_DONE] = &counts->done,       [TASK_ERROR] = &counts->errors,
        [TASK_DEAD] = &counts->dead,       [TASK_KNOWN] = &counts->known,
        [TASK_BACK] = &counts->back,       [TASK_CANCELLED] = &counts->cancelled,
        [TASK_STARVED] = &counts->starved, [TASK_PASSED] = &counts->passed,
    };
    ++*of[task->end];
}

/* Frees the tasks that are over; ticks the others. Returns when the next tick is due. */
static int64_t tick_tasks(struct worker *worker, int64_t now)
{
    int64_t due = INT64_MAX;
    struct task *task, *next;
    worker->counts.running = 0;
    for (task = LIST_FIRST(&worker->tasks); task; task = next) {
        next = LIST_NEXT(task, link);
        if (task->state == TASK_OVER) {
            count_end(worker, task);
            if (task->end == TASK_PASSED)
                pulls_yield(&worker->feeds, &task->names, now);
            LIST_REMOVE(task, link);
            (void)task_free(task);
            continue;
        }
        worker->counts.running += task->state == TASK_RUNNING;
        due = MIN(due, task_tick(task, now));
    }
    return due;
}

/* The run no longer wants a job: one that is here, or that comes later. */
static void on_cancel(void *arg, natsMsg *message)
{
    struct worker *worker = arg;
    struct cancel cancel;
    struct task *task;
    if (!cancel_read(natsMsg_GetData(message), (size_t)natsMsg_GetDataLength(message), &cancel))
        return;
    cancels_note(&worker->cancels, cancel.number, monotonic_ms());
    LIST_FOREACH(task, &worker->tasks, link)
    if (cancel_is_of(&cancel, &task->names))
        task_cancel(task);
}

/* --- the list of consumers ---------------------------------------------------------------- */

static void ask_list(struct worker *worker);

/* Whether one of the daemons here may run the jobs of FEED; true if a daemon does not answer now.
 */
static bool may_run(const struct worker *worker, const struct feed *feed)
{
    bool may = strcmp(feed->digest, FEEDS_ANY) == 0;
    for (size_t i = 0; i < worker->n_lanes && !may; i++) {
        const char *digest = lane_digest(&worker->lanes[i].lane);
        may = !*digest || strcmp(feed->digest, digest) == 0;
    }
    return may;
}

/* Says of each run once that its jobs are not for the daemons here. */
static void tell_foreign(struct worker *worker)
{
    for (size_t i = 0; i < worker->feeds.n; i++) {
        struct feed *feed = &worker->feeds.items[i];
        if (feed->is_foreign || may_run(worker, feed))
            continue;
        feed->is_foreign = true;
        complain("the jobs of run %s are left to other workers: they are for the isolation "
                 "%.12s..., and the daemon here has %.12s... (another configuration or version)",
                 feed->run, feed->digest, lane_digest(&worker->lanes[0].lane));
    }
}

static bool on_list(void *arg, natsMsg *reply)
{
    struct worker *worker = arg;
    _cleanup_json_ json_t *page = NULL;
    struct fault fault = FAULT_NULL;
    int64_t now = monotonic_ms();
    worker->list_request = 0;
    worker->list_ms = now + LIST_MS;
    if (json_read_object(natsMsg_GetData(reply), (size_t)natsMsg_GetDataLength(reply), &page,
                         &fault) < 0)
        return false;
    const json_t *consumers = json_object_get(page, "consumers");
    const json_t *error = json_object_get(page, "error");
    if (error) {
        const char *text = json_string_value(json_object_get(error, "description"));
        bus_complain(worker->bus, "the queue cannot be looked at: %s%s; trying again",
                     text ? text : "no reason given",
                     json_integer_value(json_object_get(error, "err_code")) == JSStreamNotFoundErr
                         ? " (run `rubricctl fleet init`)"
                         : "");
        return false;
    }
    bool is_first = worker->list_offset == 0;
    worker->list_offset += (int64_t)json_array_size(consumers);
    bool is_last = json_array_size(consumers) == 0 ||
                   worker->list_offset >= json_integer_value(json_object_get(page, "total"));
    feeds_take_page(&worker->feeds, consumers, is_first, is_last);
    if (is_last) {
        worker->list_offset = 0;
        tell_foreign(worker);
    } else {
        ask_list(worker);
    }
    return false;
}

static void ask_list(struct worker *worker)
{
    char subject[API_SUBJECT_SIZE], text[64];
    api_subject("CONSUMER.LIST", bus_fleet(worker->bus), STREAM_JOBS, NULL, subject,
                sizeof(subject));
    int n = snprintf(text, sizeof(text), "{\"offset\":%lld}", (long long)worker->list_offset);
    worker->list_ms = INT64_MAX;
    worker->list_request =
        bus_request(worker->bus, subject, NULL, text, (size_t)n, on_list, worker);
}

/* A run has begun, or has jobs again. */
static void on_wake(void *arg, _unused_ natsMsg *message)
{
    struct worker *worker = arg;
    if (worker->list_request == 0)
        worker->list_ms = 0;
}

/* --- announcements ------------------------------------------------------------------------ */

static bool on_announced(void *arg, _unused_ natsMsg *reply)
{
    struct worker *worker = arg;
    worker->announce_request = 0;
    return false;
}

/* Measures the rate since the last announcement. */
static void measure(struct worker *worker, int64_t now)
{
    uint64_t ended = worker->counts.done + worker->counts.errors;
    int64_t ms = now - worker->measured_ms;
    worker->counts.rate = ms > 0 ? (double)(ended - worker->measured) * 1000 / (double)ms : 0;
    worker->measured = ended;
    worker->measured_ms = now;
}

static void announce(struct worker *worker, int64_t now)
{
    char subject[NAMES_SUBJECT_SIZE];
    const struct lane *lanes[LANES_MAX];
    _cleanup_bytes_ struct bytes text = BYTES_NULL;
    measure(worker, now);
    for (size_t i = 0; i < worker->n_lanes; i++)
        lanes[i] = &worker->lanes[i].lane;
    _cleanup_json_ json_t *about =
        announce_make(worker->name, lanes, worker->n_lanes, &worker->counts,
                      now - worker->started_ms, tasks_held(&worker->tasks));
    worker->announce_ms = now + (about ? ANNOUNCE_MS : LIST_MS / 4);
    if (!about || json_print(about, &text) < 0)
        return;
    (void)snprintf(subject, sizeof(subject), "%s.hosts.%s", bus_fleet(worker->bus), worker->name);
    bus_forget(worker->bus, worker->announce_request); /* an old one is worth nothing */
    worker->announce_request =
        bus_request(worker->bus, subject, NULL, text.data, text.length, on_announced, worker);
}

/* Somebody asks the fleet. */
static void on_ask(void *arg, natsMsg *message)
{
    struct worker *worker = arg;
    if (tell_is_announce(message) && !worker->stopping)
        worker->announce_ms = 0;
    for (size_t i = 0; i < worker->n_lanes; i++)
        tell_answer(&worker->lanes[i].tell, message);
}

/* --- the loop ----------------------------------------------------------------------------- */

static void forget_pulls(struct worker *worker)
{
    for (size_t i = 0; i < worker->n_lanes; i++)
        pulls_clear(&worker->lanes[i].pulls);
}

static void begin_to_stop(struct worker *worker, int64_t now)
{
    struct task *task;
    if (worker->stopping)
        worker->stop_ms = now; /* a second signal */
    else
        worker->stop_ms = now + STOP_MS;
    worker->stopping = true;
    worker->announce_ms = INT64_MAX;
    announce_stop(worker->bus, worker->name);
    (void)sd_notify(0, "STOPPING=1");
    forget_pulls(worker);
    LIST_FOREACH(task, &worker->tasks, link)
    task_give_back(task);
}

/* Returns when something is due next. */
static int64_t pull_more(struct worker *worker, int64_t now)
{
    if (worker->epoch != bus_epoch(worker->bus)) {
        worker->epoch = bus_epoch(worker->bus);
        forget_pulls(worker);
    }
    if (alone_is_wanted(&worker->tasks)) {
        forget_pulls(worker); /* what comes of them is handed back */
        return alone_go_on(&worker->tasks, worker->alone_wait_ms, now);
    }
    for (size_t i = 0; i < worker->n_lanes && !worker->stopping; i++)
        pulls_fill(&worker->lanes[i].pulls, &worker->feeds, now);
    return INT64_MAX;
}

/* Does what is due. Returns when something is due next. */
static int64_t do_what_is_due(struct worker *worker, int64_t now)
{
    int64_t due = tick_tasks(worker, now);
    if (now >= worker->list_ms)
        ask_list(worker);
    if (now >= worker->announce_ms)
        announce(worker, now);
    for (size_t i = 0; i < worker->n_lanes; i++)
        due = MIN(due, pulls_expire(&worker->lanes[i].pulls, now));
    due = MIN(due, pull_more(worker, now));
    for (size_t i = 0; i < worker->n_lanes; i++)
        due = MIN(due, lane_due(&worker->lanes[i].lane));
    due = MIN(due, bus_due(worker->bus));
    due = MIN(due, worker->stop_ms);
    return MIN(due, MIN(worker->list_ms, worker->announce_ms));
}

static void turn(struct worker *worker)
{
    enum { SIGNALS, BUS, LANES };
    struct pollfd fds[LANES + LANES_MAX] = {
        [SIGNALS] = {.fd = worker->interrupt.fd, .events = POLLIN},
        [BUS] = {.fd = bus_fd(worker->bus), .events = POLLIN},
    };
    int64_t due = do_what_is_due(worker, monotonic_ms());
    for (size_t i = 0; i < worker->n_lanes; i++) {
        fds[LANES + i].fd = lane_fd(&worker->lanes[i].lane);
        fds[LANES + i].events = lane_events(&worker->lanes[i].lane);
    }
    int64_t left = due == INT64_MAX ? -1 : MAX(due - monotonic_ms(), 0);
    if (poll(fds, LANES + worker->n_lanes, (int)MIN(left, (int64_t)INT32_MAX)) < 0)
        return; /* EINTR */
    int64_t now = monotonic_ms();
    if (fds[SIGNALS].revents && interrupt_count(&worker->interrupt) > 0)
        begin_to_stop(worker, now);
    bus_dispatch(worker->bus, now);
    for (size_t i = 0; i < worker->n_lanes; i++)
        lane_pump(&worker->lanes[i].lane, fds[LANES + i].revents, now);
}

static void serve(struct worker *worker)
{
    (void)sd_notify(0, "READY=1");
    while (!worker->stopping || (!LIST_EMPTY(&worker->tasks) && monotonic_ms() < worker->stop_ms))
        turn(worker);
    size_t left = 0;
    struct task *task;
    LIST_FOREACH(task, &worker->tasks, link)
    left++;
    if (left > 0)
        complain(
            "%zu job%s could not be handed back: the server gives them to others after a while",
            left, text_plural(left));
}

/* --- opening and closing ------------------------------------------------------------------ */

static int open_lanes(struct worker *worker, const struct worker_options *options,
                      struct fault *fault)
{
    const char *from_environment = getenv("RUBRICD_SOCKET");
    const char *usual = from_environment && *from_environment ? from_environment : SOCKET_DEFAULT;
    size_t n = MAX(options->sockets.n, (size_t)1);
    for (size_t i = 0; i < n; i++) {
        struct worker_lane *at = &worker->lanes[i];
        char all[BUS_INBOX_SIZE + 2];
        at->worker = worker;
        if (options->sockets.n > 0 && !*options->sockets.items[i])
            return fault_set(fault, "--socket: it is empty");
        int r = lane_init(&at->lane, options->sockets.n > 0 ? options->sockets.items[i] : usual,
                          worker->started_ms);
        if (r < 0)
            return r;
        worker->n_lanes++;
        pulls_init(&at->pulls, worker->bus, &at->lane);
        tell_init(&at->tell, worker->bus, &at->lane, &worker->tasks);
        (void)snprintf(all, sizeof(all), "%s.*", at->pulls.inbox);
        r = bus_watch(worker->bus, all, on_pulled, at);
        if (r < 0)
            return r;
    }
    return 0;
}

static int watch(struct worker *worker)
{
    char subject[NAMES_SUBJECT_SIZE];
    (void)snprintf(subject, sizeof(subject), "%s.cancel", bus_fleet(worker->bus));
    int r = bus_watch(worker->bus, subject, on_cancel, worker);
    (void)snprintf(subject, sizeof(subject), "%s.wake", bus_fleet(worker->bus));
    if (r == 0)
        r = bus_watch(worker->bus, subject, on_wake, worker);
    (void)snprintf(subject, sizeof(subject), "%s.ask", bus_fleet(worker->bus));
    return r < 0 ? r : bus_watch(worker->bus, subject, on_ask, worker);
}

static void worker_deinit(struct worker *worker)
{
    while (!LIST_EMPTY(&worker->tasks)) {
        struct task *task = LIST_FIRST(&worker->tasks);
        LIST_REMOVE(task, link);
        (void)task_free(task);
    }
    for (size_t i = 0; i < worker->n_lanes; i++) {
        pulls_clear(&worker->lanes[i].pulls);
        tell_deinit(&worker->lanes[i].tell);
        lane_deinit(&worker->lanes[i].lane);
    }
    worker->benches = benches_free(worker->benches);
    passes_deinit(&worker->passes);
    cancels_deinit(&worker->cancels);
    feeds_deinit(&worker->feeds);
    (void)bus_free(worker->bus);
    interrupt_deinit(&worker->interrupt);
}

static int open_worker(struct worker *worker, const struct bus_options *bus,
                       const struct worker_options *options, struct fault *fault)
{
    LIST_INIT(&worker->tasks);
    passes_init(&worker->passes);
    worker->started_ms = worker->measured_ms = monotonic_ms();
    worker->stop_ms = INT64_MAX;
    worker->alone_wait_ms =
        (options->alone_wait ? options->alone_wait : ALONE_WAIT_DEFAULT_S) * INT64_C(1000);
    int r = names_check("--name", worker->name, NAMES_RUN_MAX, fault);
    if (r == 0)
        r = cancels_init(&worker->cancels);
    /* Block the signals before the library makes threads, which inherit that. */
    if (r == 0)
        r = interrupt_init(&worker->interrupt);
    if (r == 0)
        r = bus_open(bus, true, &worker->bus, fault);
    if (r == 0)
        r = claim_name(worker->bus, CLAIM_WORKER, worker->name, fault);
    if (r == 0)
        r = benches_open(worker->bus, options->cache, options->cache_mib, &worker->benches, fault);
    if (r == 0)
        r = watch(worker);
    return r == 0 ? open_lanes(worker, options, fault) : r;
}

static enum exit_status run_worker(const struct globals *globals, const void *options_,
                                   _unused_ const struct text_list *arguments)
{
    const struct worker_options *options = options_;
    struct fault fault = FAULT_NULL;
    char host[NAMES_RUN_MAX + 1];
    struct worker worker = {.interrupt = INTERRUPT_NULL, .feeds = FEEDS_NULL};
    (void)claim_host(NAMES_RUN_MAX, host);
    worker.name = options->name ? options->name : host;
    int r = open_worker(&worker, &fleet_globals_of(globals)->bus, options, &fault);
    if (r < 0)
        complain("%s", *fault.text ? fault.text : strerror(-r));
    else
        serve(&worker);
    worker_deinit(&worker);
    if (r < 0)
        return r == -EINVAL ? STATUS_USAGE : STATUS_NO_DAEMON;
    return STATUS_OK;
}

static const struct option_spec worker_specs[] = {
    {
        .letter = 's',
        .name = "socket",
        .argument = "PATH",
        .kind = OPTION_LIST,
        .value = VALUE_SOCKET,
        .max = LANES_MAX,
        .offset = offsetof(struct worker_options, sockets),
        .help = "socket of a daemon on this host; may be repeated (default: $RUBRICD_SOCKET, or "
                "else " SOCKET_DEFAULT ")",
    },
    {
        .name = "name",
        .argument = "NAME",
        .kind = OPTION_TEXT,
        .offset = offsetof(struct worker_options, name),
        .help = "what to call this worker (default: the host's name); several workers on one host "
                "need different ones",
    },
    {
        .name = "cache",
        .argument = "DIR",
        .kind = OPTION_TEXT,
        .value = VALUE_DIRECTORY,
        .offset = offsetof(struct worker_options, cache),
        .help = "where to keep the rubrics that the fleet has and this host has not: an absolute "
                "path, which the daemon has to be allowed to read (default: the cache directory of "
                "systemd, or else ~/.cache/rubricd-fleet)",
    },
    {
        .name = "cache-mib",
        .argument = "N",
        .kind = OPTION_NUMBER,
        .offset = offsetof(struct worker_options, cache_mib),
        .min = 1,
        .max = 1 << 20,
        .help = "the most that the cache takes, in MiB; what was used longest ago goes (default: "
                "1024)",
    },
    {
        .name = "alone-wait",
        .argument = "SECONDS",
        .kind = OPTION_NUMBER,
        .offset = offsetof(struct worker_options, alone_wait),
        .min = 1,
        .max = 86400,
        .help = "have a job that has starved wait for so long until the others have ended; then "
                "begin it beside them (default: 60)",
    },
};

const struct command fleet_worker = {
    .name = "worker",
    .arguments = "",
    .brief = "have the daemon of this host run jobs of the fleet",
    .description =
        "Takes jobs from the fleet's queue for the daemon of this host: as many as it has\n"
        "free slots, and none to spare. Runs of several batches take turns. While a job\n"
        "runs, the worker tells the server so; then it stores the result, and only then it\n"
        "acknowledges the job. What a worker has not acknowledged goes to another one when\n"
        "it falls silent.\n"
        "\n"
        "It connects again to a server or a daemon that went away, for as long as it\n"
        "takes. If the daemon goes away, its jobs go back to the queue. A job that three\n"
        "workers or daemons have started, and none lived to answer, ends in the error\n"
        "workers_lost.\n"
        "\n"
        "A rubric job that names the digest of its rubric's directory runs with that one: if\n"
        "the host does not have it, the worker fetches it from the fleet into its cache\n"
        "(rubricctl fleet push-bench).\n"
        "A job that has starved on another host runs alone: the worker ends what it has, runs\n"
        "the job, and takes nothing beside it. A job that has starved here it leaves to other\n"
        "workers for ten seconds. A worker stands for its host in this: name all daemons of a\n"
        "host at one worker, with several --socket.\n"
        "\n"
        "SIGTERM and SIGINT stop the worker: it ends the jobs that run, hands them back\n"
        "to the queue and exits, within ten seconds.\n",
    .examples = "  rubricctl fleet worker --server tls://queue:4222 --creds me.creds\n"
                "  rubricctl fleet worker --socket /run/rubricd-a/rubricd.sock \\\n"
                "      --socket /run/rubricd-b/rubricd.sock\n",
    .exits = "  0    stopped by a signal\n"
             "  2    wrong usage\n"
             "  3    it could not start\n",
    .options = worker_specs,
    .n_options = ARRAY_SIZE(worker_specs),
    .options_size = sizeof(struct worker_options),
    .run = run_worker,
};
