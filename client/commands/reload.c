/* SPDX-License-Identifier: MIT */
#include "commands.h"

#include "client/connection/connect.h"
#include "client/terminal/text.h"

#include <string.h>

/* The configuration is read and a jail is tried: it may take longer than other answers do. */
#define RELOAD_ANSWER_MS 60000

struct reload_options {
    bool json;
};

static void put_keys(const char *what, const json_t *keys)
{
    const json_t *key;
    size_t i;
    (void)fputs(what, stdout);
    json_array_foreach(keys, i, key)
    {
        (void)fputc(' ', stdout);
        text_put(stdout, json_string_value(key), json_string_length(key));
    }
    (void)fputc('\n', stdout);
}

static void print_reloaded(const struct message *reloaded)
{
    const json_t *changed = json_object_get(reloaded->object, "changed");
    const json_t *restart = json_object_get(reloaded->object, "restart");
    (void)printf("reloaded: generation %lld of the configuration is in force\n",
                 (long long)message_integer(reloaded, "generation"));
    if (json_array_size(changed) > 0)
        put_keys("changed:", changed);
    else
        (void)puts("changed: nothing");
    if (json_array_size(restart) > 0)
        put_keys("only with a restart:", restart);
}

/* A line for each mistake. */
static void complain_lines(const struct message *error)
{
    const char *line = message_text(error, "message");
    while (line && *line) {
        int length = (int)strcspn(line, "\n");
        complain("%.*s", length, line);
        line += length + (line[length] == '\n');
    }
}

static enum exit_status run_reload(const struct globals *globals, const void *options_,
                                   const struct text_list *arguments)
{
    const struct reload_options *options = options_;
    (void)arguments;
    if (globals->embedded) {
        complain("reload: --embedded makes no sense: a private daemon ends with its command");
        return STATUS_USAGE;
    }
    _cleanup_session_ struct session session = SESSION_NULL;
    if (connect_session(globals, CONNECT_ONLY, &session) < 0)
        return STATUS_NO_DAEMON;

    _cleanup_message_ struct message answer = MESSAGE_NULL;
    struct fault fault = FAULT_NULL;
    int r = session_ask(&session, "{\"type\":\"reload\"}", MESSAGE_RELOADED,
                        monotonic_ms() + RELOAD_ANSWER_MS, &answer, &fault);
    if (r < 0) {
        complain("%s: %s", session.where, fault.text);
        return STATUS_NO_DAEMON;
    }
    if (answer.type == MESSAGE_ERROR) {
        complain("not reloaded, nothing has changed: %s", message_text(&answer, "code"));
        complain_lines(&answer);
        return STATUS_ERRORS;
    }
    if (options->json) {
        (void)fwrite(answer.payload.data, 1, answer.payload.length, stdout);
        (void)fputc('\n', stdout);
    } else {
        print_reloaded(&answer);
    }
    return STATUS_OK;
}

static const struct option_spec reload_specs[] = {
    {
        .name = "json",
        .kind = OPTION_FLAG,
        .offset = offsetof(struct reload_options, json),
        .help = "print the daemon's answer as JSON",
    },
};

const struct command command_reload = {
    .name = "reload",
    .arguments = "",
    .arguments_max = 0,
    .brief = "have the daemon read its configuration again",
    .description =
        "Reads the configuration file and its drop-ins again, and puts what was changed\n"
        "into force: also the number of slots. No job is lost; those that were submitted\n"
        "before end under what was in force then. Names the keys that have changed, and\n"
        "those that take a restart. Where there is a mistake nothing changes, and every\n"
        "mistake is named with its file and line. Needs root, the daemon's own user, or\n"
        "an admin group.\n",
    .examples = "  sudo rubricctl reload\n"
                "  rubricd --check-config && sudo systemctl reload rubricd\n",
    .exits = "  0    reloaded\n"
             "  2    wrong usage\n"
             "  3    no daemon, or no answer within 60 seconds\n"
             "  4    refused, and nothing has changed\n",
    .options = reload_specs,
    .n_options = ARRAY_SIZE(reload_specs),
    .options_size = sizeof(struct reload_options),
    .run = run_reload,
};
