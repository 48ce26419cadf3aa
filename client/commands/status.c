/* SPDX-License-Identifier: MIT */
#include "commands.h"
#include "control.h"
#include "status_watch.h"

#include "client/connection/connect.h"
#include "client/terminal/json.h"
#include "client/terminal/screen.h"
#include "client/terminal/statusview.h"
#include "client/terminal/text.h"

/* If standard output is no terminal. */
#define STATUS_COLUMNS 80
#define STATUS_COLUMNS_MIN 32

#define WATCH_SECONDS 2

struct status_options {
    bool json;
    long watch; /* seconds; 0: once */
};

static void print_page(const struct message *status)
{
    size_t columns = STATUS_COLUMNS, rows = 0;
    time_t now = time(NULL);
    struct tm clock;
    screen_size(&columns, &rows);
    const struct statusview view = {
        .columns = MAX(columns, (size_t)STATUS_COLUMNS_MIN),
        .clock = localtime_r(&now, &clock),
        .colour = screen_wants_colour(),
    };
    statusview_put(stdout, status->object, &view);
}

static void print_status(const struct control_answer *answer, const void *options_)
{
    const struct status_options *options = options_;
    const struct message *status = answer->message;
    if (options->json && isatty(STDOUT_FILENO)) {
        (void)json_dumpf(status->object, stdout, JSON_INDENT(2) | terminal_json_flags(stdout));
        (void)fputc('\n', stdout);
    } else if (options->json) {
        control_put_json(status);
    } else {
        print_page(status);
    }
}

static enum exit_status run_status(const struct globals *globals, const void *options_,
                                   const struct text_list *arguments)
{
    static const struct control_question question = {
        .request = "{\"type\":\"status\"}",
        .wanted = MESSAGE_STATUS,
        .timeout_ms = SESSION_ANSWER_MS,
    };
    const struct status_options *options = options_;
    (void)arguments;
    if (options->watch == 0)
        return control_run(globals, &question, print_status, options);
    _cleanup_session_ struct session session = SESSION_NULL;
    int connected = connect_session(globals, CONNECT_ONLY, &session);
    if (connected < 0)
        return connect_status(globals, connected);
    return status_watch(&session, options->watch, options->json);
}

static const struct option_spec status_specs[] = {
    {
        .name = "json",
        .kind = OPTION_FLAG,
        .offset = offsetof(struct status_options, json),
        .help = "print the daemon's answer as JSON",
    },
    {
        .letter = 'w',
        .name = "watch",
        .argument = "SECONDS",
        .kind = OPTION_NUMBER,
        .offset = offsetof(struct status_options, watch),
        .min = 1,
        .max = 3600,
        .absent = WATCH_SECONDS,
        .help = "show the page again every SECONDS, or else every 2 seconds, until q or Ctrl-C is "
                "pressed",
    },
};

const struct command command_status = {
    .name = "status",
    .arguments = "",
    .arguments_max = 0,
    .brief = "show what the daemon is doing and how it confines jobs",
    .description =
        "Shows one page. First comes whatever needs attention. Then come the busy slots, the\n"
        "queue, and the counters since the daemon started; for each kind of job, how many\n"
        "jobs ended in the last 1, 5 and 15 minutes, the run time that 50 %, 90 % and 99 % of\n"
        "them did not exceed, and the time in the queue that 90 % did not exceed; each running\n"
        "job with its run time and deadline; the last failures; the clients; and the layers\n"
        "of isolation that are in force.\n"
        "\n"
        "Starts a private daemon only with --embedded; the page then shows what this host can\n"
        "confine.\n"
        "\n"
        "--watch redraws the page in place and waits for a daemon that goes away. If standard\n"
        "output is not a terminal, it prints page after page or, with --json, line after line.\n"
        "NO_COLOR turns colours off.\n",
    .examples = "  rubricctl status\n"
                "  rubricctl status --watch\n"
                "  rubricctl status --watch=10 --json | jq --unbuffered .queue.jobs\n"
                "  rubricctl status --json | jq .counters\n"
                "  rubricctl status --embedded\n",
    .exits = "  0    the status was shown\n"
             "  2    wrong usage\n"
             "  3    no daemon, or no answer within 10 seconds\n"
             "  4    the daemon answered with an error\n"
             "  130  --watch was interrupted\n",
    .options = status_specs,
    .n_options = ARRAY_SIZE(status_specs),
    .options_size = sizeof(struct status_options),
    .run = run_status,
};
