/* SPDX-License-Identifier: MIT */
#include "commands.h"
#include "grade_preflight.h"
#include "grade_tasks.h"
#include "transcripts.h"

#include "client/batch/engine.h"
#include "client/cli/files.h"
#include "client/connection/connect.h"
#include "client/grade/dataset.h"
#include "client/grade/gradejob.h"
#include "client/grade/tally.h"
#include "client/terminal/text.h"
#include "proto/printer.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* Maximum seconds that a job may ask for. */
#define TIMEOUT_MAX 30

struct grade_options {
    struct engine_options engine;
    const char *dataset;
    const char *samples;
    const char *ks;
    const char *timeout;
    const char *transcripts;
    bool canonical;
    bool shared;
    bool isolated_only;
    bool no_preflight;
    bool json;
};

/* The options after parsing. */
struct plan {
    struct engine_options engine; /* always with an output */
    char *output;                 /* owned; the default output if none is named */
    struct passk_ks ks;
    struct gradejob_policy policy;
};

struct grading {
    const char *dataset_name; /* for messages */
    struct dataset dataset;
    struct tally tally; /* same task indices as the data set */
    uint64_t unusable;  /* unusable records of the data set */
    struct input samples;
    size_t next_task; /* whose canonical solution is graded next */
    struct jobline_policy line;
    struct preflight preflight;
    bool isolated_only;
    struct transcripts transcripts;
    json_t *lacking; /* owned; object of what jobs lack, in words, to how many; NULL: nothing */
};

#define GRADING_NULL                                                         \
    {                                                                        \
        .dataset = DATASET_NULL, .tally = TALLY_NULL, .samples = INPUT_NULL, \
        .transcripts = TRANSCRIPTS_NULL,                                     \
    }

static void grading_deinit(struct grading *grading)
{
    tally_deinit(&grading->tally);
    input_deinit(&grading->samples);
    preflight_deinit(&grading->preflight); /* borrows the data set */
    dataset_deinit(&grading->dataset);
    transcripts_deinit(&grading->transcripts);
    json_decref(grading->lacking);
}

static void plan_deinit(struct plan *plan)
{
    free(plan->output);
}

/* --- jobs --------------------------------------------------------------------------------- */

/* Makes the job of TEXT and the note that comes back with its answer: the index of the task, LINE,
 * to which the answer adds its fields, and for a transcript the job. */
static int make_job(struct grading *grading, struct task *task, enum sample_form form, json_t *text,
                    json_t *line, struct engine_job *ret, struct fault *fault)
{
    _cleanup_bytes_ struct bytes id = BYTES_NULL;
    size_t task_no = (size_t)(task - grading->dataset.tasks);
    const struct gradejob_policy policy = preflight_policy(&grading->preflight, task_no);
    _cleanup_json_ json_t *job = gradejob_make(task, form, text, &policy);
    uint64_t number = task->samples++;
    int r = jobline_default_id(task->id, number, &id);
    if (r < 0 || !job || json_object_set_new(line, "sample", json_integer((json_int_t)number)) < 0)
        return -ENOMEM;
    /* Samples may come from a file of results; drop what that says of its run. */
    (void)json_object_del(line, "run");
    ret->note = json_pack("[I,O]", (json_int_t)task_no, line);
    if (!ret->note || (policy.transcript && json_array_append(ret->note, job) < 0))
        return -ENOMEM;
    ret->left_out = grading->isolated_only && policy.shared;
    if (ret->left_out)
        tally_refuse(&grading->tally, task_no);
    r = jobline_from_object(job, &id, &grading->line, &ret->submission, fault);
    /* The id goes into `run`: the line is the sample's own and may have another id. */
    if (r == 0 &&
        json_object_set_new(ret->submission.run, "id",
                            json_stringn(ret->submission.id.data, ret->submission.id.length)) < 0)
        r = -ENOMEM;
    return r == 0 ? preflight_put_note(&grading->preflight, task_no, ret->submission.run) : r;
}

/* Returns INPUT_LINE; if R is negative, INPUT_WRONG with FAULT, which says where and WHY. */
static enum input_state conclude(int r, const struct fault *why, struct engine_job *job,
                                 struct fault *fault)
{
    if (r >= 0)
        return INPUT_LINE;
    (void)fault_set(fault, "%s: %s", job->place.text, why->text[0] ? why->text : strerror(-r));
    return INPUT_WRONG;
}

static int take_sample(struct grading *grading, const char *text, size_t n, struct engine_job *ret,
                       struct fault *fault)
{
    _cleanup_json_ json_t *line = NULL;
    struct sample sample = {.task_id = ""};
    int r = jobline_read_object(text, n, sample_uses, &line, fault);
    if (r == 0)
        r = sample_decode(line, &sample, fault);
    if (r < 0)
        return r;
    ssize_t task = dataset_find(&grading->dataset, sample.task_id);
    if (task < 0)
        return fault_set(fault, "task_id \"%s\" is not in the data set", sample.task_id);
    return make_job(grading, &grading->dataset.tasks[task], sample.form, sample.text, line, ret,
                    fault);
}

static enum input_state next_sample(void *arg, struct engine_job *ret, struct fault *fault)
{
    struct grading *grading = arg;
    const struct input *input = &grading->samples;
    for (;;) {
        const char *text;
        size_t n;
        struct fault why = FAULT_NULL;
        enum input_state state = input_next(&grading->samples, &text, &n, fault);
        if (state != INPUT_LINE)
            return state;
        if (jobline_blank(text, n))
            continue;
        (void)fault_set(&ret->place, "%s:%" PRIu64, input->name, input->line_no);
        return conclude(take_sample(grading, text, n, ret, &why), &why, ret, fault);
    }
}

static int take_canonical(struct grading *grading, struct task *task, struct engine_job *ret,
                          struct fault *fault)
{
    if (!task->solution)
        return fault_set(fault, "task \"%s\" has no solution of its own (%s)", task->id,
                         task->test ? "canonical_solution" : "code");
    _cleanup_json_ json_t *line =
        json_pack("{s:O}", "task_id", json_object_get(task->object, "task_id"));
    _cleanup_json_ json_t *text = json_copy((json_t *)(uintptr_t)task->solution);
    if (!line || !text)
        return -ENOMEM;
    return make_job(grading, task, task->test ? SAMPLE_COMPLETION : SAMPLE_SOLUTION, text, line,
                    ret, fault);
}

static enum input_state next_canonical(void *arg, struct engine_job *ret, struct fault *fault)
{
    struct grading *grading = arg;
    struct fault why = FAULT_NULL;
    if (grading->next_task == grading->dataset.n)
        return INPUT_END;
    struct task *task = &grading->dataset.tasks[grading->next_task++];
    (void)fault_set(&ret->place, "%s:%" PRIu64, grading->dataset_name, task->line);
    return conclude(take_canonical(grading, task, ret, &why), &why, ret, fault);
}

/* Counts jobs whose tests or prelude need a module that the daemon's host lacks. */
static int note_lacking(struct grading *grading, const struct message *message)
{
    const char *code = message_text(message, "code");
    const char *what = message_text(message, "message");
    if (message->type != MESSAGE_ERROR || strcmp(code, GRADEJOB_LACKING) != 0 ||
        preflight_knows_lacking(&grading->preflight, what))
        return 0;
    if (!grading->lacking && !(grading->lacking = json_object()))
        return -ENOMEM;
    json_int_t n = json_integer_value(json_object_get(grading->lacking, what));
    return json_object_set_new(grading->lacking, what, json_integer(n + 1)) < 0 ? -ENOMEM : 0;
}

static void complain_lacking(const struct grading *grading)
{
    for (void *i = json_object_iter(grading->lacking); i;
         i = json_object_iter_next(grading->lacking, i)) {
        json_int_t n = json_integer_value(json_object_iter_value(i));
        complain("%" JSON_INTEGER_FORMAT " sample%s not graded: %s", n, n == 1 ? " was" : "s were",
                 json_object_iter_key(i));
    }
}

static int answer_line(void *arg, struct message *message, json_t *note, struct bytes *ret_line)
{
    struct grading *grading = arg;
    json_t *line = json_array_get(note, 1);
    enum grade grade;
    if (gradejob_put_verdict(line, message, &grade) < 0 || note_lacking(grading, message) < 0 ||
        transcripts_add(&grading->transcripts, json_array_get(note, 2), line, message) < 0)
        return -ENOMEM;
    size_t task = (size_t)json_integer_value(json_array_get(note, 0));
    const char *mode = message_text(message, "mode");
    tally_add(&grading->tally, task, grade);
    if (grade != GRADE_NONE)
        tally_note(&grading->tally, task, mode && strcmp(mode, "shared") == 0,
                   preflight_is_broken(&grading->preflight, task));
    return json_print(line, ret_line);
}

/* --- what earlier runs have graded -------------------------------------------------------- */

static void recount(void *arg)
{
    struct grading *grading = arg;
    tally_clear(&grading->tally);
}

/* Counts a line of the file, which answer_line() made. */
static void recounted(void *arg, const struct result_line *line, struct summary *summary)
{
    struct grading *grading = arg;
    char task_id[TASK_ID_MAX + 1];
    const json_t *score = json_object_get(line->object, "score");
    const char *words = json_string_value(json_object_get(line->object, "result"));
    const char *verdict = json_string_value(json_object_get(line->object, "verdict"));
    _cleanup_json_ json_t *modes =
        json_pack("[{s:s+}]", "code", "code_exec.", verdict ? verdict : "?");
    enum grade grade = !line->answered ? GRADE_NONE : line->passed ? GRADE_PASSED : GRADE_FAILED;
    ssize_t task = task_id_of(line->object, task_id, NULL) == 0
                       ? dataset_find(&grading->dataset, task_id)
                       : -1;
    if (grading->isolated_only && tally_is_shared(line->object))
        return; /* of an earlier run that allowed it */
    if (task >= 0)
        tally_add(&grading->tally, (size_t)task, grade);
    if (task >= 0 && line->answered)
        tally_note_line(&grading->tally, (size_t)task, line->object);
    const struct score_parts counted = {
        .passed = line->passed,
        .score = json_is_number(score) ? json_number_value(score) : NAN,
        .failure_modes = line->passed ? NULL : modes,
    };
    if (line->answered)
        summary_add_result(summary, &counted);
    else
        summary_add_error(summary, words ? words : "?", NULL);
}

/* --- the data set ------------------------------------------------------------------------- */

static int read_dataset(struct grading *grading, const char *path)
{
    struct fault fault = FAULT_NULL;
    grading->dataset_name = grade_tasks_name(path);
    int r = grade_tasks_read(path, &grading->dataset, &grading->unusable, &fault);
    if (r == 0)
        r = tally_init(&grading->tally);
    for (size_t i = 0; r == 0 && i < grading->dataset.n; i++)
        r = (int)MIN(tally_task(&grading->tally, grading->dataset.tasks[i].id), 0);
    if (r < 0)
        complain("%s", fault.text[0] ? fault.text : strerror(-r));
    return r;
}

/* --- the command -------------------------------------------------------------------------- */

static int parse_timeout(const char *text, double *ret, struct fault *fault)
{
    double value;
    if (!text)
        return 0;
    if (!engine_read_decimal(text, &value) || value <= 0 || value > TIMEOUT_MAX)
        return fault_set(fault,
                         "--timeout: expected seconds, more than 0 and at most %d, got "
                         "\"%s\"",
                         TIMEOUT_MAX, text);
    *ret = value;
    return 0;
}

/* Refuses options that are missing or contradict each other. */
static int check_options(const struct grade_options *options, struct fault *fault)
{
    bool dataset_is_stdin = options->dataset && strcmp(options->dataset, "-") == 0;
    bool samples_are_stdin = options->samples && strcmp(options->samples, "-") == 0;
    if (!options->dataset)
        return fault_set(fault, "grade: --dataset FILE is missing; see rubricctl grade --help");
    if (!options->samples && !options->canonical)
        return fault_set(fault, "grade: --samples FILE is missing (or --canonical); see rubricctl "
                                "grade --help");
    if (options->samples && options->canonical)
        return fault_set(fault,
                         "--canonical grades the data set's own solutions and takes no --samples");
    if (options->shared && options->isolated_only)
        return fault_set(fault, "--shared and --isolated-only contradict each other");
    if (dataset_is_stdin && samples_are_stdin)
        return fault_set(fault, "--dataset and --samples cannot both be standard input");
    if (!options->engine.output && (options->canonical ? dataset_is_stdin : samples_are_stdin))
        return fault_set(fault, "--output FILE is missing: standard input has no name to derive "
                                "one from");
    if (options->transcripts && options->shared)
        return fault_set(fault, "--transcripts: verdicts of --shared have none");
    if (options->json && options->engine.output && strcmp(options->engine.output, "-") == 0)
        return fault_set(fault, "--json and --output - both want standard output");
    return 0;
}

static int name_output(const struct grade_options *options, struct plan *plan)
{
    const char *ending = options->canonical ? "_canonical_results.jsonl" : "_results.jsonl";
    if (plan->engine.output)
        return 0;
    if (asprintf(&plan->output, "%s%s", options->canonical ? options->dataset : options->samples,
                 ending) < 0) {
        plan->output = NULL; /* undefined after a failure */
        return -ENOMEM;
    }
    plan->engine.output = plan->output;
    return 0;
}

static int read_options(const struct grade_options *options, struct plan *plan)
{
    struct fault fault = FAULT_NULL;
    plan->engine = options->engine;
    plan->policy.shared = options->shared;
    plan->policy.transcript = options->transcripts != NULL;
    int r = check_options(options, &fault);
    if (r == 0)
        r = passk_parse_ks(options->ks, &plan->ks, &fault);
    if (r == 0)
        r = parse_timeout(options->timeout, &plan->policy.timeout_s, &fault);
    if (r == 0 && options->samples)
        r = file_check_readable(options->samples, &fault);
    if (r == 0)
        r = name_output(options, plan);
    if (r < 0)
        complain("%s", fault.text[0] ? fault.text : strerror(-r));
    return r;
}

static int put_report(const struct grade_options *options, const struct plan *plan,
                      const struct engine *engine, struct tally *tally)
{
    bool results_are_out = strcmp(plan->engine.output, "-") == 0;
    tally->unusable = engine->summary.unusable;
    tally->unanswered = engine_unanswered(engine);
    tally->refused = engine->left_out;
    tally->cut_short = !engine->exhausted;
    return tally_print(results_are_out ? stderr : stdout, tally, &plan->ks, options->json);
}

/* Learns from the reference solutions how samples are to be graded. False if none can be. */
static bool prepare(const struct grade_options *options, const struct plan *plan,
                    struct grading *grading, struct engine *engine)
{
    const struct grade_preflight with = {
        .options = &plan->engine,
        .dataset = grading->dataset_name,
        .samples = options->samples,
        .policy = plan->policy,
        .isolated_only = options->isolated_only,
    };
    grading->preflight.policy = plan->policy;
    grading->isolated_only = options->isolated_only;
    if (options->no_preflight)
        return true;
    if (grade_preflight(&with, &grading->dataset, &engine->session, &engine->ending,
                        &grading->preflight) < 0) {
        complain("out of memory");
        engine->ending.bad_input = true;
        return false;
    }
    if (engine->ending.interrupted || engine->ending.lost)
        complain("no sample was graded: the reference solutions come first (--no-preflight leaves "
                 "them out)");
    return !engine->ending.interrupted && !engine->ending.lost;
}

static int open_transcripts(const struct grade_options *options, const struct plan *plan,
                            struct grading *grading)
{
    const char *const others[] = {plan->engine.output, options->dataset, options->samples};
    enum output_mode mode = plan->engine.resume  ? OUTPUT_CONTINUE
                            : plan->engine.force ? OUTPUT_OVERWRITE
                                                 : OUTPUT_NEW;
    return transcripts_open(&grading->transcripts, options->transcripts, mode, others,
                            options->samples ? 3 : 2);
}

static enum exit_status grade(const struct globals *globals, const struct grade_options *options,
                              const struct plan *plan, struct grading *grading)
{
    _cleanup_(engine_deinit) struct engine engine = ENGINE_NULL;
    const char *const inputs[] = {options->dataset, options->samples};
    size_t n_inputs = options->samples ? 2 : 1;
    if (connect_session(globals, CONNECT_OR_START, &engine.session) < 0)
        return STATUS_NO_DAEMON;
    if (engine_open(&engine, &plan->engine, inputs, n_inputs) < 0 ||
        open_transcripts(options, plan, grading) < 0)
        return STATUS_USAGE;
    grading->line.max_frame = engine.session.max_frame;
    if (!prepare(options, plan, grading, &engine))
        return ending_status(&engine.ending, globals->no_fail);
    if (options->samples &&
        input_init(&grading->samples, inputs + 1, 1, engine.session.max_frame) < 0) {
        complain("out of memory");
        return STATUS_USAGE;
    }
    engine_note_unusable(&engine, grading->unusable);
    struct engine_work work = {
        .cases = grading->dataset.n,
        .arg = grading,
        .input = options->samples ? &grading->samples : NULL,
        .next = options->samples ? next_sample : next_canonical,
        .answer = answer_line,
        .recount = recount,
        .recounted = recounted,
    };
    if (options->samples)
        work.cases = input_count(&options->samples, 1, &work.about);
    engine_run(&engine, &work);
    if (options->samples && engine.exhausted)
        engine.ending.bad_input |=
            grade_tasks_tell_unattempted(&grading->dataset, grading->dataset_name);
    complain_lacking(grading);
    engine.ending.errors |= engine.left_out > 0;
    if (!transcripts_finish(&grading->transcripts, options->engine.quiet))
        engine.ending.unwritten = true;
    if (!options->engine.quiet) {
        engine_put_summary(&engine);
        grade_tasks_tell_plus(&grading->dataset, grading->dataset_name);
        if (grading->preflight.tasks)
            grade_preflight_put(&grading->preflight);
    }
    if (put_report(options, plan, &engine, &grading->tally) < 0)
        complain("out of memory");
    return ending_status(&engine.ending, globals->no_fail);
}

static enum exit_status run_grade(const struct globals *globals, const void *options_,
                                  _unused_ const struct text_list *arguments)
{
    const struct grade_options *options = options_;
    _cleanup_(plan_deinit) struct plan plan = {.output = NULL};
    _cleanup_(grading_deinit) struct grading grading = GRADING_NULL;
    if (read_options(options, &plan) < 0 || read_dataset(&grading, options->dataset) < 0)
        return STATUS_USAGE;
    return grade(globals, options, &plan, &grading);
}

static const struct option_spec grade_specs[] = {
    {
        .name = "dataset",
        .argument = "FILE",
        .kind = OPTION_TEXT,
        .value = VALUE_FILE,
        .offset = offsetof(struct grade_options, dataset),
        .help = "read the tasks from FILE: JSON Lines or one JSON array, also as .gz",
    },
    {
        .name = "samples",
        .argument = "FILE",
        .kind = OPTION_TEXT,
        .value = VALUE_FILE,
        .offset = offsetof(struct grade_options, samples),
        .help = "read the samples from FILE: JSON Lines, also as .gz",
    },
    {
        .name = "canonical",
        .kind = OPTION_FLAG,
        .offset = offsetof(struct grade_options, canonical),
        .help = "grade the data set's own solutions instead",
    },
    {
        .letter = 'k',
        .name = "k",
        .argument = "K,...",
        .kind = OPTION_TEXT,
        .offset = offsetof(struct grade_options, ks),
        .help = "compute pass@k for these k (default: 1,10,100)",
    },
    {
        .letter = 't',
        .name = "timeout",
        .argument = "SECONDS",
        .kind = OPTION_TEXT,
        .offset = offsetof(struct grade_options, timeout),
        .help =
            "time limit of each sample, at most 30 (default: the daemon's, 3); raised for tasks "
            "whose reference solution needs more than a quarter of it",
    },
    {
        .name = "shared",
        .kind = OPTION_FLAG,
        .offset = offsetof(struct grade_options, shared),
        .help = "run the tests in the process of the code that they test, for tests that share "
                "objects with it; the code can forge such a verdict",
    },
    {
        .name = "isolated-only",
        .kind = OPTION_FLAG,
        .offset = offsetof(struct grade_options, isolated_only),
        .help = "do not grade tasks whose reference solution passes only in the process of the "
                "tests; by default they are graded as with --shared",
    },
    {
        .name = "no-preflight",
        .kind = OPTION_FLAG,
        .offset = offsetof(struct grade_options, no_preflight),
        .help = "do not run the data set's own solutions first; every task then has the same mode "
                "and time limit",
    },
    {
        .name = "transcripts",
        .argument = "FILE",
        .kind = OPTION_TEXT,
        .value = VALUE_FILE,
        .offset = offsetof(struct grade_options, transcripts),
        .help = "write to FILE, for each sample that passes, what rubricctl replay needs to judge "
                "it again without running it",
    },
    {
        .name = "json",
        .kind = OPTION_FLAG,
        .offset = offsetof(struct grade_options, json),
        .help = "print pass@k and the counts behind it as a JSON object",
    },
};

const struct command command_grade = {
    .name = "grade",
    .arguments = "",
    .brief = "grade code that models wrote, and compute pass@k",
    .description =
        "Runs the tests of each task of a data set on the samples that a model wrote for\n"
        "it, each in the sandbox, and prints pass@k. A task looks as in HumanEval:\n"
        "\n"
        "  {\"task_id\": \"HumanEval/0\", \"prompt\": \"def f(x):\\n\", \"entry_point\": \"f\",\n"
        "   \"test\": \"def check(candidate): ...\", \"canonical_solution\": \"    ...\"}\n"
        "\n"
        "or as in MBPP (test_imports and test_setup_code are optional):\n"
        "\n"
        "  {\"task_id\": 2, \"code\": \"def g(x): ...\", \"test_list\": [\"assert g(1) == 2\"]}\n"
        "\n"
        "Where a task has tests of EvalPlus, they are run: plus_input and base_input of its\n"
        "raw format, for which the results are compared with those of canonical_solution, and\n"
        "test beside test_list of MBPP+ in the original format.\n"
        "\n"
        "A sample has a task_id and one of completion (continues the prompt), solution (a\n"
        "whole program) and generation (free text with code in it).\n"
        "\n"
        "The results go to SAMPLES_results.jsonl, beside the samples (for --canonical:\n"
        "DATASET_canonical_results.jsonl), unless --output names another file; with\n"
        "--output - they go to standard output, and pass@k to standard error. They are\n"
        "JSON Lines in order of completion: the sample's own fields, its number among the\n"
        "samples of its task (sample), passed, result (in words), verdict and score. A\n"
        "job that ended in an error has null for passed and counts neither as correct nor\n"
        "as wrong; pass@k is then labelled incomplete. `run` says how the sample was\n"
        "graded. With --resume the same command continues an interrupted run, and pass@k\n"
        "counts everything that the file then has.\n"
        "\n"
        "Before the samples, it runs the data set's own solutions of their tasks, the\n"
        "references. If a reference passes only in one process with the tests, all samples of\n"
        "its task run so (mode shared); code can forge such verdicts, and pass@k is labelled.\n"
        "A task whose reference fails in both modes is named as broken; its samples are\n"
        "graded, and pass@k is labelled. If a reference needs more than a quarter of the time\n"
        "limit, that limit becomes four times what it took. What was decided is in\n"
        "`run.preflight` of each line; --resume takes it from there. Samples do not change\n"
        "it. With --isolated-only, tasks of mode shared are not graded: exit status 4.\n"
        "\n"
        "pass@k is computed if every task has at least k samples. Tasks without samples,\n"
        "samples without a task and unusable lines are named on standard error; all the\n"
        "others are graded.\n",
    .examples = "  rubricctl grade --dataset HumanEval.jsonl.gz --samples s.jsonl --k 1,10\n"
                "  rubricctl grade --dataset D.jsonl --samples S.jsonl --json | jq .pass_at_k\n"
                "  rubricctl grade --embedded --dataset sanitized-mbpp.json --canonical\n",
    .exits = engine_exits,
    .options = grade_specs,
    .n_options = ARRAY_SIZE(grade_specs),
    .options_size = sizeof(struct grade_options),
    .shared = {engine_specs, ENGINE_SPECS, offsetof(struct grade_options, engine)},
    .run = run_grade,
};
