/* SPDX-License-Identifier: MIT */
#include "commands.h"
#include "sandboxjob.h"
#include "single.h"

#include "client/connection/connect.h"
#include "client/terminal/member.h"
#include "client/terminal/text.h"

#include <string.h>

/* What a shell adds to a signal's number. */
#define SIGNAL_STATUS 128

/* --- the answer --------------------------------------------------------------------------- */

/* Byte for byte: it is the command's output, not ours. Returns whether it ends in mid-line. */
static bool put_output(FILE *stream, const json_t *text)
{
    size_t n = json_string_length(text);
    if (n == 0)
        return false;
    (void)fwrite(json_string_value(text), 1, n, stream);
    (void)fflush(stream);
    return json_string_value(text)[n - 1] != '\n' && isatty(fileno(stream));
}

static void describe_end(const json_t *result, char *out, size_t size)
{
    const json_t *outcome = json_object_get(result, "outcome");
    const char *limit = json_string_value(json_object_get(outcome, "limit_exceeded"));
    const char *reason = json_string_value(json_object_get(result, "reason"));
    int64_t signal = member_integer(outcome, "signal");
    if (reason) {
        (void)snprintf(out, size, "not run: %s", reason);
    } else if (limit) {
        (void)snprintf(out, size, "sandbox limit exceeded: %s", limit);
    } else if (json_is_true(json_object_get(outcome, "success"))) {
        (void)snprintf(out, size, "ok");
    } else if (signal > 0) {
        const char *name = sigabbrev_np((int)signal);
        (void)snprintf(out, size, name ? "signal %d (SIG%s)" : "signal %d", (int)signal, name);
    } else {
        (void)snprintf(out, size, "exit status %d", (int)member_integer(outcome, "exit_code"));
    }
}

/* "ok: 12 ms, 8 ms CPU, 3.4 MiB" */
static void summarise(const json_t *result)
{
    char end[128], wall[TEXT_QUANTITY_MAX], cpu[TEXT_QUANTITY_MAX], memory[TEXT_QUANTITY_MAX];
    const json_t *usage = json_object_get(result, "usage");
    describe_end(result, end, sizeof(end));
    complain("%s: %s, %s CPU, %s", end, text_duration(member_integer(usage, "wall_clock_ms"), wall),
             text_duration(member_integer(usage, "cpu_ms"), cpu),
             text_size(member_integer(usage, "max_rss_bytes"), memory));
}

/* The command's own, as a shell tells it; never 0 unless it went well. */
static int status_of_command(const json_t *result)
{
    const json_t *outcome = json_object_get(result, "outcome");
    int signal = (int)member_integer(outcome, "signal"),
        code = (int)member_integer(outcome, "exit_code");
    if (json_is_true(json_object_get(outcome, "success")))
        return 0;
    return signal > 0 ? SIGNAL_STATUS + signal : code > 0 ? code : STATUS_FAILED;
}

static enum exit_status show_result(const struct message *answer,
                                    const struct sandbox_options *options, bool no_fail)
{
    const json_t *result = answer->object;
    struct ending ending = {.failed = !message_verdict(answer).passed};
    if (options->json) {
        single_print(result);
        return ending_status(&ending, no_fail);
    }
    const json_t *outcome = json_object_get(result, "outcome");
    bool open_line = put_output(stdout, json_object_get(result, "stdout"));
    open_line = put_output(stderr, json_object_get(outcome, "stderr")) || open_line;
    if (!options->quiet) {
        if (open_line)
            (void)fputc('\n', stderr);
        summarise(result);
    }
    return no_fail ? STATUS_OK : (enum exit_status)status_of_command(result);
}

static enum exit_status show_error(const struct message *answer, bool json)
{
    if (json)
        single_print(answer->object);
    complain("no result: %s: %s", message_text(answer, "code"), message_text(answer, "message"));
    return STATUS_ERRORS;
}

/* --- the command -------------------------------------------------------------------------- */

static enum exit_status sandbox_run(const struct globals *globals, const void *options_,
                                    const struct text_list *arguments)
{
    const struct sandbox_options *options = options_;
    _cleanup_json_ json_t *job = NULL;
    struct fault fault = FAULT_NULL;
    int r = sandbox_job(options, arguments, &job, &fault);
    if (r < 0) {
        complain("%s", fault.text[0] ? fault.text : strerror(-r));
        return STATUS_USAGE;
    }
    _cleanup_session_ struct session session = SESSION_NULL;
    _cleanup_message_ struct message answer = MESSAGE_NULL;
    if (connect_session(globals, CONNECT_OR_START, &session) < 0)
        return STATUS_NO_DAEMON;
    enum exit_status status = single_job(&session, job, NULL, "sandbox", &answer);
    if (status != STATUS_OK)
        return status;
    return answer.type == MESSAGE_ERROR ? show_error(&answer, options->json)
                                        : show_result(&answer, options, globals->no_fail);
}

static const struct option_spec sandbox_specs[] = {
    {
        .name = "snippet",
        .argument = "TEXT",
        .kind = OPTION_TEXT,
        .offset = offsetof(struct sandbox_options, snippet),
        .help = "run this text instead of a COMMAND",
    },
    {
        .letter = 'r',
        .name = "runner",
        .argument = "NAME",
        .kind = OPTION_TEXT,
        .value = VALUE_CHOICE,
        .choices = "shell python",
        .offset = offsetof(struct sandbox_options, runner),
        .help = "what runs the snippet: shell (/bin/sh, the default) or python",
    },
    {
        .letter = 'f',
        .name = "file",
        .argument = "NAME[=PATH]",
        .kind = OPTION_LIST,
        .value = VALUE_NAMED_FILE,
        .offset = offsetof(struct sandbox_options, files),
        .help = "put the file PATH (default: NAME) into the working directory as NAME; it stays "
                "executable if it is; may be repeated",
    },
    {
        .letter = 'l',
        .name = "limit",
        .argument = "NAME=VALUE",
        .kind = OPTION_LIST,
        .value = VALUE_LIMIT,
        .offset = offsetof(struct sandbox_options, limits),
        .help = "wall_clock or cpu (5s, 500ms), memory_bytes, output_bytes or disk_bytes (64M), "
                "max_open_files, max_processes; may be repeated",
    },
    {
        .name = "env",
        .argument = "NAME[=VALUE]",
        .kind = OPTION_LIST,
        .value = VALUE_VARIABLE,
        .offset = offsetof(struct sandbox_options, env),
        .help = "set a variable (without a value: to what it is here) that the configuration "
                "allows; may be repeated",
    },
    {
        .name = "readable",
        .argument = "PATH",
        .kind = OPTION_LIST,
        .value = VALUE_FILE,
        .offset = offsetof(struct sandbox_options, readable),
        .help = "let the command read this file or directory of the host, which must lie under a "
                "root that the configuration allows; may be repeated",
    },
    {
        .name = "network",
        .kind = OPTION_FLAG,
        .offset = offsetof(struct sandbox_options, network),
        .help = "let the command use the host's network, if the configuration allows it",
    },
    {
        .name = "json",
        .kind = OPTION_FLAG,
        .offset = offsetof(struct sandbox_options, json),
        .help = "print the daemon's whole answer instead; the exit status is then that of "
                "rubricctl run",
    },
    {
        .letter = 'q',
        .name = "quiet",
        .kind = OPTION_FLAG,
        .offset = offsetof(struct sandbox_options, quiet),
        .help = "no line about how it ended",
    },
};

const struct command command_sandbox = {
    .name = "sandbox",
    .arguments = "[--] COMMAND [ARGUMENT]...",
    .argument_value = VALUE_COMMAND,
    .arguments_min = 0,
    .arguments_max = -1,
    .takes_command = true,
    .brief = "run a command in the sandbox and show what it writes",
    .description =
        "Runs COMMAND as a job of kind sandbox: in a private directory that is empty but\n"
        "for --file and gone afterwards, with four fixed variables, no network, and under\n"
        "limits. What it writes to standard output and standard error comes out here, in\n"
        "this order, when it has ended; bytes that are not UTF-8 come as U+FFFD. Then a\n"
        "line on standard error tells how it ended and what it used.\n"
        "\n"
        "Standard input, unless it is a terminal, is read to its end and handed on: use\n"
        "</dev/null where nothing is meant. A COMMAND without a slash is looked up in\n"
        "/usr/bin and /bin; a relative path is one in the job's working directory.\n",
    .examples = "  rubricctl sandbox -- python3 -c 'print(2 ** 64)'\n"
                "  rubricctl sandbox -l wall_clock=2s -l memory_bytes=64M -- sh -c 'exit 3'\n"
                "  rubricctl sandbox --file check.py=tests/check.py --file answer.txt -- \\\n"
                "      python3 check.py answer.txt\n"
                "  rubricctl sandbox --runner python --snippet 'print(sum(range(10)))'\n",
    .exits = "  N    the command's own exit status; 128 + N where signal N ended it\n"
             "       (137: it was killed, often for a limit; 1: a limit, though it exited 0)\n"
             "  2    wrong usage, or a file that cannot be used\n"
             "  3    no daemon, or it was lost\n"
             "  4    the job ended in an error: it was not run, or not to its end\n"
             "  130  interrupted\n"
             "  A command may exit with 2, 3, 4 and 130 itself. Only a command that ran is\n"
             "  followed by the line about its end; to tell them apart by the status alone,\n"
             "  use --json: 0 it went well, 1 it did not, 2, 3, 4, 130 as above.\n",
    .options = sandbox_specs,
    .n_options = ARRAY_SIZE(sandbox_specs),
    .options_size = sizeof(struct sandbox_options),
    .run = sandbox_run,
};
