/* SPDX-License-Identifier: MIT */
#include "commands.h"

#include "client/batch/engine.h"
#include "client/batch/runinfo.h"
#include "client/cli/files.h"
#include "client/connection/connect.h"
#include "client/terminal/text.h"
#include "proto/request.h"
#include "proto/util.h"
#include "rubricdir/digests.h"

#include <inttypes.h>
#include <string.h>

/* Bytes of a line: tests of programs may be more than a frame has room for. */
#define LINE_BYTES_MAX ((size_t)64 << 20)

struct batch_options {
    struct engine_options engine;
    const char *bench_root;
    long samples; /* 0: one */
};

struct batch {
    struct input input;
    struct jobline_policy policy;
    uint64_t samples; /* of each case */
    /* The case that has further samples to come; NULL: none. */
    json_t *job;
    struct bytes case_id;
    uint64_t next_sample;
    struct fault place;
};

static void batch_deinit(struct batch *batch)
{
    input_deinit(&batch->input);
    batch->policy.digests = digests_free(batch->policy.digests);
    json_decref(batch->job);
    bytes_deinit(&batch->case_id);
}

/* Makes the next sample, "a1#2", of the case that was read last. */
static int take_sample(struct batch *batch, struct engine_job *ret, struct fault *fault)
{
    _cleanup_bytes_ struct bytes id = BYTES_NULL;
    char number[24];
    uint64_t sample = batch->next_sample++;
    size_t digits = (size_t)snprintf(number, sizeof(number), "#%" PRIu64, sample);
    if (batch->case_id.length + digits > REQUEST_ID_MAX)
        return fault_set(fault, "id: longer than %d bytes with %s appended", REQUEST_ID_MAX,
                         number);
    id.length = batch->case_id.length + digits;
    id.data = malloc(id.length + 1);
    if (!id.data)
        return -ENOMEM;
    memcpy(id.data, batch->case_id.data, batch->case_id.length);
    memcpy(id.data + batch->case_id.length, number, digits + 1);
    int r = jobline_from_object(batch->job, &id, &batch->policy, &ret->submission, fault);
    return r < 0 ? r : runinfo_set_sample(ret->submission.run, &batch->case_id, sample);
}

static enum input_state next_sample(struct batch *batch, struct engine_job *ret,
                                    struct fault *fault)
{
    struct fault why = FAULT_NULL;
    int r = take_sample(batch, ret, &why);
    ret->place = batch->place;
    if (batch->next_sample > batch->samples || r < 0) {
        json_decref(batch->job);
        batch->job = NULL;
    }
    if (r == 0)
        return INPUT_LINE;
    (void)fault_set(fault, "%s: %s", batch->place.text, why.text[0] ? why.text : strerror(-r));
    return INPUT_WRONG;
}

/* Keeps the case of JOB, its first sample, to make the others. */
static int keep_case(struct batch *batch, json_t *job, const struct engine_job *first)
{
    const struct bytes *id = &first->submission.id;
    bytes_deinit(&batch->case_id);
    batch->case_id = (struct bytes)BYTES_NULL;
    if (batch->samples < 2)
        return 0;
    batch->job = json_incref(job);
    batch->next_sample = 2;
    batch->place = first->place;
    return bytes_copy(id->data, id->length, &batch->case_id);
}

static int take_job(struct batch *batch, const char *line, size_t n, struct engine_job *ret,
                    struct fault *fault)
{
    const struct input *input = &batch->input;
    _cleanup_bytes_ struct bytes default_id = BYTES_NULL;
    _cleanup_json_ json_t *job = NULL;
    int r = jobline_default_id(input->name, input->line_no, &default_id);
    if (r == 0)
        r = jobline_read_object(line, n, jobline_is_used, &job, fault);
    if (r == 0)
        r = jobline_from_object(job, &default_id, &batch->policy, &ret->submission, fault);
    return r < 0 ? r : keep_case(batch, job, ret);
}

static enum input_state take_line(struct batch *batch, const char *line, size_t n,
                                  struct engine_job *ret, struct fault *fault)
{
    struct fault why = FAULT_NULL;
    (void)fault_set(&ret->place, "%s:%" PRIu64, batch->input.name, batch->input.line_no);
    int r = take_job(batch, line, n, ret, &why);
    if (r == 0)
        return INPUT_LINE;
    (void)fault_set(fault, "%s: %s", ret->place.text, why.text[0] ? why.text : strerror(-r));
    return INPUT_WRONG;
}

static enum input_state next_job(void *arg, struct engine_job *ret, struct fault *fault)
{
    struct batch *batch = arg;
    if (batch->job)
        return next_sample(batch, ret, fault);
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

/* The line is the message as it came. */
static int answer_line(_unused_ void *arg, struct message *message, _unused_ json_t *note,
                       struct bytes *ret_line)
{
    /* JSON may have newlines between tokens; a line of output may not. */
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
    int connected = connect_session(globals, CONNECT_OR_START, &engine.session);
    if (connected < 0)
        return connect_status(globals, connected);
    if (engine_open(&engine, &options->engine, files->items, files->n) < 0)
        return STATUS_USAGE;
    _cleanup_(batch_deinit) struct batch batch = {
        .policy = {.bench_root = bench_root, .max_frame = engine.session.max_frame},
        .samples = (uint64_t)options->samples,
    };
    _cleanup_(flakiness_deinit) struct flakiness flakiness = FLAKINESS_NULL;
    size_t max_line = MAX(engine.session.max_frame, LINE_BYTES_MAX);
    if (input_init(&batch.input, files->items, files->n, max_line) < 0 ||
        digests_new(&batch.policy.digests) < 0 || flakiness_init(&flakiness) < 0) {
        complain("out of memory");
        return STATUS_USAGE;
    }
    engine.flakiness = batch.samples > 1 ? &flakiness : NULL;
    struct engine_work work = {
        .arg = &batch,
        .input = &batch.input,
        .next = next_job,
        .answer = answer_line,
        .samples = batch.samples,
    };
    work.cases = input_count(files->items, files->n, &work.about);
    engine_run(&engine, &work);
    engine_put_summary(&engine);
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
        .help = "the directory with the task classes, for lines without a bench_root",
    },
    {
        .name = "samples",
        .argument = "N",
        .kind = OPTION_NUMBER,
        .offset = offsetof(struct batch_options, samples),
        .min = 1,
        .max = 10000,
        .help =
            "grade each case N times, under the ids ID, ID#2, ID#3 and so on, and name the cases "
            "whose verdicts differ",
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
        "or {\"kind\": \"sandbox\", \"argv\": [...]}, or {\"kind\": \"program\", \"language\": "
        "...,\n"
        "\"code\": ..., \"tests\": [...]}, on one line. Optional: bench_root, sut,\n"
        "priority, limits; and for a sandbox files, stdin, env. A job without an id gets\n"
        "FILE:LINE. No id may occur twice. Blank lines are skipped. A line that cannot be\n"
        "used is reported on standard error, and the batch goes on.\n"
        "\n"
        "Each answer of the daemon, a `result` or an `error` message, becomes one line on\n"
        "standard output (or in the file that --output names), written as soon as it\n"
        "comes: in order of completion, not of input. Its member `run` says which case it\n"
        "was and how often it was tried, with digests of the job and of its case. A\n"
        "summary for people follows on standard error at the end.\n"
        "\n"
        "A file of results gets whole lines and is written to the disk once a second, so\n"
        "it stays readable after a crash, a full disk or a power cut. With --resume the\n"
        "same command continues it: jobs with a verdict in the file keep it; jobs with\n"
        "none, with an error, or that changed since run. A job has changed if any file in\n"
        "the folder of its rubric has, too. Ids that are no longer in the input are named.\n"
        "At the end the file has one line for each id.\n"
        "\n"
        "If the daemon goes away (restarted, killed), batch waits for it and submits what\n"
        "it has not answered to the next one, so each job is answered once.\n"
        "\n"
        "An error is not a verdict: its job runs again (--retries). A timeout of a job\n"
        "that waited for a CPU half of its time or longer does not count at first: the\n"
        "job runs once more while nothing else of this batch is in flight, and that\n"
        "answer counts. The line lists every attempt.\n"
        "\n"
        "On a terminal, batch shows its progress on standard error: jobs done and in\n"
        "total, jobs per second lately, the time left, and the ids that run longest.\n"
        "Elsewhere it prints a plain line once a minute. When nothing has finished for 20\n"
        "seconds, it names the ids that it waits for.\n"
        "\n"
        "The first Ctrl-C (or SIGTERM) stops submitting and waits for the jobs in flight;\n"
        "the second cancels them.\n",
    .examples = "  rubricctl batch --embedded -b " RUBRICD_BENCH " \\\n"
                "      " RUBRICD_BENCH "/cases.jsonl > scores.jsonl\n"
                "  rubricctl batch --output scores.jsonl --resume jobs.jsonl\n"
                "  rubricctl batch -o scores.jsonl --samples 5 --cost-cap 2.50 jobs.jsonl\n"
                "  rubricctl batch -o s.jsonl --filter 'task_class=qa-*' --limit 20 jobs.jsonl\n"
                "  make-jobs | rubricctl batch --embedded --slots 4 -o scores.jsonl -\n"
                "  rubricctl batch jobs.jsonl | jq -c 'select(.score.passed == false) | .id'\n",
    .exits = engine_exits,
    .options = batch_specs,
    .n_options = ARRAY_SIZE(batch_specs),
    .options_size = sizeof(struct batch_options),
    .shared = {engine_specs, ENGINE_SPECS, offsetof(struct batch_options, engine)},
    .run = run_batch,
};
