/* SPDX-License-Identifier: MIT */
/* rubricctl-fleet: batches over the daemons of many hosts. README.md says how. */
#include "commands.h"

#include "client/cli/program.h"

int main(int argc, char **argv)
{
    struct fleet_globals globals = {.base = {.socket = NULL}};
    struct fleet_program fleet;
    fleet_program_init(&fleet);
    enum exit_status status = program_main(&fleet.program, argc, argv, &globals.base);
    optparse_deinit(fleet_options, FLEET_OPTIONS, &globals);
    return status;
}
