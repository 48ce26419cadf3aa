/* SPDX-License-Identifier: MIT */
#include "commands.h"
#include "single.h"

#include "client/batch/explain.h"
#include "client/cli/files.h"
#include "client/cli/limits.h"
#include "client/connection/connect.h"
#include "client/report/evidence.h"
#include "client/terminal/text.h"
#include "proto/request.h"

#include <math.h>
#include <string.h>

/* Of the standard error of a job that did not pass. */
#define STDERR_LINES 30
#define STDERR_BYTES 4000

struct run_options {
    const char *task_class;
    const char *test_case;
    const char *harness_output;
    const char *bench_root;
    const char *sut;
    long priority;
    struct text_list limits;
    bool json;
};

/* --- the job ------------------------------------------------------------------------------ */

static int add_text(json_t *job, const char *name, const char *text, struct fault *fault)
{
    json_t *value = json_string(text);
    if (!value)
        return fault_set(fault, "%s: not UTF-8", name);
    return json_object_set_new(job, name, value) < 0 ? -ENOMEM : 0;
}

static int add_object(json_t *job, const char *name, const char *source, const char *option,
                      struct fault *fault)
{
    json_t *value = NULL;
    int r = file_read_object(source, option, &value, fault);
    if (r == 0 && json_object_set_new(job, name, value) < 0)
        return -ENOMEM;
    return r;
}

static int check_options(const struct run_options *options, struct fault *fault)
{
    if (!options->task_class)
        return fault_set(fault, "run: expected a JSON FILE, or --task-class, --case and "
                                "--harness-output; see rubricctl run --help");
    if (!options->test_case)
        return fault_set(fault, "run: --case is missing");
    if (!options->harness_output)
        return fault_set(fault, "run: --harness-output is missing");
    if (strcmp(options->test_case, "-") == 0 && strcmp(options->harness_output, "-") == 0)
        return fault_set(fault, "run: --case and --harness-output cannot both be standard input");
    return 0;
}

static int job_from_options(const struct run_options *options, json_t **ret, struct fault *fault)
{
    int r = check_options(options, fault);
    if (r < 0)
        return r;
    _cleanup_json_ json_t *job = json_pack("{s:s}", "kind", job_kind_name(JOB_RUBRIC));
    if (!job)
        return -ENOMEM;
    if ((r = add_text(job, "task_class", options->task_class, fault)) < 0 ||
        (r = add_object(job, "case", options->test_case, "--case", fault)) < 0 ||
        (r = add_object(job, "harness_output", options->harness_output, "--harness-output",
                        fault)) < 0 ||
        (r = limits_add(job, &options->limits, fault)) < 0)
        return r;
    if (options->sut) {
        json_t *sut = json_object();
        if (json_object_set_new(job, "sut", sut) < 0)
            return -ENOMEM;
        if ((r = add_text(sut, "status", options->sut, fault)) < 0)
            return r;
    }
    if (options->priority != 0 &&
        json_object_set_new(job, "priority", json_integer(options->priority)) < 0)
        return -ENOMEM;
    *ret = TAKE_PTR(job);
    return 0;
}

static int read_job(const struct run_options *options, const struct text_list *arguments,
                    json_t **ret, struct fault *fault)
{
    if (arguments->n == 0)
        return job_from_options(options, ret, fault);
    if (options->task_class || options->test_case || options->harness_output || options->sut ||
        options->priority || options->limits.n > 0)
        return fault_set(fault, "run: give the job either as a FILE or in options, not both "
                                "(--bench-root goes with either)");
    return file_read_object(arguments->items[0], "run", ret, fault);
}

/* --- the answer --------------------------------------------------------------------------- */

/* ERR, the job's stderr, is told as a whole afterwards; "" if there is none. */
static void explain_mode(const json_t *mode, const char *err)
{
    const char *severity = json_string_value(json_object_get(mode, "severity"));
    const char *detail = json_string_value(json_object_get(mode, "detail"));
    if (evidence_replaces(detail, err))
        detail = NULL;
    complain("  %s (%s)%s%s", json_string_value(json_object_get(mode, "code")),
             severity ? severity : "?", detail ? ": " : "", detail ? detail : "");
}

/* Shows the end of what the job wrote to stderr: a traceback names the exception last. */
static void explain_stderr(const struct message *answer)
{
    const json_t *err = json_object_get(json_object_get(answer->object, "outcome"), "stderr");
    size_t n, whole = json_string_length(err);
    const char *text = json_string_value(err),
               *tail = text_tail(text, whole, STDERR_LINES, STDERR_BYTES, &n);
    if (n == 0)
        return;
    complain("  %s of its standard error:", tail > text ? "the end" : "all");
    for (const char *end = tail + n; tail < end; tail++) {
        size_t length = strcspn(tail, "\n");
        length = MIN(length, (size_t)(end - tail));
        complain("    %.*s", (int)length, tail);
        tail += length;
    }
}

static void explain_failure(const struct message *answer, const struct score_parts *parts)
{
    const char *err =
        json_string_value(json_object_get(json_object_get(answer->object, "outcome"), "stderr"));
    size_t n = json_array_size(parts->failure_modes);
    if (parts->reason)
        complain("the job has no score: %s", parts->reason);
    else if (isnan(parts->score))
        complain("the job did not pass%s", n > 0 ? ":" : "");
    else
        complain("the job did not pass: score %.6g%s", parts->score,
                 n > 0 ? "" : ", and it names no failure mode");
    for (size_t i = 0; i < n; i++)
        explain_mode(json_array_get(parts->failure_modes, i), err);
    explain_stderr(answer);
}

static enum exit_status show_answer(const struct message *answer, bool whole, bool no_fail)
{
    struct ending ending = {.failed = false};
    if (answer->type == MESSAGE_ERROR) {
        if (whole)
            single_print(answer->object);
        complain("no verdict: %s: %s%s%s", message_text(answer, "code"),
                 message_text(answer, "message"), explain_remedy(answer),
                 json_is_true(json_object_get(answer->object, "retriable"))
                     ? " (the same job may succeed later)"
                     : "");
        ending.errors = true;
    } else {
        struct score_parts parts = message_score(answer);
        single_print(whole ? answer->object : json_object_get(answer->object, "score"));
        if (!parts.passed)
            explain_failure(answer, &parts);
        ending.failed = !parts.passed;
    }
    return ending_status(&ending, no_fail);
}

/* --- the command -------------------------------------------------------------------------- */

static enum exit_status run_run(const struct globals *globals, const void *options_,
                                const struct text_list *arguments)
{
    const struct run_options *options = options_;
    _cleanup_free_ char *bench_root = NULL;
    _cleanup_json_ json_t *job = NULL;
    struct fault fault = FAULT_NULL;
    int r = file_resolve_bench_root(options->bench_root, &bench_root, &fault);
    if (r == 0)
        r = read_job(options, arguments, &job, &fault);
    if (r < 0) {
        complain("%s", fault.text[0] ? fault.text : strerror(-r));
        return STATUS_USAGE;
    }
    _cleanup_session_ struct session session = SESSION_NULL;
    int connected = connect_session(globals, CONNECT_OR_START, &session);
    if (connected < 0)
        return connect_status(globals, connected);
    _cleanup_message_ struct message answer = MESSAGE_NULL;
    enum exit_status status = single_job(&session, job, bench_root, "run", &answer);
    return status != STATUS_OK ? status : show_answer(&answer, options->json, globals->no_fail);
}

static const struct option_spec run_specs[] = {
    {
        .letter = 't',
        .name = "task-class",
        .argument = "NAME",
        .kind = OPTION_TEXT,
        .value = VALUE_TASK_CLASS,
        .offset = offsetof(struct run_options, task_class),
        .help = "the task class, whose rubric grades the job",
    },
    {
        .letter = 'c',
        .name = "case",
        .argument = "FILE",
        .kind = OPTION_TEXT,
        .value = VALUE_FILE,
        .offset = offsetof(struct run_options, test_case),
        .help = "the test case: a JSON file, \"-\" for standard input, or a JSON object itself",
    },
    {
        .name = "harness-output",
        .argument = "FILE",
        .kind = OPTION_TEXT,
        .value = VALUE_FILE,
        .offset = offsetof(struct run_options, harness_output),
        .help = "what the harness answered: a JSON file, \"-\" for standard input, or a JSON "
                "object itself",
    },
    {
        .letter = 'b',
        .name = "bench-root",
        .argument = "DIR",
        .kind = OPTION_TEXT,
        .value = VALUE_DIRECTORY,
        .offset = offsetof(struct run_options, bench_root),
        .help = "the folder of the task classes, if the job does not name it",
    },
    {
        .name = "sut",
        .argument = "STATUS",
        .kind = OPTION_TEXT,
        .value = VALUE_CHOICE,
        .choices = "ok exception timeout",
        .offset = offsetof(struct run_options, sut),
        .help = "how the system under test ended: ok, exception or timeout; the rubric runs only "
                "if it is ok",
    },
    {
        .name = "priority",
        .argument = "N",
        .kind = OPTION_NUMBER,
        .offset = offsetof(struct run_options, priority),
        .min = -JOB_PRIORITY_MAX,
        .max = JOB_PRIORITY_MAX,
        .help = "from -10 to 10; of one client's jobs, the highest runs first",
    },
    {
        .letter = 'l',
        .name = "limit",
        .argument = "NAME=VALUE",
        .kind = OPTION_LIST,
        .value = VALUE_LIMIT,
        .offset = offsetof(struct run_options, limits),
        .help = "set a limit of the job, such as memory_bytes=512M; may be repeated",
    },
    {
        .name = "json",
        .kind = OPTION_FLAG,
        .offset = offsetof(struct run_options, json),
        .help = "print the daemon's whole answer instead of the score alone",
    },
};

const struct command command_run = {
    .name = "run",
    .arguments = "[FILE]",
    .argument_value = VALUE_FILE,
    .arguments_min = 0,
    .arguments_max = 1,
    .brief = "grade one job and print its score",
    .description =
        "Sends one job and prints its BenchScore as JSON: indented on a terminal, on one line\n"
        "otherwise. If the job did not pass, standard error says why.\n"
        "\n"
        "FILE (\"-\" is standard input) holds the job as a JSON object, like a line of a batch.\n"
        "It may be of any kind:\n"
        "\n"
        "  {\"kind\": \"rubric\", \"task_class\": \"exact-match\", \"case\": {...},\n"
        "   \"harness_output\": {...}, \"bench_root\": \"/srv/bench\"}\n"
        "  {\"kind\": \"sandbox\", \"argv\": [\"/bin/true\"]}\n"
        "  {\"kind\": \"program\", \"language\": \"python\", \"code\": \"print(input())\",\n"
        "   \"tests\": [{\"input\": \"1\\n\", \"output\": \"1\\n\"}]}\n"
        "\n"
        "Without FILE, --task-class, --case and --harness-output make up a rubric job. The\n"
        "case may set the time limit of its rubric: \"rubric_wall_clock_seconds\".\n",
    .examples = "  rubricctl run -b " RUBRICD_BENCH " -t exact-match \\\n"
                "      -c '{\"answer\": \"4\"}' --harness-output '{\"answer\": \"4\"}'\n"
                "  rubricctl run -b " RUBRICD_BENCH " -t exact-match \\\n"
                "      -c case.json --harness-output output.json\n"
                "  rubricctl run job.json\n"
                "  rubricctl run -b " RUBRICD_BENCH " -t exact-match \\\n"
                "      --sut timeout -c '{\"answer\": \"4\"}' --harness-output '{}' --json\n",
    .exits = "  0    the job passed\n"
             "  1    the job did not pass (with --no-fail: 0)\n"
             "  2    wrong usage, or an unusable file\n"
             "  3    no daemon, or the connection was lost\n"
             "  4    the job ended in an error instead of a verdict\n"
             "  130  interrupted\n",
    .options = run_specs,
    .n_options = ARRAY_SIZE(run_specs),
    .options_size = sizeof(struct run_options),
    .run = run_run,
};
