/* SPDX-License-Identifier: MIT */
/* Theory of operation: one event loop serves the clients, the bus and the signals. A tick, a few
 * times a second, does what is due; nothing blocks. */
#include "claim.h"
#include "commands.h"
#include "servepast.h"
#include "serverequests.h"
#include "servesocket.h"
#include "servewatch.h"

#include "client/connection/interrupt.h"
#include "client/terminal/text.h"

#include <inttypes.h>
#include <sha2.h>
#include <signal.h>
#include <string.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/utsname.h>
#include <systemd/sd-daemon.h>

#define SOCKET_GROUP "rubricd"
#define SOCKET_MODE "0660"
#define TICK_MS 100
#define ACK_WAIT_DEFAULT_S 30
#define PATIENCE_DEFAULT_S 60
#define GRACE_DEFAULT_S 30
#define CLIENTS_DEFAULT 1024
/* After the clients have gone, settle at the server what is under way. */
#define LINGER_MS 5000
/* Accepted in one go. */
#define ACCEPT_MAX 64
/* Descriptors besides those of clients. */
#define OTHER_FDS 64
/* A name has to leave room for the rest of a run's name. */
#define NAME_MAX_LENGTH 32
#define NAME_HOST_LENGTH 20

struct serve_flags {
    const char *socket, *mode, *group, *name;
    long max_clients, patience, grace, ack_wait;
    bool mix;
};

enum phase {
    SERVING,
    DRAINING,  /* takes no jobs; those that have started may end */
    FLUSHING,  /* everybody has been told goodbye */
    LINGERING, /* nobody is there; the server is told the rest */
};

struct program_state {
    struct serve serve;
    struct servepast past;
    struct interrupt interrupt;
    int listen_fd;
    bool is_inherited; /* by systemd, whose the socket is */
    struct event *listening, *bus_readable, *signals, *tick;
    enum phase phase;
    int64_t until_ms; /* of the phase */
};

/* --- the phases --------------------------------------------------------------------------- */

static void enter(struct program_state *state, enum phase phase, int64_t until_ms)
{
    state->phase = phase;
    state->until_ms = until_ms;
}

static void begin_to_drain(struct program_state *state, int64_t now)
{
    struct serve *serve = &state->serve;
    if (state->phase != SERVING) {
        state->until_ms = now; /* a second signal */
        return;
    }
    enter(state, DRAINING, now + serve->options.grace_ms);
    (void)sd_notify(0, "STOPPING=1");
    (void)event_del(state->listening);
    serve->is_draining = true;
    serverequests_greet(serve, now);
    servewatch_drain(serve, false);
}

static void say_bye(struct program_state *state)
{
    struct caller *caller;
    TAILQ_FOREACH(caller, &state->serve.callers.list, of_list)
    {
        _cleanup_bytes_ struct bytes payload = BYTES_NULL;
        if (!caller_is_served(caller))
            continue;
        if (reply_bye("draining", "fleet serve stops", &payload) == 0)
            caller_send(caller, &payload);
        caller_close(caller);
    }
}

/* Goes on with the end once what the phase waits for has happened, or its time is over. */
static void go_on_draining(struct program_state *state, int64_t now)
{
    struct serve *serve = &state->serve;
    struct serve_run *run;
    bool is_over = now >= state->until_ms;
    bool is_left = true;
    switch (state->phase) {
    case SERVING:
        return;
    case DRAINING:
        if (!is_over && servejobs_count(serve) > 0)
            return;
        servewatch_drain(serve, true);
        say_bye(state);
        enter(state, FLUSHING, now + LINGER_MS);
        return;
    case FLUSHING:
        if (!is_over && serve->callers.n > 0)
            return;
        callers_deinit(&serve->callers);
        enter(state, LINGERING, now + LINGER_MS);
        return;
    case LINGERING:
        LIST_FOREACH(run, &serve->runs, link)
        {
            if (run->n_jobs == 0)
                userrun_leave(&run->run);
            is_left = is_left && run->n_jobs == 0 && userrun_is_left(&run->run);
        }
        if (is_left || is_over)
            (void)event_base_loopbreak(serve->base);
        return;
    }
}

/* --- events ------------------------------------------------------------------------------- */

static void on_connection(evutil_socket_t fd, _unused_ short what, void *state_)
{
    struct program_state *state = state_;
    for (int i = 0; i < ACCEPT_MAX; i++) {
        int client = accept4(fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (client < 0)
            return; /* or out of descriptors: the next tick has it tried again */
        serverequests_accept(&state->serve, client);
    }
}

static void on_bus(_unused_ evutil_socket_t fd, _unused_ short what, void *state_)
{
    struct program_state *state = state_;
    bus_dispatch(state->serve.bus, monotonic_ms());
}

static void on_signal(_unused_ evutil_socket_t fd, _unused_ short what, void *state_)
{
    struct program_state *state = state_;
    if (interrupt_count(&state->interrupt) > 0)
        begin_to_drain(state, monotonic_ms());
}

static void on_tick(_unused_ evutil_socket_t fd, _unused_ short what, void *state_)
{
    struct program_state *state = state_;
    struct serve *serve = &state->serve;
    int64_t now = monotonic_ms();
    bus_dispatch(serve->bus, now);
    census_tick(&serve->census, now);
    servewatch_tick(serve, now);
    if (state->phase < LINGERING) {
        callers_sweep(&serve->callers);
        serverequests_greet(serve, now);
    }
    go_on_draining(state, now);
}

/* --- opening and closing ------------------------------------------------------------------ */

static struct event *watch(struct event_base *base, int fd, event_callback_fn callback, void *arg)
{
    struct event *event = event_new(base, fd, EV_READ | EV_PERSIST, callback, arg);
    if (event)
        (void)event_add(event, NULL);
    return event;
}

static int open_events(struct program_state *state)
{
    static const struct timeval interval = {.tv_usec = TICK_MS * 1000L};
    struct serve *serve = &state->serve;
    serve->unpark = event_new(serve->base, -1, 0, servejobs_on_unpark, serve);
    state->listening = watch(serve->base, state->listen_fd, on_connection, state);
    state->bus_readable = watch(serve->base, bus_fd(serve->bus), on_bus, state);
    state->signals = watch(serve->base, state->interrupt.fd, on_signal, state);
    state->tick = event_new(serve->base, -1, EV_PERSIST, on_tick, state);
    if (!serve->unpark || !state->listening || !state->bus_readable || !state->signals ||
        !state->tick)
        return -ENOMEM;
    return event_add(state->tick, &interval) < 0 ? -ENOMEM : 0;
}

static int open_socket(const struct serve_flags *flags, struct program_state *state,
                       struct fault *fault)
{
    unsigned mode;
    const char *text = flags->mode ? flags->mode : SOCKET_MODE;
    int fd = servesocket_inherit(fault);
    if (fd < -1)
        return fd;
    state->is_inherited = fd >= 0;
    if (fd < 0 && !flags->socket)
        return fault_set(fault, "serve: --socket is missing, and systemd has passed no socket");
    if (fd < 0 && !*flags->socket)
        return fault_set(fault, "--socket: it is empty");
    if (servesocket_parse_mode(text, &mode) < 0)
        return fault_set(fault, "--mode %s: expected an octal number up to 0777", text);
    if (fd < 0)
        fd = servesocket_bind(flags->socket, mode, flags->group ? flags->group : SOCKET_GROUP,
                              fault);
    if (fd < 0)
        return fd;
    state->listen_fd = fd;
    return 0;
}

/* More clients than the soft limit has descriptors for are no mistake. */
static void raise_descriptor_limit(size_t wanted)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur >= wanted)
        return;
    limit.rlim_cur = MIN((rlim_t)wanted, limit.rlim_max);
    (void)setrlimit(RLIMIT_NOFILE, &limit);
}

static int open_serve(struct program_state *state, const struct bus_options *bus,
                      const struct serve_flags *flags, struct fault *fault)
{
    struct serve *serve = &state->serve;
    int r = names_check("--name", serve->options.name, NAME_MAX_LENGTH, fault);
    if (r == 0)
        r = open_socket(flags, state, fault);
    /* Block the signals before the library makes threads, which inherit that. */
    if (r == 0)
        r = interrupt_init(&state->interrupt);
    if (r == 0)
        r = bus_open(bus, true, &serve->bus, fault);
    if (r < 0)
        return r;
    serve->base = event_base_new();
    serve->failures = json_array();
    if (!serve->base || !serve->failures)
        return -ENOMEM;
    r = callers_init(&serve->callers, serve->base, &serverequests_ops, serve);
    if (r == 0)
        r = census_init(&serve->census, serve->bus);
    if (r == 0)
        r = open_events(state);
    if (r == 0)
        r = claim_name(serve->bus, CLAIM_SERVE, serve->options.name, fault);
    if (r == 0)
        servepast_clear(&state->past, serve->bus, serve->options.name, serve->instance);
    return r;
}

static void close_serve(struct program_state *state, const struct serve_flags *flags)
{
    struct serve *serve = &state->serve;
    struct event *events[] = {state->listening, state->bus_readable, state->signals, state->tick};
    callers_deinit(&serve->callers);
    servejobs_deinit(serve);
    for (size_t i = 0; i < ARRAY_SIZE(events); i++)
        if (events[i])
            event_free(events[i]);
    if (serve->unpark)
        event_free(serve->unpark);
    census_deinit(&serve->census);
    serve->bus = bus_free(serve->bus);
    if (serve->base)
        event_base_free(serve->base);
    json_decref(serve->failures);
    json_decref(serve->isolation);
    if (state->listen_fd >= 0 && !state->is_inherited)
        (void)unlink(flags->socket);
    state->listen_fd = close_fd(state->listen_fd);
    interrupt_deinit(&state->interrupt);
}

/* Makes a name of the host's and the socket's: it is the same after a restart, so that what an
 * earlier start has left is found. */
static void name_serve(const char *socket, char ret[NAME_MAX_LENGTH + 1])
{
    struct utsname host = {.nodename = "host"};
    char both[sizeof(host.nodename) + 256], digest[SHA256_DIGEST_STRING_LENGTH];
    (void)uname(&host);
    int n = snprintf(both, sizeof(both), "%s %.200s", host.nodename, socket ? socket : "");
    (void)SHA256Data((const uint8_t *)both, (size_t)n, digest);
    size_t length = claim_host(NAME_HOST_LENGTH, ret);
    (void)snprintf(ret + length, NAME_MAX_LENGTH + 1 - length, "-%.8s", digest);
}

static void name_instance(char ret[9])
{
    uint32_t number;
    if (getrandom(&number, sizeof(number), 0) != (ssize_t)sizeof(number))
        number = (uint32_t)getpid() ^ (uint32_t)monotonic_ms();
    (void)snprintf(ret, 9, "%08" PRIx32, number);
}

static long or_default(long value, long otherwise)
{
    return value > 0 ? value : otherwise;
}

static enum exit_status run_serve(const struct globals *globals, const void *options,
                                  _unused_ const struct text_list *arguments)
{
    const struct serve_flags *flags = options;
    struct fault fault = FAULT_NULL;
    char name[NAME_MAX_LENGTH + 1];
    struct program_state state = {.interrupt = INTERRUPT_NULL, .listen_fd = -1};
    struct serve *serve = &state.serve;
    name_serve(flags->socket, name);
    serve->options = (struct serve_options){
        .name = flags->name ? flags->name : name,
        .ack_wait_s = or_default(flags->ack_wait, ACK_WAIT_DEFAULT_S),
        .patience_ms = or_default(flags->patience, PATIENCE_DEFAULT_S) * INT64_C(1000),
        .grace_ms = or_default(flags->grace, GRACE_DEFAULT_S) * INT64_C(1000),
        .max_callers = (size_t)or_default(flags->max_clients, CLIENTS_DEFAULT),
        .mix = flags->mix,
    };
    serve->started_ms = monotonic_ms();
    name_instance(serve->instance);
    (void)signal(SIGPIPE, SIG_IGN);
    raise_descriptor_limit(serve->options.max_callers + OTHER_FDS);
    int r = open_serve(&state, &fleet_globals_of(globals)->bus, flags, &fault);
    if (r < 0) {
        complain("%s", *fault.text ? fault.text : strerror(-r));
    } else {
        (void)sd_notify(0, "READY=1");
        (void)event_base_dispatch(serve->base);
    }
    close_serve(&state, flags);
    if (r == -EINVAL)
        return STATUS_USAGE;
    return r < 0 ? STATUS_NO_DAEMON : STATUS_OK;
}

static const struct option_spec serve_specs[] = {
    {
        .letter = 's',
        .name = "socket",
        .argument = "PATH",
        .kind = OPTION_TEXT,
        .value = VALUE_SOCKET,
        .offset = offsetof(struct serve_flags, socket),
        .help = "the socket to listen on (default: the one that systemd passes)",
    },
    {
        .name = "mode",
        .argument = "MODE",
        .kind = OPTION_TEXT,
        .offset = offsetof(struct serve_flags, mode),
        .help = "the socket's mode, in octal (default: " SOCKET_MODE ")",
    },
    {
        .name = "group",
        .argument = "NAME",
        .kind = OPTION_TEXT,
        .offset = offsetof(struct serve_flags, group),
        .help = "the socket's group; \"\": leave it (default: " SOCKET_GROUP ")",
    },
    {
        .name = "name",
        .argument = "NAME",
        .kind = OPTION_TEXT,
        .offset = offsetof(struct serve_flags, name),
        .help = "begins the names of its runs, and has to differ from that of every other serve of "
                "the fleet (default: made of the names of the host and the socket)",
    },
    {
        .name = "max-clients",
        .argument = "N",
        .kind = OPTION_NUMBER,
        .offset = offsetof(struct serve_flags, max_clients),
        .min = 1,
        .max = 100000,
        .help = "clients that may be connected (default: 1024); one user may have three times as "
                "many as are still free",
    },
    {
        .name = "patience",
        .argument = "SECONDS",
        .kind = OPTION_NUMBER,
        .offset = offsetof(struct serve_flags, patience),
        .min = 1,
        .max = 86400,
        .help = "while the server is away, its streams are full or there is no worker, have jobs "
                "wait for so long; then answer them with a retriable error (default: 60)",
    },
    {
        .name = "grace",
        .argument = "SECONDS",
        .kind = OPTION_NUMBER,
        .offset = offsetof(struct serve_flags, grace),
        .min = 1,
        .max = 86400,
        .help = "on SIGTERM, let jobs that have started go on for so long (default: 30)",
    },
    {
        .name = "ack-wait",
        .argument = "SECONDS",
        .kind = OPTION_NUMBER,
        .offset = offsetof(struct serve_flags, ack_wait),
        .min = 2,
        .max = 3600,
        .help = "give a job to another worker when its own has not been heard of for so long "
                "(default: 30)",
    },
    {
        .name = "mix",
        .kind = OPTION_FLAG,
        .offset = offsetof(struct serve_flags, mix),
        .help = "run over hosts that confine jobs differently; their scores are not comparable",
    },
};

const struct command fleet_serve = {
    .name = "serve",
    .arguments = "",
    .brief = "be a daemon for local clients, whose jobs run anywhere in the fleet",
    .description =
        "Listens on a Unix socket and speaks the daemon's protocol there, so that rubricctl,\n"
        "rubricd-http and the Python package work with the fleet as with a daemon: name the\n"
        "socket with --socket or in $RUBRICD_SOCKET. Unit: rubricd-fleet-serve.\n"
        "\n"
        "Users take turns in the fleet, and the connections of a user take turns among\n"
        "themselves. A client that goes away or cancels has its jobs taken back. Status and\n"
        "metrics are sums over the daemons of all hosts.\n"
        "\n"
        "A fleet has no sessions and no terminals, passes no output on while a job runs, and\n"
        "has no configuration to reload: such requests are refused with the reason.\n"
        "\n"
        "While the server is away or no worker is there, jobs wait; after --patience they end\n"
        "in a retriable error. SIGTERM, and rubricctl drain as root, takes back what has not\n"
        "started, lets the rest end within --grace, and exits; a second signal at once.\n",
    .examples = "  rubricctl fleet serve --server nats://queue:4222 --socket /run/fleet.sock\n"
                "  RUBRICD_SOCKET=/run/fleet.sock rubricctl batch -o scores.jsonl jobs.jsonl\n",
    .exits = "  0    a signal ended it\n"
             "  2    wrong usage\n"
             "  3    it cannot listen there\n",
    .options = serve_specs,
    .n_options = ARRAY_SIZE(serve_specs),
    .options_size = sizeof(struct serve_flags),
    .run = run_serve,
};
