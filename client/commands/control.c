/* SPDX-License-Identifier: MIT */
#include "control.h"
#include "commands.h"

#include "client/connection/connect.h"
#include "client/terminal/json.h"
#include "client/terminal/text.h"

#include <assert.h>
#include <string.h>
#include <time.h>

/* The daemon reads its configuration and tries a jail first, so this answer may take longer. */
#define RELOAD_ANSWER_MS 60000

/* --- the question --------------------------------------------------------------------------- */

static void complain_error(const struct message *error)
{
    complain("%s: %s", message_text(error, "code"), message_text(error, "message"));
}

enum exit_status control_ask(struct session *session, const struct control_question *question,
                             struct message *ret)
{
    _cleanup_message_ struct message answer = MESSAGE_NULL;
    struct fault fault = FAULT_NULL;
    int r = session_ask(session, question->request, question->wanted,
                        monotonic_ms() + question->timeout_ms, &answer, &fault);
    if (r < 0) {
        complain("%s: %s", question->about ? question->about : session->where, fault.text);
        return STATUS_NO_DAEMON;
    }
    if (answer.type != question->wanted) {
        assert(answer.type == MESSAGE_ERROR);
        (question->complain ? question->complain : complain_error)(&answer);
        return STATUS_ERRORS;
    }
    *ret = TAKE_STRUCT(answer, MESSAGE_NULL);
    return STATUS_OK;
}

void control_put_json(const struct message *message)
{
    if (isatty(STDOUT_FILENO))
        (void)json_dumpf(message->object, stdout, JSON_COMPACT | terminal_json_flags(stdout));
    else
        (void)fwrite(message->payload.data, 1, message->payload.length, stdout);
    (void)fputc('\n', stdout);
}

static double now_ms(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

enum exit_status control_run(const struct globals *globals, const struct control_question *question,
                             control_print_fn *print, const void *options)
{
    _cleanup_session_ struct session session = SESSION_NULL;
    int connected = connect_session(globals, CONNECT_ONLY, &session);
    if (connected < 0)
        return connect_status(globals, connected);

    _cleanup_message_ struct message message = MESSAGE_NULL;
    double begin = now_ms();
    enum exit_status status = control_ask(&session, question, &message);
    if (status != STATUS_OK)
        return status;
    const struct control_answer answer = {
        .session = &session,
        .message = &message,
        .took_ms = now_ms() - begin,
    };
    print(&answer, options);
    return STATUS_OK;
}

/* Complains if --embedded was given to COMMAND, for which a private daemon is of no use: WHY. */
static bool refuse_embedded(const struct globals *globals, const char *command, const char *why)
{
    if (globals->embedded)
        complain("%s: --embedded makes no sense: a private daemon %s", command, why);
    return globals->embedded;
}

/* --- ping ----------------------------------------------------------------------------------- */

static void print_pong(const struct control_answer *answer, const void *options)
{
    const struct session *session = answer->session;
    bool is_private = session->daemon.pid > 0;
    (void)options;
    (void)fputs(is_private ? "a private rubricd " : "rubricd ", stdout);
    text_put(stdout, session->version, strlen(session->version));
    if (!is_private) {
        (void)fputs(" at ", stdout);
        text_put(stdout, session->where, strlen(session->where));
    }
    (void)printf(" answered in %.3f ms\n", answer->took_ms);
}

static enum exit_status run_ping(const struct globals *globals, const void *options,
                                 const struct text_list *arguments)
{
    static const struct control_question question = {
        .request = "{\"type\":\"ping\"}",
        .wanted = MESSAGE_PONG,
        .timeout_ms = SESSION_ANSWER_MS,
    };
    (void)arguments;
    return control_run(globals, &question, print_pong, options);
}

const struct command command_ping = {
    .name = "ping",
    .arguments = "",
    .arguments_max = 0,
    .brief = "check that the daemon answers, and how fast",
    .description = "Connects to the daemon, asks it one question, and prints its version and the\n"
                   "round-trip time. Starts a private daemon only with --embedded.\n",
    .examples = "  rubricctl ping\n"
                "  rubricctl ping >/dev/null || systemctl restart rubricd\n",
    .exits = "  0    the daemon answered\n"
             "  2    wrong usage\n"
             "  3    no daemon, or no answer within 10 seconds\n"
             "  4    the daemon answered with an error\n",
    .run = run_ping,
};

/* --- metrics -------------------------------------------------------------------------------- */

static void print_metrics(const struct control_answer *answer, const void *options)
{
    (void)options;
    const char *text = message_text(answer->message, "text");
    if (!isatty(STDOUT_FILENO)) {
        (void)fputs(text, stdout);
        return;
    }
    while (*text) {
        size_t n = strcspn(text, "\n");
        text_put(stdout, text, n);
        (void)fputc('\n', stdout);
        text += n + (text[n] == '\n');
    }
}

static enum exit_status run_metrics(const struct globals *globals, const void *options,
                                    const struct text_list *arguments)
{
    static const struct control_question question = {
        .request = "{\"type\":\"metrics\"}",
        .wanted = MESSAGE_METRICS,
        .timeout_ms = SESSION_ANSWER_MS,
    };
    (void)arguments;
    return control_run(globals, &question, print_metrics, options);
}

const struct command command_metrics = {
    .name = "metrics",
    .arguments = "",
    .arguments_max = 0,
    .brief = "print the daemon's metrics for monitoring",
    .description =
        "Prints counters, gauges and latency histograms as OpenMetrics text. The daemon\n"
        "serves the same text over HTTP if its configuration sets [metrics] listen. Starts\n"
        "a private daemon only with --embedded.\n",
    .examples = "  rubricctl metrics\n"
                "  rubricctl metrics | grep ^rubricd_job_errors_total\n",
    .exits = "  0    the metrics were printed\n"
             "  2    wrong usage\n"
             "  3    no daemon, or no answer within 10 seconds\n"
             "  4    the daemon answered with an error\n",
    .run = run_metrics,
};

/* --- cancel --------------------------------------------------------------------------------- */

static int parse_job_no(const char *text, long long *ret)
{
    char *end;
    errno = 0;
    long long value = strtoll(text, &end, 10);
    if (errno || end == text || *end || value <= 0) {
        complain("cancel: \"%s\" is not a job number; rubricctl status shows them", text);
        return -EINVAL;
    }
    *ret = value;
    return 0;
}

/* The daemon answers with an `error` in either case; its code says whether the job was cancelled.
 */
static enum exit_status cancel_job(struct session *session, long long job_no)
{
    _cleanup_message_ struct message answer = MESSAGE_NULL;
    char request[64], about[32];
    const struct control_question question = {
        .request = request,
        .wanted = MESSAGE_ERROR,
        .timeout_ms = SESSION_ANSWER_MS,
        .about = about,
    };
    (void)snprintf(request, sizeof(request), "{\"type\":\"cancel\",\"job_no\":%lld}", job_no);
    (void)snprintf(about, sizeof(about), "job %lld", job_no);

    enum exit_status status = control_ask(session, &question, &answer);
    if (status != STATUS_OK)
        return status;
    const char *code = message_text(&answer, "code");
    if (strcmp(code, "cancelled") != 0) {
        complain("%s: %s: %s", about, code, message_text(&answer, "message"));
        return STATUS_ERRORS;
    }
    (void)printf("%s cancelled\n", about);
    return STATUS_OK;
}

static enum exit_status run_cancel(const struct globals *globals, const void *options,
                                   const struct text_list *arguments)
{
    (void)options;
    long long job_no;
    for (size_t i = 0; i < arguments->n; i++)
        if (parse_job_no(arguments->items[i], &job_no) < 0)
            return STATUS_USAGE;
    if (refuse_embedded(globals, "cancel", "has no jobs but its own"))
        return STATUS_USAGE;

    _cleanup_session_ struct session session = SESSION_NULL;
    int connected = connect_session(globals, CONNECT_ONLY, &session);
    if (connected < 0)
        return connect_status(globals, connected);
    struct ending ending = {.errors = false};
    for (size_t i = 0; i < arguments->n && !ending.lost; i++) {
        if (parse_job_no(arguments->items[i], &job_no) < 0)
            return STATUS_USAGE;
        enum exit_status status = cancel_job(&session, job_no);
        ending.lost |= status == STATUS_NO_DAEMON;
        ending.errors |= status == STATUS_ERRORS;
    }
    return ending_status(&ending, globals->no_fail);
}

const struct command command_cancel = {
    .name = "cancel",
    .arguments = "JOB_NO...",
    .argument_value = VALUE_JOB,
    .arguments_min = 1,
    .arguments_max = -1,
    .brief = "end jobs by their number",
    .description =
        "Cancels each job, whether it is queued or running; rubricctl status shows the\n"
        "numbers. The client that submitted the job receives the error `cancelled` for it.\n"
        "You may cancel jobs of your own user; root, the daemon's own user and members of\n"
        "an admin group may cancel any job.\n",
    .examples = "  rubricctl cancel 1201\n"
                "  rubricctl status --json | jq '.slots[].job.job_no // empty' | \\\n"
                "      xargs rubricctl cancel\n",
    .exits = "  0    every job was cancelled\n"
             "  2    wrong usage\n"
             "  3    no daemon, or the connection was lost\n"
             "  4    a job was not cancelled: it has ended, or you may not cancel it\n",
    .run = run_cancel,
};

/* --- drain ---------------------------------------------------------------------------------- */

/* Waits for the daemon to say `bye`, its last message before it closes the connection and exits. */
static enum exit_status wait_for_bye(struct session *session)
{
    struct fault fault = FAULT_NULL;
    for (;;) {
        _cleanup_message_ struct message message = MESSAGE_NULL;
        int r = session_wait(session, -1, -1, &message, &fault);
        if (r < 0)
            break;
        if (message.type == MESSAGE_ERROR) {
            complain_error(&message);
            return STATUS_ERRORS;
        }
        session_unexpected(&message);
    }
    if (session->bye && strcmp(session->bye, "draining") == 0) {
        (void)puts("drained: rubricd has finished its jobs and exits");
        return STATUS_OK;
    }
    complain("%s: %s", session->where, fault.text);
    return STATUS_NO_DAEMON;
}

static enum exit_status run_drain(const struct globals *globals, const void *options,
                                  const struct text_list *arguments)
{
    static const char request[] = "{\"type\":\"drain\"}";
    (void)options;
    (void)arguments;
    if (refuse_embedded(globals, "drain", "ends with its command"))
        return STATUS_USAGE;
    _cleanup_session_ struct session session = SESSION_NULL;
    int connected = connect_session(globals, CONNECT_ONLY, &session);
    if (connected < 0)
        return connect_status(globals, connected);
    if (session_send(&session, request, strlen(request)) < 0) {
        complain("out of memory");
        return STATUS_NO_DAEMON;
    }
    return wait_for_bye(&session);
}

const struct command command_drain = {
    .name = "drain",
    .arguments = "",
    .arguments_max = 0,
    .brief = "have the daemon finish its running jobs and exit",
    .description =
        "Tells the daemon to drain, and waits until it says goodbye. The daemon finishes\n"
        "the running jobs, answers every queued job and every new one with the error\n"
        "`draining`, and exits. Only root, the daemon's own user and members of an admin\n"
        "group may do this.\n",
    .examples = "  sudo rubricctl drain && sudo reboot\n",
    .exits = "  0    the daemon has drained\n"
             "  2    wrong usage\n"
             "  3    no daemon, or the connection was lost before the daemon had drained\n"
             "  4    the daemon refused: you may not drain it\n",
    .run = run_drain,
};

/* --- reload --------------------------------------------------------------------------------- */

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

static void print_reloaded(const struct control_answer *answer, const void *options_)
{
    const struct reload_options *options = options_;
    const struct message *reloaded = answer->message;
    const json_t *changed = json_object_get(reloaded->object, "changed");
    const json_t *restart = json_object_get(reloaded->object, "restart");
    if (options->json) {
        control_put_json(reloaded);
        return;
    }
    (void)printf("reloaded: generation %lld of the configuration is in force\n",
                 (long long)message_integer(reloaded, "generation"));
    if (json_array_size(changed) > 0)
        put_keys("changed:", changed);
    else
        (void)puts("changed: nothing");
    if (json_array_size(restart) > 0)
        put_keys("only with a restart:", restart);
}

/* The daemon's message has a line for each mistake in the configuration. */
static void complain_not_reloaded(const struct message *error)
{
    const char *line = message_text(error, "message");
    complain("not reloaded, nothing has changed: %s", message_text(error, "code"));
    while (line && *line) {
        int length = (int)strcspn(line, "\n");
        complain("%.*s", length, line);
        line += length + (line[length] == '\n');
    }
}

static enum exit_status run_reload(const struct globals *globals, const void *options,
                                   const struct text_list *arguments)
{
    static const struct control_question question = {
        .request = "{\"type\":\"reload\"}",
        .wanted = MESSAGE_RELOADED,
        .timeout_ms = RELOAD_ANSWER_MS,
        .complain = complain_not_reloaded,
    };
    (void)arguments;
    if (refuse_embedded(globals, "reload", "ends with its command"))
        return STATUS_USAGE;
    return control_run(globals, &question, print_reloaded, options);
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
        "Tells the daemon to read its configuration file and drop-ins again and to put the\n"
        "changes into force, a changed number of slots included. No job is lost: a job\n"
        "keeps the settings under which it was submitted. Prints the keys that changed,\n"
        "and those that change only with a restart.\n"
        "\n"
        "If the new configuration has mistakes, nothing changes, and every mistake is\n"
        "printed with its file and line. Only root, the daemon's own user and members of\n"
        "an admin group may do this.\n",
    .examples = "  sudo rubricctl reload\n"
                "  rubricd --check-config && sudo systemctl reload rubricd\n",
    .exits = "  0    the configuration was reloaded\n"
             "  2    wrong usage\n"
             "  3    no daemon, or no answer within 60 seconds\n"
             "  4    the daemon refused, and nothing has changed\n",
    .options = reload_specs,
    .n_options = ARRAY_SIZE(reload_specs),
    .options_size = sizeof(struct reload_options),
    .run = run_reload,
};
