/* SPDX-License-Identifier: MIT */
/* rubricctl: reads the command line and runs one command.
 *
 * The client's rooms, from the top: commands, one file per command or family; report, grade and
 * batch, the work behind them; connection, the way to the daemon; cli, the command line; terminal,
 * text for people. Below them are conf and proto. */
#include "client/cli/help.h"
#include "client/commands/commands.h"
#include "client/terminal/text.h"
#include "conf/suggest.h"

#include <assert.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>

static const struct command *find_command(const char *name)
{
    for (size_t i = 0; i < n_commands; i++)
        if (strcmp(commands[i]->name, name) == 0)
            return commands[i];
    return NULL;
}

static enum exit_status unknown_command(const char *name)
{
    const char *names[COMMANDS_MAX];
    assert(n_commands <= COMMANDS_MAX);
    for (size_t i = 0; i < n_commands; i++)
        names[i] = commands[i]->name;
    const char *near = suggest(name, names, n_commands);
    if (near)
        complain("unknown command \"%s\"; did you mean %s?", name, near);
    else
        complain("unknown command \"%s\"; see rubricctl --help", name);
    return STATUS_USAGE;
}

static enum exit_status missing_command(void)
{
    char names[COMMANDS_MAX * 16] = "";
    size_t used = 0;
    for (size_t i = 0; i < n_commands && used < sizeof(names); i++) {
        const char *between = i == 0 ? "" : i + 1 < n_commands ? ", " : " or ";
        used += (size_t)snprintf(names + used, sizeof(names) - used, "%s%s", between,
                                 commands[i]->name);
    }
    complain("a command is missing: %s; see rubricctl --help", names);
    return STATUS_USAGE;
}

static enum exit_status print_version(void)
{
    (void)puts("rubricctl " RUBRICCTL_VERSION);
    return STATUS_OK;
}

static enum exit_status run_command(const struct command *command, int argc, char **argv,
                                    struct globals *globals)
{
    _cleanup_free_ void *options = calloc(1, MAX(command->options_size, 1));
    _cleanup_(text_list_deinit) struct text_list arguments = {.items = NULL};
    if (!options) {
        complain("out of memory");
        return STATUS_USAGE;
    }
    enum exit_status status = STATUS_USAGE;
    int r = options_parse_command(command, argc, argv, globals, options, &arguments);
    if (r == 0 && globals->help) {
        help_command(stdout, command);
        status = STATUS_OK;
    } else if (r == 0 && globals->version) {
        status = print_version();
    } else if (r == 0) {
        status = command->run(globals, options, &arguments);
    }
    options_deinit(command, options);
    return status;
}

/* Serves "rubricctl help [COMMAND]", which people type. */
static enum exit_status run_help(int argc, char **argv)
{
    if (argc < 2) {
        help_all(stdout, commands, n_commands);
        return STATUS_OK;
    }
    const struct command *command = find_command(argv[1]);
    if (!command)
        return unknown_command(argv[1]);
    help_command(stdout, command);
    return STATUS_OK;
}

static enum exit_status dispatch(int argc, char **argv)
{
    struct globals globals = {.socket = NULL};
    int at = options_parse_globals(argc, argv, &globals);
    if (at < 0)
        return STATUS_USAGE;
    if (at < argc && strcmp(argv[at], "help") == 0)
        return run_help(argc - at, argv + at);
    if (at < argc) {
        const struct command *command = find_command(argv[at]);
        return command ? run_command(command, argc - at, argv + at, &globals)
                       : unknown_command(argv[at]);
    }
    if (globals.help)
        return run_help(0, NULL);
    if (globals.version)
        return print_version();
    return missing_command();
}

/* Opens the standard descriptors that are closed, so that no descriptor opened later becomes
 * standard input, output or error. */
static void hold_standard_descriptors(void)
{
    int fd;
    do
        fd = open("/dev/null", O_RDWR);
    while (fd >= 0 && fd <= STDERR_FILENO);
    close_fd(fd);
}

/* Returns whether the reader of standard output has closed it, as `| head` does: no error. */
static bool reader_gone(void)
{
    struct pollfd output = {.fd = STDOUT_FILENO, .events = POLLOUT};
    return poll(&output, 1, 0) == 1 && (output.revents & POLLERR);
}

int main(int argc, char **argv)
{
    hold_standard_descriptors();
    (void)signal(SIGPIPE, SIG_IGN);

    enum exit_status status = dispatch(argc, argv);
    bool written = fflush(stdout) == 0 && !ferror(stdout);
    if (written || reader_gone())
        return status;
    complain("cannot write the output");
    return status == STATUS_OK ? STATUS_USAGE : status;
}
