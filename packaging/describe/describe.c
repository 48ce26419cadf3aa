/* SPDX-License-Identifier: MIT */
/* Prints the tables of the programs as JSON, from which the build makes the completions and the
 * man pages. Not installed. */
#include "client/cli/help.h"
#include "client/commands/commands.h"
#ifdef WITH_FLEET
#include "client/fleet/commands.h"
#endif
#include "client/http/options.h"
#include "conf/keys.h"
#include "daemon/log/messages.h"
#include "daemon/log/record.h"
#include "daemon/options.h"
#include "proto/jobkinds.h"
#include "proto/limits.h"
#include "proto/util.h"

#include <jansson.h>
#include <stdio.h>

static const char *value_name(enum option_value value)
{
    static const char *const names[] = {
        [VALUE_OTHER] = "other",
        [VALUE_FILE] = "file",
        [VALUE_DIRECTORY] = "directory",
        [VALUE_SOCKET] = "socket",
        [VALUE_CHOICE] = "choice",
        [VALUE_TASK_CLASS] = "task class",
        [VALUE_NAMED_FILE] = "named file",
        [VALUE_VARIABLE] = "variable",
        [VALUE_LIMIT] = "limit",
        [VALUE_SETTING] = "setting",
        [VALUE_JOB] = "job",
        [VALUE_COMMAND] = "command",
    };
    return names[value];
}

static json_t *describe_option(const struct option_spec *spec)
{
    const char letter[] = {spec->letter, '\0'};
    json_t *option = json_pack("{s:s,s:s,s:s?,s:s?,s:s,s:s,s:s?,s:b}", "name", spec->name, "letter",
                               letter, "argument", spec->absent ? NULL : spec->argument,
                               "optional_argument", spec->absent ? spec->argument : NULL, "help",
                               spec->help, "value", value_name(spec->value), "choices",
                               spec->choices, "repeatable", spec->kind == OPTION_LIST);
    if (spec->kind == OPTION_NUMBER)
        (void)json_object_set_new(option, "range",
                                  json_pack("[I,I]", (json_int_t)spec->min, (json_int_t)spec->max));
    return option;
}

static void describe_options(json_t *list, const struct option_spec *specs, size_t n)
{
    for (size_t i = 0; i < n; i++)
        (void)json_array_append_new(list, describe_option(&specs[i]));
}

static json_t *describe_command(const struct command *command)
{
    json_t *options = json_array();
    describe_options(options, command->options, command->n_options);
    describe_options(options, command->shared.specs, command->shared.n);
    describe_options(options, command->also.specs, command->also.n);
    return json_pack("{s:s,s:s,s:s,s:s,s:i,s:b,s:s,s:s,s:s,s:o}", "name", command->name, "brief",
                     command->brief, "arguments", command->arguments, "value",
                     value_name(command->argument_value), "arguments_max", command->arguments_max,
                     "takes_command", command->takes_command, "description", command->description,
                     "examples", command->examples, "exits", command->exits, "options", options);
}

static void describe_program(const struct program *program, json_t *options, json_t *list)
{
    describe_options(options, program->options, program->n_options);
    for (size_t i = 0; i < program->n_commands; i++)
        (void)json_array_append_new(list, describe_command(program->commands[i]));
}

#ifdef WITH_FLEET
static json_t *describe_fleet(void)
{
    json_t *options = json_array(), *list = json_array();
    struct fleet_program fleet;
    fleet_program_init(&fleet);
    describe_program(&fleet.program, options, list);
    return json_pack("{s:o,s:o,s:s}", "options", options, "commands", list, "exits",
                     help_exit_statuses);
}
#endif

static json_t *describe_client(void)
{
    json_t *options = json_array(), *list = json_array(), *kinds = json_array();
    describe_program(&rubricctl_program, options, list);
    for (enum job_kind_id id = 0; id < JOB_KIND_COUNT; id++)
        (void)json_array_append_new(kinds, json_pack("{s:s,s:s}", "name", job_kind_name(id),
                                                     "summary", job_kind_get(id)->summary));
    return json_pack("{s:o,s:o,s:o,s:s}", "options", options, "commands", list, "kinds", kinds,
                     "exits", help_exit_statuses);
}

static json_t *describe_daemon(void)
{
    json_t *options = json_array();
    describe_options(options, daemon_options, n_daemon_options);
    return json_pack("{s:o}", "options", options);
}

static json_t *describe_gateway(void)
{
    json_t *options = json_array();
    describe_options(options, http_options, n_http_options);
    return json_pack("{s:o}", "options", options);
}

static json_t *list_limits(void)
{
    json_t *list = json_array();
    for (enum limit limit = 0; limit < LIMIT_COUNT; limit++)
        (void)json_array_append_new(list, json_string(limit_key(limit)));
    return list;
}

static json_t *list_settings(void)
{
    json_t *list = json_array();
    for (size_t i = 0; i < config_key_count(); i++)
        (void)json_array_append_new(
            list, json_sprintf("%s.%s", config_key_at(i)->section, config_key_at(i)->name));
    return list;
}

/* Lists the kinds of log entries; list_fields() lists the fields of an entry. */
static json_t *list_messages(void)
{
    json_t *list = json_array();
    for (enum log_message message = LOG_MESSAGE_NONE + 1; message < LOG_MESSAGE_COUNT; message++)
        (void)json_array_append_new(list, json_pack("{s:s,s:s}", "name", log_message_name(message),
                                                    "id", log_message_id(message)));
    return list;
}

static json_t *list_fields(void)
{
    json_t *list = json_array();
    for (enum record_field field = 0; field < RECORD_FIELDS; field++)
        (void)json_array_append_new(list, json_string(record_field_name(field)));
    return list;
}

int main(void)
{
    json_t *tables = json_pack("{s:o,s:o,s:o,s:o,s:o,s:o,s:o}", "rubricctl", describe_client(),
                               "rubricd", describe_daemon(), "rubricd-http", describe_gateway(),
                               "limits", list_limits(), "settings", list_settings(), "messages",
                               list_messages(), "fields", list_fields());
#ifdef WITH_FLEET
    (void)json_object_set_new(tables, "rubricctl-fleet", describe_fleet());
#endif
    if (!tables || json_dumpf(tables, stdout, JSON_INDENT(2)) < 0 || fflush(stdout) != 0) {
        (void)fputs("describe: cannot print the tables\n", stderr);
        return 1;
    }
    json_decref(tables);
    return 0;
}
