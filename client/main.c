/* SPDX-License-Identifier: MIT */
/* rubricctl: reads the command line and runs one command.
 *
 * The client's rooms, from the top: commands, one file per command or family; report, grade and
 * batch, the work behind them; connection, the way to the daemon; cli, the command line; terminal,
 * text for people. Below them are conf and proto. */
#include "client/cli/program.h"
#include "client/commands/commands.h"

int main(int argc, char **argv)
{
    struct globals globals = {.socket = NULL};
    return program_main(&rubricctl_program, argc, argv, &globals);
}
