/* SPDX-License-Identifier: MIT */
#include "benchcache.h"
#include "benchpush.h"
#include "commands.h"
#include "streams.h"

#include "client/terminal/text.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <libgen.h>
#include <poll.h>
#include <string.h>

/* Gives up when the server has stored nothing for so long. */
#define PATIENCE_MS 60000

struct pushing {
    bool is_over;
    char why[FAULT_MAX]; /* "": stored */
};

static void on_done(void *arg, const char *why)
{
    struct pushing *pushing = arg;
    pushing->is_over = true;
    (void)snprintf(pushing->why, sizeof(pushing->why), "%s", why ? why : "");
}

/* Waits until PUSH has ended, or the server stores nothing more. */
static void await(struct bus *bus, const struct benchpush *push, struct pushing *pushing)
{
    int64_t until = monotonic_ms() + PATIENCE_MS;
    size_t stored = 0;
    while (!pushing->is_over) {
        int64_t now = monotonic_ms();
        if (benchpush_stored(push) > stored)
            until = now + PATIENCE_MS;
        stored = benchpush_stored(push);
        if (now >= until) {
            on_done(pushing, "the server has stored nothing for a minute");
            return;
        }
        struct pollfd fd = {.fd = bus_fd(bus), .events = POLLIN};
        int64_t due = MIN(bus_due(bus), until);
        (void)poll(&fd, 1, (int)MAX(due - now, INT64_C(0)));
        bus_dispatch(bus, monotonic_ms());
    }
}

/* Stores one task class and prints a line about it. */
static int push_one(struct bus *bus, const struct tree_place *place)
{
    struct pushing pushing = {.why = ""};
    struct benchpush *push = NULL;
    struct fault fault = FAULT_NULL;
    int r = benchpush_new(bus, place, on_done, &pushing, &push, &fault);
    if (r < 0) {
        complain("%s: %s", place->name, *fault.text ? fault.text : strerror(-r));
        return r;
    }
    benchpush_go_on(push);
    await(bus, push, &pushing);
    if (*pushing.why) {
        complain("%s: %s", place->name, pushing.why);
        r = -EIO;
    } else {
        (void)printf("%s %s (%zu file%s, %" PRIu64 " bytes)\n", benchpush_digest(push), place->name,
                     benchpush_files(push), text_plural(benchpush_files(push)),
                     benchpush_bytes(push));
    }
    (void)benchpush_free(push);
    return r;
}

static int is_task_class(const struct dirent *entry)
{
    return benchcache_is_task_class(entry->d_name);
}

static bool has_rubric(const struct tree_place *place)
{
    _cleanup_close_ int fd = tree_open(place, "rubric.py", O_PATH);
    return fd >= 0;
}

/* Stores each task class of the bench at PATH. Returns how many there are, or a negative errno if
 * one could not be stored. */
static int push_bench(struct bus *bus, const char *path, int root)
{
    struct dirent **entries = NULL;
    int n = scandir(path, &entries, is_task_class, alphasort), found = 0, r = 0;
    for (int i = 0; i < n; i++) {
        const struct tree_place place = {root, entries[i]->d_name};
        if (has_rubric(&place)) {
            int pushed = push_one(bus, &place);
            r = pushed < 0 ? pushed : r;
            found++;
        }
        free(entries[i]);
    }
    free(entries);
    return r < 0 ? r : found;
}

/* PATH is a bench, or the directory of one rubric in it. */
static enum exit_status push_path(struct bus *bus, const char *path)
{
    _cleanup_free_ char *whole = realpath(path, NULL), *above = whole ? strdup(whole) : NULL,
                        *last = whole ? strdup(whole) : NULL;
    if (!above || !last) {
        complain("%s: %s", path, strerror(errno));
        return STATUS_USAGE;
    }
    char *name = basename(last), *parent = dirname(above);
    _cleanup_close_ int outer = open(parent, O_PATH | O_DIRECTORY | O_CLOEXEC);
    _cleanup_close_ int root = open(whole, O_PATH | O_DIRECTORY | O_CLOEXEC);
    const struct tree_place place = {outer, name};
    int r = 0;
    if (root < 0 || outer < 0) {
        complain("%s: %s", path, strerror(errno));
        return STATUS_USAGE;
    }
    if (benchcache_is_task_class(name) && has_rubric(&place))
        r = push_one(bus, &place) < 0 ? -EIO : 1;
    else
        r = push_bench(bus, whole, root);
    if (r == 0)
        complain("%s: neither the directory of a rubric nor one that holds such (DIR/rubric.py, "
                 "DIR/TASK_CLASS/rubric.py)",
                 path);
    if (r < 0)
        return STATUS_NO_DAEMON;
    return r == 0 ? STATUS_USAGE : STATUS_OK;
}

static enum exit_status run_push(const struct globals *globals, _unused_ const void *options,
                                 const struct text_list *arguments)
{
    const struct fleet_globals *fleet = fleet_globals_of(globals);
    struct fault fault = FAULT_NULL;
    struct bus *bus = NULL;
    enum exit_status status = STATUS_OK;
    int r = bus_open(&fleet->bus, false, &bus, &fault);
    if (r == 0)
        r = streams_check(bus, &fault);
    if (r < 0) {
        complain("%s", fault.text);
        status = STATUS_NO_DAEMON;
    }
    for (size_t i = 0; r == 0 && i < arguments->n; i++) {
        enum exit_status one = push_path(bus, arguments->items[i]);
        status = MAX(status, one);
    }
    (void)bus_free(bus);
    return status;
}

const struct command fleet_push_bench = {
    .name = "push-bench",
    .arguments = "DIR...",
    .argument_value = VALUE_DIRECTORY,
    .arguments_min = 1,
    .arguments_max = -1,
    .brief = "store a bench in the fleet, for hosts that do not have it",
    .description =
        "Stores the directories of rubrics in the fleet, by their content, and prints a line\n"
        "with the digest of each. DIR is a bench, each of whose directories with a rubric.py\n"
        "is stored, or one such directory. What is stored already is not stored again.\n"
        "\n"
        "A job that names the digest of its rubric's directory (rubric_digest) runs with just\n"
        "these files, on every host: a worker whose host lacks them fetches them into its\n"
        "cache. rubricctl fleet batch does all this by itself for a bench that it can read;\n"
        "this command is for benches that the host of the batch does not have.\n"
        "\n"
        "A directory has at most 1000 files with 64 MiB. Links count as the files that they\n"
        "lead to, which have to be beneath the bench. What a rubric reads elsewhere in the\n"
        "bench, beside its own directory, is not stored.\n",
    .examples = "  rubricctl fleet push-bench /srv/bench\n"
                "  rubricctl fleet push-bench --server tls://queue:4222 /srv/bench/sql-query\n",
    .exits = "  0    stored\n"
             "  2    wrong usage, or no rubric there\n"
             "  3    no server, or a directory could not be stored\n",
    .run = run_push,
};
