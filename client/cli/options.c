/* SPDX-License-Identifier: MIT */
#include "options.h"

#include "client/terminal/text.h"
#include "conf/config_data.h"

#include <stdio.h>

const struct option_spec global_options[GLOBAL_OPTIONS] = {
    {
        .letter = 's',
        .name = "socket",
        .argument = "PATH",
        .kind = OPTION_TEXT,
        .value = VALUE_SOCKET,
        .offset = offsetof(struct globals, socket),
        .help = "connect to this socket (default: $RUBRICD_SOCKET, or else "
                "/run/rubricd/rubricd.sock)",
    },
    {
        .letter = 'e',
        .name = "embedded",
        .kind = OPTION_FLAG,
        .offset = offsetof(struct globals, embedded),
        .help = "start a private daemon that ends with this command (not for cancel, drain and "
                "reload)",
    },
    {
        .name = "config",
        .argument = "FILE",
        .kind = OPTION_TEXT,
        .value = VALUE_FILE,
        .offset = offsetof(struct globals, config),
        .help = "configuration file of the private daemon",
    },
    {
        .name = "slots",
        .argument = "N",
        .kind = OPTION_NUMBER,
        .offset = offsetof(struct globals, slots),
        .min = 1,
        .max = CONFIG_SLOTS_MAX,
        .help = "number of jobs that the private daemon runs at once",
    },
    {
        .name = "no-fail",
        .kind = OPTION_FLAG,
        .offset = offsetof(struct globals, no_fail),
        .help = "exit with 0 instead of 1 if a job did not pass",
    },
    {
        .letter = 'h',
        .name = "help",
        .kind = OPTION_FLAG,
        .offset = offsetof(struct globals, help),
        .help = "explain the program or the command, then exit",
    },
    {
        .letter = 'V',
        .name = "version",
        .kind = OPTION_FLAG,
        .offset = offsetof(struct globals, version),
        .help = "print the version, then exit",
    },
};

int options_parse_globals(const struct program *program, int argc, char **argv,
                          struct globals *globals)
{
    struct fault fault = FAULT_NULL;
    char hint[128];
    const struct command_line line = {
        .sets = {{program->options, program->n_options, globals}},
        .stop_at_word = true,
        .hint = hint,
    };
    (void)snprintf(hint, sizeof(hint),
                   " (a command's own options go behind its name; see %s --help)", program->name);
    int first = optparse_read(&line, argc, argv, &fault);
    if (first < 0) {
        complain("%s", fault.text);
        return -1;
    }
    return first;
}

static int check_arguments(const struct program *program, const struct command *command, size_t n,
                           const char *const *items)
{
    if (n < (size_t)command->arguments_min) {
        complain("%s: %s is missing; see %s %s --help", command->name, command->arguments,
                 program->name, command->name);
        return -1;
    }
    if (command->arguments_max >= 0 && n > (size_t)command->arguments_max) {
        complain("%s: unexpected argument \"%s\"; see %s %s --help", command->name,
                 items[command->arguments_max], program->name, command->name);
        return -1;
    }
    return 0;
}

int options_parse_command(const struct program *program, const struct command *command, int argc,
                          char **argv, struct globals *globals, void *options,
                          struct text_list *arguments)
{
    struct fault fault = FAULT_NULL;
    char hint[96];
    const struct option_table *shared = &command->shared, *also = &command->also;
    const struct command_line line = {
        .sets = {{command->options, command->n_options, options},
                 {shared->specs, shared->n, (char *)options + shared->offset},
                 {also->specs, also->n, (char *)options + also->offset},
                 {program->options, program->n_options, globals}},
        .stop_at_word = command->takes_command,
        .hint = hint,
    };
    (void)snprintf(hint, sizeof(hint), "; see %s %s --help", program->name, command->name);
    int first = optparse_read(&line, argc, argv, &fault);
    if (first < 0) {
        complain("%s", fault.text);
        return -1;
    }
    for (int i = first; i < argc; i++) {
        if (text_list_add(arguments, argv[i]) < 0) {
            complain("out of memory");
            return -1;
        }
    }
    if (globals->help || globals->version)
        return 0;
    return check_arguments(program, command, arguments->n, arguments->items);
}

void options_deinit(const struct command *command, void *options)
{
    const struct option_table *shared = &command->shared, *also = &command->also;
    optparse_deinit(command->options, command->n_options, options);
    optparse_deinit(shared->specs, shared->n, (char *)options + shared->offset);
    optparse_deinit(also->specs, also->n, (char *)options + also->offset);
}
