/* SPDX-License-Identifier: MIT */
#include "commands.h"

#include "client/connection/beside.h"
#include "client/terminal/text.h"
#include "proto/util.h"

#include <string.h>

#define PROGRAM "rubricctl-fleet"

static enum exit_status run_fleet(const struct globals *globals, _unused_ const void *options,
                                  const struct text_list *arguments)
{
    static const char *const beside[] = {PROGRAM, "fleet/" PROGRAM};
    char path[PATH_MAX], name[] = PROGRAM;
    if (globals->socket || globals->embedded || globals->config || globals->slots ||
        globals->no_fail) {
        complain("fleet: options go behind the command of the fleet; see rubricctl fleet COMMAND "
                 "--help");
        return STATUS_USAGE;
    }
    if (beside_find(beside, ARRAY_SIZE(beside), path) < 0) {
        complain("fleet: no " PROGRAM " beside this program: install the package rubricd-fleet");
        return STATUS_USAGE;
    }
    _cleanup_free_ char **argv = calloc(arguments->n + 2, sizeof(*argv));
    if (argv) {
        argv[0] = name;
        for (size_t i = 0; i < arguments->n; i++)
            argv[i + 1] = (char *)(uintptr_t)arguments->items[i];
        (void)execv(path, argv);
    }
    complain("cannot execute %s: %s", path, strerror(argv ? errno : ENOMEM));
    return STATUS_USAGE;
}

const struct command command_fleet = {
    .name = "fleet",
    .arguments = "COMMAND [ARGUMENT]...",
    .arguments_min = 1,
    .arguments_max = -1,
    .takes_command = true,
    .brief = "spread batches over the daemons of many hosts",
    .description =
        "Runs rubricctl-fleet, a program of the package rubricd-fleet: batches go through\n"
        "a NATS server to workers, each of which feeds the daemon of its host.\n"
        "rubricctl fleet help lists its commands, rubricctl fleet help COMMAND explains\n"
        "one.\n",
    .examples = "  rubricctl fleet init\n"
                "  rubricctl fleet worker &\n"
                "  rubricctl fleet batch --output scores.jsonl jobs.jsonl\n",
    .exits = "  2    wrong usage, or the package is not installed\n"
             "  Otherwise that of the command.\n",
    .run = run_fleet,
};
