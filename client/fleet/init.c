/* SPDX-License-Identifier: MIT */
#include "commands.h"
#include "streams.h"

#include "client/terminal/text.h"

#define KEEP_DAYS_DEFAULT 7
#define DAY_S INT64_C(86400)
#define GIB (INT64_C(1) << 30)

struct init_options {
    long replicas;
    long keep;
    long max_gib;
    bool dry_run;
};

/* Brings one stream to what WISH says. Prints what it did, or would do. */
static int settle(struct bus *bus, const struct streams_wish *wish, enum fleet_stream stream,
                  bool dry_run, struct fault *fault)
{
    char name[NAMES_SUBJECT_SIZE], what[FAULT_MAX];
    enum streams_change change;
    names_stream(wish->fleet, stream, name);
    int r = streams_compare(bus, wish, stream, &change, what, fault);
    if (r == 0 && !dry_run)
        r = streams_apply(bus, wish, stream, change, fault);
    if (r < 0)
        return r;
    switch (change) {
    case STREAMS_SAME:
        (void)printf("%s: as it should be\n", name);
        break;
    case STREAMS_CREATE:
        (void)printf("%s: %s\n", name, dry_run ? "would be created" : "created");
        break;
    case STREAMS_UPDATE:
        (void)printf("%s: %s: %s\n", name, dry_run ? "would be changed" : "changed", what);
        break;
    }
    return 0;
}

/* Settles all streams: the announcements of hosts first, which are the ones that may have to be
 * made anew, and so that what the server refuses is refused before jobs and results are touched. */
static int settle_all(struct bus *bus, const struct streams_wish *wish, bool dry_run,
                      struct fault *fault)
{
    int r = settle(bus, wish, STREAM_HOSTS, dry_run, fault);
    for (enum fleet_stream stream = 0; r == 0 && stream < FLEET_STREAMS; stream++)
        if (stream != STREAM_HOSTS)
            r = settle(bus, wish, stream, dry_run, fault);
    return r;
}

static enum exit_status run_init(const struct globals *globals, const void *options_,
                                 _unused_ const struct text_list *arguments)
{
    const struct init_options *options = options_;
    const struct fleet_globals *fleet = fleet_globals_of(globals);
    struct fault fault = FAULT_NULL;
    struct bus *bus = NULL;
    int r = bus_open(&fleet->bus, false, &bus, &fault);
    if (r == 0) {
        const struct streams_wish wish = {
            .fleet = bus_fleet(bus),
            .replicas = MAX(options->replicas, 1),
            .keep_s = (options->keep ? options->keep : KEEP_DAYS_DEFAULT) * DAY_S,
            .max_bytes = options->max_gib ? options->max_gib * GIB : -1,
        };
        r = settle_all(bus, &wish, options->dry_run, &fault);
    }
    if (r < 0)
        complain("%s", fault.text);
    (void)bus_free(bus);
    return r < 0 ? STATUS_NO_DAEMON : STATUS_OK;
}

static const struct option_spec init_specs[] = {
    {
        .name = "replicas",
        .argument = "N",
        .kind = OPTION_NUMBER,
        .offset = offsetof(struct init_options, replicas),
        .min = 1,
        .max = 5,
        .help = "servers of the cluster that keep each stream (default: 1)",
    },
    {
        .name = "keep",
        .argument = "DAYS",
        .kind = OPTION_NUMBER,
        .offset = offsetof(struct init_options, keep),
        .min = 1,
        .max = 3650,
        .help = "how long results, inputs, marks and dead letters stay (default: 7); jobs stay "
                "until they are answered",
    },
    {
        .name = "max-gib",
        .argument = "N",
        .kind = OPTION_NUMBER,
        .offset = offsetof(struct init_options, max_gib),
        .min = 1,
        .max = 1 << 20,
        .help = "the most that jobs, results and inputs take each, in GiB (default: what the "
                "server allows)",
    },
    {
        .letter = 'n',
        .name = "dry-run",
        .kind = OPTION_FLAG,
        .offset = offsetof(struct init_options, dry_run),
        .help = "print what would change, and change nothing",
    },
};

const struct command fleet_init = {
    .name = "init",
    .arguments = "",
    .brief = "create the fleet's streams at the NATS server",
    .description =
        "Creates the streams of the fleet, or changes those that are there to what the\n"
        "options say, and prints a line for each. Run it once before the first worker, and\n"
        "again to change replicas or limits: a second run with the same options changes\n"
        "nothing. No job and no result is lost by it.\n"
        "\n"
        "Consumers are made by each batch for its run, so there are none to make here.\n",
    .examples = "  rubricctl fleet init --dry-run\n"
                "  rubricctl fleet init --server tls://nats-1:4222 --replicas 3 --keep 30\n",
    .exits = "  0    the streams are as they should be (or, with --dry-run, were compared)\n"
             "  2    wrong usage\n"
             "  3    no server, or it refused\n",
    .options = init_specs,
    .n_options = ARRAY_SIZE(init_specs),
    .options_size = sizeof(struct init_options),
    .run = run_init,
};
