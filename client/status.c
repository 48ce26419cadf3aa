/* SPDX-License-Identifier: MIT */
#include "commands.h"
#include "connect.h"
#include "statusview.h"
#include "text.h"

struct status_options {
    bool json;
};

static bool wants_colour(void)
{
    const char *no_colour = getenv("NO_COLOR"); /* see no-color.org: any value but empty */
    return isatty(STDOUT_FILENO) && !(no_colour && *no_colour);
}

static void print(const struct message *status, bool json)
{
    if (json && isatty(STDOUT_FILENO)) {
        (void)json_dumpf(status->object, stdout, JSON_INDENT(2));
        (void)fputc('\n', stdout);
    } else if (json) {
        (void)fwrite(status->payload.data, 1, status->payload.length, stdout);
        (void)fputc('\n', stdout);
    } else {
        statusview_put(stdout, status->object, wants_colour());
    }
}

static enum exit_status run_status(const struct globals *globals, const void *options_,
                                   const struct text_list *arguments)
{
    const struct status_options *options = options_;
    (void)arguments;
    _cleanup_session_ struct session session = SESSION_NULL;
    if (connect_session(globals, CONNECT_ONLY, &session) < 0)
        return STATUS_NO_DAEMON;

    _cleanup_message_ struct message status = MESSAGE_NULL;
    struct fault fault = FAULT_NULL;
    int r = session_ask(&session, "{\"type\":\"status\"}", MESSAGE_STATUS,
                        monotonic_ms() + SESSION_ANSWER_MS, &status, &fault);
    if (r < 0) {
        complain("%s: %s", session.where, fault.text);
        return STATUS_NO_DAEMON;
    }
    if (status.type == MESSAGE_ERROR) {
        complain("%s: %s", message_text(&status, "code"), message_text(&status, "message"));
        return STATUS_ERRORS;
    }
    print(&status, options->json);
    return STATUS_OK;
}

static const struct option_spec status_specs[] = {
    {
        .name = "json",
        .kind = OPTION_FLAG,
        .offset = offsetof(struct status_options, json),
        .help = "print the daemon's answer as JSON",
    },
};

const struct command command_status = {
    .name = "status",
    .arguments = "",
    .arguments_max = 0,
    .brief = "show what the daemon is doing, and how it confines jobs",
    .description =
        "Shows each slot of the pool with the job that it runs, for how long it has run\n"
        "and how long it may; the queue; the clients; what has been counted since the\n"
        "start; the last failures; and which layers of isolation are in force. Never\n"
        "starts a daemon, unless --embedded asks for it: that shows what this host can\n"
        "confine. NO_COLOR turns colours off.\n",
    .examples = "  rubricctl status\n"
                "  rubricctl status --json | jq .counters\n"
                "  rubricctl status --embedded\n",
    .exits = "  0    shown\n"
             "  2    wrong usage\n"
             "  3    no daemon, or no answer within 10 seconds\n"
             "  4    it answered with an error\n",
    .options = status_specs,
    .n_options = ARRAY_SIZE(status_specs),
    .options_size = sizeof(struct status_options),
    .run = run_status,
};
