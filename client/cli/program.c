/* SPDX-License-Identifier: MIT */
#include "program.h"
#include "help.h"

#include "client/terminal/text.h"
#include "conf/suggest.h"

#include <assert.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>

static const struct command *find_command(const struct program *program, const char *name)
{
    for (size_t i = 0; i < program->n_commands; i++)
        if (strcmp(program->commands[i]->name, name) == 0)
            return program->commands[i];
    return NULL;
}

static enum exit_status unknown_command(const struct program *program, const char *name)
{
    const char *names[PROGRAM_COMMANDS_MAX];
    assert(program->n_commands <= PROGRAM_COMMANDS_MAX);
    for (size_t i = 0; i < program->n_commands; i++)
        names[i] = program->commands[i]->name;
    const char *near = suggest(name, names, program->n_commands);
    if (near)
        complain("unknown command \"%s\"; did you mean %s?", name, near);
    else
        complain("unknown command \"%s\"; see %s --help", name, program->name);
    return STATUS_USAGE;
}

static enum exit_status missing_command(const struct program *program)
{
    char names[PROGRAM_COMMANDS_MAX * 16] = "";
    size_t used = 0;
    for (size_t i = 0; i < program->n_commands && used < sizeof(names); i++) {
        const char *between = i == 0 ? "" : i + 1 < program->n_commands ? ", " : " or ";
        used += (size_t)snprintf(names + used, sizeof(names) - used, "%s%s", between,
                                 program->commands[i]->name);
    }
    complain("a command is missing: %s; see %s --help", names, program->name);
    return STATUS_USAGE;
}

static enum exit_status print_version(const struct program *program)
{
    (void)printf("%s " RUBRICCTL_VERSION "\n", program->name);
    return STATUS_OK;
}

static enum exit_status run_command(const struct program *program, const struct command *command,
                                    int argc, char **argv, struct globals *globals)
{
    _cleanup_free_ void *options = calloc(1, MAX(command->options_size, 1));
    _cleanup_(text_list_deinit) struct text_list arguments = {.items = NULL};
    if (!options) {
        complain("out of memory");
        return STATUS_USAGE;
    }
    enum exit_status status = STATUS_USAGE;
    struct fault fault = FAULT_NULL;
    int r = options_parse_command(program, command, argc, argv, globals, options, &arguments);
    if (r == 0 && globals->help) {
        help_command(stdout, program, command);
        status = STATUS_OK;
    } else if (r == 0 && globals->version) {
        status = print_version(program);
    } else if (r == 0 && program->check && program->check(globals, &fault) < 0) {
        complain("%s", fault.text);
    } else if (r == 0) {
        status = command->run(globals, options, &arguments);
    }
    options_deinit(command, options);
    return status;
}

/* Serves "help [COMMAND]", which people type. */
static enum exit_status run_help(const struct program *program, int argc, char **argv)
{
    if (argc < 2) {
        program->help(stdout, program);
        return STATUS_OK;
    }
    const struct command *command = find_command(program, argv[1]);
    if (!command)
        return unknown_command(program, argv[1]);
    help_command(stdout, program, command);
    return STATUS_OK;
}

static enum exit_status dispatch(const struct program *program, int argc, char **argv,
                                 struct globals *globals)
{
    int at = options_parse_globals(program, argc, argv, globals);
    if (at < 0)
        return STATUS_USAGE;
    if (at < argc && strcmp(argv[at], "help") == 0)
        return run_help(program, argc - at, argv + at);
    if (at < argc) {
        const struct command *command = find_command(program, argv[at]);
        return command ? run_command(program, command, argc - at, argv + at, globals)
                       : unknown_command(program, argv[at]);
    }
    if (globals->help)
        return run_help(program, 0, NULL);
    if (globals->version)
        return print_version(program);
    return missing_command(program);
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

enum exit_status program_main(const struct program *program, int argc, char **argv,
                              struct globals *globals)
{
    hold_standard_descriptors();
    (void)signal(SIGPIPE, SIG_IGN);

    enum exit_status status = dispatch(program, argc, argv, globals);
    bool written = fflush(stdout) == 0 && !ferror(stdout);
    if (written || reader_gone())
        return status;
    complain("cannot write the output");
    return status == STATUS_OK ? STATUS_USAGE : status;
}
