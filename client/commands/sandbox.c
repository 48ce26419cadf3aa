/* SPDX-License-Identifier: MIT */
#include "collect_to.h"
#include "commands.h"
#include "sandbox_stream.h"
#include "sandbox_tty.h"
#include "sandboxjob.h"

#include "client/cli/limits.h"
#include "client/connection/connect.h"
#include "client/terminal/member.h"
#include "client/terminal/text.h"

#include <signal.h>
#include <string.h>

/* A shell reports a signal as this plus its number. */
#define SIGNAL_STATUS 128

/* --- the answer --------------------------------------------------------------------------- */

/* Writes the command's output byte for byte. Returns whether it leaves a terminal in mid-line. */
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

/* Returns the command's own exit status, as a shell reports it; 0 only if the job passed. */
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
                                    const struct sandbox_stream *stream,
                                    const struct sandbox_options *options, bool no_fail)
{
    const json_t *result = answer->object;
    struct ending ending = {.failed = !message_score(answer).passed};
    if (options->json) {
        single_print(result);
        return ending_status(&ending, no_fail);
    }
    const json_t *outcome = json_object_get(result, "outcome");
    bool open_line = stream->is_open_line;
    if (!stream->is_told) {
        open_line = put_output(stdout, json_object_get(result, "stdout"));
        open_line = put_output(stderr, json_object_get(outcome, "stderr")) || open_line;
    }
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
    /* A private daemon runs this job alone, and whoever starts it says what it may read. */
    const char *set = options->readable.n > 0 ? "sandbox.readable_roots=/" : NULL;
    int connected = connect_session_with(globals, CONNECT_OR_START, set, &session);
    if (connected < 0)
        return connect_status(globals, connected);
    struct sandbox_stream stream = {.is_told = options->tty};
    enum exit_status status = options->json  ? single_job(&session, job, NULL, "sandbox", &answer)
                              : options->tty ? sandbox_tty_run(&session, job, &stream, &answer)
                                             : sandbox_stream_run(&session, job, &stream, &answer);
    if (stream.has_no_reader) /* as if COMMAND itself had written to them */
        return (enum exit_status)(SIGNAL_STATUS + SIGPIPE);
    if (status != STATUS_OK)
        return status;
    if (answer.type == MESSAGE_ERROR)
        return show_error(&answer, options->json);
    status = show_result(&answer, &stream, options, globals->no_fail);
    bool is_kept = collect_keep(answer.object, options->collect.to, options->quiet);
    return is_kept ? status : STATUS_USAGE;
}

static const struct option_spec sandbox_specs[] = {
    {
        .name = "snippet",
        .argument = "TEXT",
        .kind = OPTION_TEXT,
        .offset = offsetof(struct sandbox_options, snippet),
        .help = "run this script instead of a COMMAND",
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
        .help = "copy the file PATH (default: NAME) into the working directory as NAME, executable "
                "if PATH is; of a directory, all files below it (.=PATH: without its name); may "
                "be repeated",
    },
    {
        .letter = 'l',
        .name = "limit",
        .argument = "NAME=VALUE",
        .kind = OPTION_LIST,
        .value = VALUE_LIMIT,
        .offset = offsetof(struct sandbox_options, limits),
        .help = LIMITS_HELP,
    },
    {
        .name = "env",
        .argument = "NAME[=VALUE]",
        .kind = OPTION_LIST,
        .value = VALUE_VARIABLE,
        .offset = offsetof(struct sandbox_options, env),
        .help = "set a variable that the configuration allows; without VALUE, to its value here; "
                "may be repeated",
    },
    {
        .name = "readable",
        .argument = "PATH",
        .kind = OPTION_LIST,
        .value = VALUE_FILE,
        .offset = offsetof(struct sandbox_options, readable),
        .help = "let the command read this file or directory of the host: with --embedded any that "
                "the private daemon can read, otherwise one under a root that the configuration "
                "allows; may be repeated",
    },
    COLLECT_SPECS(offsetof(struct sandbox_options, collect), "when the command has ended"),
    {
        .letter = 't',
        .name = "tty",
        .kind = OPTION_FLAG,
        .offset = offsetof(struct sandbox_options, tty),
        .help = "run the command on a terminal, which this one stands for: keys go to it as they "
                "are, ^C among them",
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
        .help = "print the daemon's whole answer as JSON, and exit as rubricctl run does",
    },
    {
        .letter = 'q',
        .name = "quiet",
        .kind = OPTION_FLAG,
        .offset = offsetof(struct sandbox_options, quiet),
        .help = "do not print the line about how the command ended",
    },
};

const struct command command_sandbox = {
    .name = "sandbox",
    .arguments = "[--] COMMAND [ARGUMENT]...",
    .argument_value = VALUE_COMMAND,
    .arguments_min = 0,
    .arguments_max = -1,
    .takes_command = true,
    .brief = "run a command in the sandbox and print its output",
    .description =
        "Runs COMMAND as a job of kind sandbox: under limits, without network, with four\n"
        "fixed environment variables, and in a private working directory that holds only\n"
        "the files of --file and is removed afterwards. Prints what COMMAND writes as it\n"
        "comes, byte for byte, on the stream that it was written to. A last line on standard\n"
        "error says how COMMAND ended and what it used.\n"
        "\n"
        "Reads standard input to its end, unless it is a terminal, and passes it to COMMAND;\n"
        "use </dev/null to pass nothing. Looks up a COMMAND without a slash in /usr/bin and\n"
        "/bin; takes a relative path from the job's working directory.\n"
        "\n"
        "With --tty COMMAND has a terminal of its own (there is no /dev/tty) for as long as\n"
        "its limit wall_clock lets it run. When the terminal or rubricctl is gone, COMMAND is\n"
        "killed. To end one that takes no ^C, kill rubricctl.\n",
    .examples = "  rubricctl sandbox -- python3 -c 'print(2 ** 64)'\n"
                "  rubricctl sandbox -l wall_clock=2s -l memory_bytes=64M -- sh -c 'exit 3'\n"
                "  rubricctl sandbox --file check.py=tests/check.py --file answer.txt -- \\\n"
                "      python3 check.py answer.txt\n"
                "  rubricctl sandbox --runner python --snippet 'print(sum(range(10)))'\n"
                "  rubricctl sandbox -f a.c --collect a.o --collect-to build -- cc -c a.c\n"
                "  rubricctl sandbox --tty -l wall_clock=5min -f src -- bash\n",
    .exits =
        "  N    the command's own exit status; 128 + N if signal N ended it (137: it was\n"
        "       killed, often for exceeding a limit; 1: it exceeded a limit but exited with 0)\n"
        "  2    wrong usage, or an unusable file, also one of --collect-to\n"
        "  3    no daemon, or the connection was lost\n"
        "  4    the job ended in an error: the command did not run, or not to its end. What it\n"
        "       has printed stands; the job does not run again by itself\n"
        "  141  what reads the output is gone; the command was ended\n"
        "  130  interrupted\n"
        "  A command may itself exit with 2, 3, 4 or 130. The line about its end is printed\n"
        "  only if it ran. To tell the cases apart by the status alone, use --json: 0 means\n"
        "  that it passed, 1 that it did not, and 2, 3, 4 and 130 mean the above.\n",
    .options = sandbox_specs,
    .n_options = ARRAY_SIZE(sandbox_specs),
    .options_size = sizeof(struct sandbox_options),
    .run = sandbox_run,
};
