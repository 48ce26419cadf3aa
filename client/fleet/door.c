/* SPDX-License-Identifier: MIT */
#include "door.h"

#include "feeds.h"
#include "front.h"
#include "hosts.h"
#include "streams.h"

#include "client/batch/engine.h"
#include "client/connection/session.h"
#include "client/terminal/text.h"

#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <time.h>

#define ACK_WAIT_DEFAULT_S 30
/* Wait for a first worker so long. */
#define WORKERS_MS 20000
#define LOOK_MS 250
/* After the command has ended, settle what is under way. */
#define LINGER_MS 3000

const struct option_spec door_specs[DOOR_SPECS] = {
    {
        .name = "run",
        .argument = "NAME",
        .kind = OPTION_TEXT,
        .offset = offsetof(struct door_options, run),
        .help = "the name of the run; that of an earlier one takes it up, from any host: what is "
                "answered is not run again (default: a new name, which is printed)",
    },
    {
        .name = "ack-wait",
        .argument = "SECONDS",
        .kind = OPTION_NUMBER,
        .offset = offsetof(struct door_options, ack_wait),
        .min = 2,
        .max = 3600,
        .help = "give a job to another worker when its own has not been heard of for so long "
                "(default: 30)",
    },
    {
        .name = "mix",
        .kind = OPTION_FLAG,
        .offset = offsetof(struct door_options, mix),
        .help = "run over hosts that confine jobs differently; their scores are not comparable",
    },
    {
        .name = "host-benches",
        .kind = OPTION_FLAG,
        .offset = offsetof(struct door_options, host_benches),
        .help = "neither store rubrics in the fleet nor compare them: each host has the benches at "
                "the places that the jobs name",
    },
};

/* What the child is told. */
struct door {
    const struct fleet_globals *globals;
    const struct door_options *options;
    bool keeps_starved;
    char run[NAMES_RUN_MAX + 1];
};

/* --- the child ---------------------------------------------------------------------------- */

/* Waits until a worker has announced itself, and until the server can tell. */
static int find_hosts(struct bus *bus, json_t **ret, struct fault *fault)
{
    int64_t until = monotonic_ms() + WORKERS_MS;
    bool is_told = false;
    for (;;) {
        json_t *hosts = NULL;
        int r = hosts_read(bus, &hosts, fault);
        bool is_late = monotonic_ms() >= until;
        if (r < 0 && (r != -EAGAIN || is_late))
            return r;
        if (r == 0 && json_array_size(hosts) > 0) {
            *ret = hosts;
            return 0;
        }
        json_decref(hosts);
        if (is_late) {
            (void)fault_set(fault,
                            "the fleet %s has no worker: start one on each host "
                            "(rubricctl fleet worker)",
                            bus_fleet(bus));
            return -ENOENT;
        }
        if (!is_told && r < 0)
            complain("%s; trying again", fault->text);
        else if (!is_told)
            complain("the fleet has no worker yet; waiting for one");
        is_told = true;
        (void)poll(NULL, 0, LOOK_MS);
    }
}

static int open_front(const struct door *door, int fd, struct bus **ret_bus, json_t **ret_hosts,
                      struct front **ret, struct fault *fault)
{
    struct bus *bus = NULL;
    _cleanup_json_ json_t *hello = NULL;
    int r = bus_open(&door->globals->bus, false, &bus, fault);
    *ret_bus = bus;
    if (r == 0)
        r = streams_check(bus, fault);
    if (r == 0)
        r = find_hosts(bus, ret_hosts, fault);
    if (r == 0 && !door->options->mix)
        r = hosts_check_alike(*ret_hosts, fault);
    if (r < 0) {
        (void)close_fd(fd);
        return r;
    }
    hello = hosts_hello(*ret_hosts);
    const json_t *limits = json_object_get(hello, "limits");
    const struct front_options options = {
        .run = door->run,
        .digest = door->options->mix ? FEEDS_ANY : hosts_digest(*ret_hosts),
        .host_benches = door->options->host_benches,
        .ack_wait_s = door->options->ack_wait ? door->options->ack_wait : ACK_WAIT_DEFAULT_S,
        .keeps_starved = door->keeps_starved,
        .max_frame = (uint32_t)json_integer_value(json_object_get(limits, "max_frame")),
    };
    return front_new(bus, fd, &options, hello, ret, fault);
}

static void serve(struct bus *bus, struct front *front)
{
    int64_t due = 0;
    while (!front_is_over(front)) {
        struct pollfd fds[] = {
            {.fd = front_fd(front), .events = front_events(front)},
            {.fd = bus_fd(bus), .events = POLLIN},
        };
        int64_t now = monotonic_ms();
        due = MIN(due, bus_due(bus));
        int64_t left = due == INT64_MAX ? -1 : MAX(due - now, INT64_C(0));
        if (poll(fds, ARRAY_SIZE(fds), (int)MIN(left, (int64_t)INT32_MAX)) < 0)
            continue;
        now = monotonic_ms();
        bus_dispatch(bus, now);
        due = front_pump(front, fds[0].revents, now);
    }
    front_end(front, monotonic_ms() + LINGER_MS);
}

/* Serves the command at FD. Tells at READY_FD what is wrong; nothing: the front is open. */
static void be_front(const struct door *door, int fd, int ready_fd)
{
    struct bus *bus = NULL;
    struct front *front = NULL;
    _cleanup_json_ json_t *hosts = NULL;
    struct fault fault = FAULT_NULL;
    (void)setsid(); /* Ctrl-C goes to the command alone */
    int r = open_front(door, fd, &bus, &hosts, &front, &fault);
    if (r < 0 && !*fault.text)
        (void)fault_set(&fault, "%s", strerror(-r));
    if (r < 0)
        (void)!write(ready_fd, fault.text, strlen(fault.text));
    (void)close_fd(ready_fd);
    if (r == 0)
        serve(bus, front);
    (void)front_free(front);
    (void)bus_free(bus);
}

/* --- the command -------------------------------------------------------------------------- */

/* Reads what the child has to say before it serves. 0, or -ECONNREFUSED after a complaint. */
static int await_child(int ready_fd)
{
    char text[FAULT_MAX + 1];
    size_t n = 0;
    ssize_t got;
    while ((got = read(ready_fd, text + n, sizeof(text) - 1 - n)) > 0 ||
           (got < 0 && errno == EINTR))
        n += got > 0 ? (size_t)got : 0;
    text[n] = '\0';
    if (n == 0)
        return 0;
    complain("%s", text);
    return -ECONNREFUSED;
}

/* Starts the child. Returns its pid, with our end of the socket and of the pipe. */
static pid_t start_child(const struct door *door, int *ret_fd, int *ret_ready_fd)
{
    int pair[2], ready[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) < 0)
        return -1;
    _cleanup_close_ int ours = pair[0], theirs = pair[1];
    if (pipe2(ready, O_CLOEXEC) < 0)
        return -1;
    _cleanup_close_ int ready_ours = ready[0], ready_theirs = ready[1];
    (void)fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        ours = close_fd(ours);
        ready_ours = close_fd(ready_ours);
        be_front(door, TAKE_FD(theirs), TAKE_FD(ready_theirs));
        _exit(0);
    }
    if (pid > 0) {
        *ret_fd = TAKE_FD(ours);
        *ret_ready_fd = TAKE_FD(ready_ours);
    }
    return pid;
}

static int open_door(const struct globals *globals, struct session *ret)
{
    const struct door *door = globals->open_arg;
    struct fault fault = FAULT_NULL;
    int fd = -1;
    _cleanup_close_ int ready_fd = -1;
    struct embedded child = {.what = "the front of the fleet"};
    child.pid = start_child(door, &fd, &ready_fd);
    if (child.pid < 0) {
        complain("cannot start a process: %s", strerror(errno));
        return -ECONNREFUSED;
    }
    child.pidfd = pidfd_open(child.pid, 0);
    int r = await_child(ready_fd);
    if (r < 0) {
        (void)close_fd(fd);
        embedded_stop(&child);
        return r;
    }
    r = session_adopt(fd, child, "the fleet", ret, &fault);
    if (r < 0)
        complain("%s", fault.text);
    else if (!door->options->run)
        complain("run %s: --run %s takes it up if this command ends early", door->run, door->run);
    return r;
}

/* Makes a name that no other run has: when it began, and a number. */
static void name_run(char ret[NAMES_RUN_MAX + 1])
{
    time_t now = time(NULL);
    struct tm tm;
    uint32_t number = 0;
    char day[32];
    (void)gmtime_r(&now, &tm);
    (void)strftime(day, sizeof(day), "%Y%m%d-%H%M%S", &tm);
    if (getrandom(&number, sizeof(number), 0) != (ssize_t)sizeof(number))
        number = (uint32_t)getpid();
    (void)snprintf(ret, NAMES_RUN_MAX + 1, "%s-%08" PRIx32, day, number);
}

/* The options of the door lie behind those of the command. */
static size_t offset_behind(const struct command *command)
{
    size_t align = _Alignof(struct door_options);
    return (command->options_size + align - 1) / align * align;
}

struct command door_command(const struct command *command)
{
    struct command made = *command;
    made.also = (struct option_table){door_specs, DOOR_SPECS, offset_behind(command)};
    made.options_size = made.also.offset + sizeof(struct door_options);
    return made;
}

/* Whether --no-rerun-starved is among the OPTIONS of COMMAND: its engine leaves such jobs to the
 * fleet. */
static bool keeps_starved(const struct command *command, const void *options)
{
    const char *shared = (const char *)options + command->shared.offset;
    const struct engine_options *engine = (const void *)shared;
    return command->shared.specs == engine_specs && engine->no_rerun_starved;
}

/* Checks the name of a run. 0, or -EINVAL with FAULT. */
static int check_run(const char *run, struct fault *fault)
{
    if (strncmp(run, NAMES_SERVE_HEAD, strlen(NAMES_SERVE_HEAD)) == 0)
        return fault_set(fault,
                         "--run \"%.80s\": names that begin with \"" NAMES_SERVE_HEAD
                         "\" belong to fleet serve, which deletes such runs; take another",
                         run);
    return names_check("--run", run, NAMES_RUN_MAX, fault);
}

enum exit_status door_run(const struct command *command, const struct globals *globals,
                          const void *options, const struct text_list *arguments)
{
    const void *behind = (const char *)options + offset_behind(command);
    struct door door = {.globals = fleet_globals_of(globals), .options = behind};
    struct fault fault = FAULT_NULL;
    door.keeps_starved = keeps_starved(command, options);
    if (!door.options->run)
        name_run(door.run);
    else if (check_run(door.options->run, &fault) < 0) {
        complain("%s", fault.text);
        return STATUS_USAGE;
    } else {
        (void)snprintf(door.run, sizeof(door.run), "%s", door.options->run);
    }
    struct fleet_globals with_door = *door.globals;
    with_door.base.open = open_door;
    with_door.base.open_arg = &door;
    return command->run(&with_door.base, options, arguments);
}
