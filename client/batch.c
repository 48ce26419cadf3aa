/* SPDX-License-Identifier: MIT */
#include "commands.h"
#include "connect.h"
#include "engine.h"
#include "files.h"
#include "take.h"
#include "text.h"

#include <inttypes.h>
#include <string.h>

struct batch_options {
    struct engine_options engine;
    const char *bench_root;
};

struct batch {
    struct input input;
    struct jobline_policy policy;
};

static enum input_state take_line(struct batch *batch, const char *line, size_t n,
                                  struct engine_job *ret, struct fault *fault)
{
    const struct input *input = &batch->input;
    _cleanup_bytes_ struct bytes default_id = BYTES_NULL;
    struct fault why = FAULT_NULL;
    int r = jobline_default_id(input->name, input->line_no, &default_id);
    if (r == 0)
        r = jobline_from_text(line, n, &default_id, &batch->policy, &ret->submission, &why);
    if (r < 0) {
        (void)fault_set(fault, "%s:%" PRIu64 ": %s", input->name, input->line_no,
                        why.text[0] ? why.text : strerror(-r));
        return INPUT_WRONG;
    }
    (void)fault_set(&ret->place, "%s:%" PRIu64, input->name, input->line_no);
    return INPUT_LINE;
}

static enum input_state next_job(void *arg, struct engine_job *ret, struct fault *fault)
{
    struct batch *batch = arg;
    for (;;) {
        const char *line;
        size_t n;
        enum input_state state = input_next(&batch->input, &line, &n, fault);
        if (state != INPUT_LINE)
            return state;
        if (!jobline_blank(line, n))
            return take_line(batch, line, n, ret, fault);
    }
}

/* The message as it came. */
static int answer_line(_unused_ void *arg, struct message *message, _unused_ json_t *note,
                       struct bytes *ret_line)
{
    /* JSON has newlines only between its tokens; a line of output has none. */
    char *text = message->payload.data;
    size_t n = message->payload.length;
    for (char *p = text; (p = memchr(p, '\n', n - (size_t)(p - text))) != NULL;)
        *p = ' ';
    *ret_line = TAKE_STRUCT(message->payload, BYTES_NULL);
    return 0;
}

static int check_files(const struct text_list *files)
{
    struct fault fault = FAULT_NULL;
    for (size_t i = 0; i < files->n; i++) {
        if (file_check_readable(files->items[i], &fault) < 0) {
            complain("%s", fault.text);
            return -1;
        }
    }
    return 0;
}

static enum exit_status run_jobs(const struct globals *globals, const struct batch_options *options,
                                 const struct text_list *files, const char *bench_root)
{
    _cleanup_(engine_deinit) struct engine engine = ENGINE_NULL;
    if (connect_session(globals, CONNECT_OR_START, &engine.session) < 0)
        return STATUS_NO_DAEMON;
    if (engine_open(&engine, &options->engine, files->items, files->n) < 0)
        return STATUS_USAGE;
    struct batch batch = {
        .policy = {.bench_root = bench_root, .max_frame = engine.session.max_frame},
    };
    if (input_init(&batch.input, files->items, files->n, engine.session.max_frame) < 0) {
        complain("out of memory");
        return STATUS_USAGE;
    }
    const struct engine_work work = {
        .arg = &batch,
        .input = &batch.input,
        .next = next_job,
        .answer = answer_line,
    };
    engine_run(&engine, &work);
    if (!options->engine.quiet)
        engine_put_summary(&engine);
    input_deinit(&batch.input);
    return ending_status(&engine.ending, globals->no_fail);
}

static enum exit_status run_batch(const struct globals *globals, const void *options_,
                                  const struct text_list *files)
{
    const struct batch_options *options = options_;
    _cleanup_free_ char *bench_root = NULL;
    struct fault fault = FAULT_NULL;
    if (file_resolve_bench_root(options->bench_root, &bench_root, &fault) < 0) {
        complain("%s", fault.text);
        return STATUS_USAGE;
    }
    if (check_files(files) < 0)
        return STATUS_USAGE;
    return run_jobs(globals, options, files, bench_root);
}

static const struct option_spec batch_specs[] = {
    {
        .letter = 'b',
        .name = "bench-root",
        .argument = "DIR",
        .kind = OPTION_TEXT,
        .value = VALUE_DIRECTORY,
        .offset = offsetof(struct batch_options, bench_root),
        .help = "where the task classes are, for lines that name no bench_root",
    },
};

const struct command command_batch = {
    .name = "batch",
    .arguments = "FILE...",
    .argument_value = VALUE_FILE,
    .arguments_min = 1,
    .arguments_max = -1,
    .brief = "grade the jobs in JSONL files, many at a time",
    .description =
        "Each line of each FILE (\"-\": standard input) is one job, a JSON object:\n"
        "\n"
        "  {\"id\": \"a1\", \"kind\": \"rubric\", \"task_class\": \"exact-match\",\n"
        "   \"case\": {...}, \"harness_output\": {...}}\n"
        "\n"
        "or {\"kind\": \"sandbox\", \"argv\": [...]}, on one line. Optional: bench_root, sut,\n"
        "priority, limits; and for a sandbox files, stdin, env. A job without an id gets\n"
        "FILE:LINE. Blank lines are skipped. A line that cannot be used is named on\n"
        "standard error; the others go on.\n"
        "\n"
        "Each answer of the daemon, a `result` or an `error` message, is one line on\n"
        "standard output (or in the file that --output names), written as soon as it\n"
        "comes: in order of completion, not of input. To each a member `run` is added:\n"
        "which case it was, digests of the job and of its case, and how often it was\n"
        "tried. A summary for people goes to standard error at the end.\n"
        "\n"
        "A file of results is written in whole lines and brought to the disk once a\n"
        "second, so a crash, a full disk or a power cut leaves what can be read. With\n"
        "--resume the same command goes on from there: what has a verdict in the file is\n"
        "kept, what has none, has an error, or has changed since (the job, or its\n"
        "rubric.py) is run, and ids that the input does not have any more are named. At\n"
        "the end the file has one line for each id. No id may come twice.\n"
        "\n"
        "A daemon that goes away (restarted, killed) is waited for; what it has not\n"
        "answered is submitted to the next one, so each job is answered once.\n"
        "\n"
        "The first Ctrl-C stops submitting and waits for the jobs in flight; the second\n"
        "cancels those.\n",
    .examples = "  rubricctl batch --bench-root tests/data/bench jobs.jsonl > scores.jsonl\n"
                "  rubricctl batch --output scores.jsonl --resume jobs.jsonl\n"
                "  make-jobs | rubricctl batch --embedded --slots 4 -o scores.jsonl -\n"
                "  rubricctl batch jobs.jsonl | jq -c 'select(.score.passed == false) | .id'\n",
    .exits = engine_exits,
    .options = batch_specs,
    .n_options = ARRAY_SIZE(batch_specs),
    .options_size = sizeof(struct batch_options),
    .shared = {engine_specs, ENGINE_SPECS, offsetof(struct batch_options, engine)},
    .run = run_batch,
};
