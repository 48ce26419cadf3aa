/* SPDX-License-Identifier: MIT */
#include "commands.h"
#include "grade_languages.h"
#include "grade_preflight.h"
#include "grade_samples.h"
#include "grade_tasks.h"

#include "client/cli/files.h"
#include "client/cli/limits.h"
#include "client/connection/connect.h"
#include "client/grade/warmmodules.h"
#include "client/terminal/text.h"

#include <string.h>

/* Maximum seconds that a job may ask for. */
#define TIMEOUT_MAX 30

struct grade_options {
    struct engine_options engine;
    const char *dataset;
    const char *samples;
    const char *ks;
    const char *timeout;
    const char *memory;
    const char *transcripts;
    const char *format;
    const char *language;
    bool list_formats;
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

static void plan_deinit(struct plan *plan)
{
    free(plan->output);
}

/* --- the data set ------------------------------------------------------------------------- */

static int read_dataset(struct grading *grading, const struct grade_options *options)
{
    struct fault fault = FAULT_NULL;
    struct dataset_options how = {.language = options->language};
    int r = 0;
    grading->dataset_name = grade_tasks_name(options->dataset);
    if (options->format && !(how.format = formats_find(options->format, &fault)))
        r = -EINVAL;
    if (r == 0)
        r = grade_tasks_read(options->dataset, &how, &grading->dataset, &grading->unusable, &fault);
    if (r == 0)
        r = grade_languages_agree(&grading->dataset, options->language, &fault);
    if (r == 0)
        r = tally_init(&grading->tally);
    grading->tally.unusable_tasks = dataset_unusable(&grading->dataset);
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

static int parse_memory(const char *text, int64_t *ret, struct fault *fault)
{
    _cleanup_json_ json_t *holder = json_object();
    int r =
        holder ? limits_add_option(holder, "--memory", "memory_bytes", text, NULL, fault) : -ENOMEM;
    if (r < 0)
        return r;
    *ret = json_integer_value(json_object_get(json_object_get(holder, "limits"), "memory_bytes"));
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
    plan->engine.numbered = true;
    plan->policy.shared = options->shared;
    plan->policy.language = options->language;
    plan->policy.transcript = options->transcripts != NULL;
    int r = check_options(options, &fault);
    if (r == 0)
        r = passk_parse_ks(options->ks, &plan->ks, &fault);
    if (r == 0)
        r = parse_timeout(options->timeout, &plan->policy.timeout_s, &fault);
    if (r == 0)
        r = parse_memory(options->memory, &plan->policy.memory, &fault);
    if (r == 0 && options->samples)
        r = file_check_readable(options->samples, &fault);
    if (r == 0 && options->samples)
        r = grading_check_samples(options->samples, &fault);
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
    tally->not_in_input = engine->not_in_input;
    return tally_print(results_are_out ? stderr : stdout, tally, &plan->ks, options->json);
}

/* Learns from the reference solutions how samples are to be graded. False if none can be. */
static bool prepare(const struct grade_options *options, const struct plan *plan,
                    struct grading *grading, struct engine *engine)
{
    struct gradejob_policy policy = plan->policy;
    policy.output = grade_preflight_output(&engine->session);
    if (engine->session.warms_modules)
        policy.warm_modules = grading->warm_modules = warmmodules_find(&grading->dataset);
    const struct grade_preflight with = {
        .options = &plan->engine,
        .dataset = grading->dataset_name,
        .samples = options->samples,
        .policy = policy,
        .isolated_only = options->isolated_only,
    };
    grading->preflight.policy = policy;
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

/* Results and JSON have standard output for themselves. */
static void announce(const struct grade_options *options, const struct plan *plan,
                     const struct grading *grading, const struct session *session)
{
    bool is_taken = strcmp(plan->engine.output, "-") == 0 || options->json;
    if (!is_taken || !options->engine.quiet)
        grade_tasks_announce(is_taken ? stderr : stdout, &grading->dataset, options->language,
                             plan->policy.timeout_s, grade_preflight_default(session));
}

/* Leaves tasks that have no sample out of pass@k, unless the run ended early: then they may have
 * some. A solution that lacks has been named as unusable. */
static void leave_out_tasks(struct engine *engine, struct grading *grading, bool canonical)
{
    const struct selection *selection = &engine->selection;
    bool is_limited = selection->limit > 0 && selection->cases == selection->limit;
    if ((engine->exhausted || is_limited) && engine_unanswered(engine) == 0)
        engine->ending.bad_input |=
            grade_tasks_leave_out(&grading->dataset, canonical ? NULL : grading->dataset_name,
                                  selection, &grading->tally);
}

/* Says where the results are, and how to look at them. */
static void tell_results(const struct plan *plan, const struct engine *engine)
{
    const char *path = plan->engine.output;
    if (strcmp(path, "-") == 0 || summary_answered(&engine->summary) == 0 ||
        engine->ending.unwritten)
        return;
    (void)fputs("results: ", stderr);
    text_put(stderr, path, strlen(path));
    if (engine->summary.failed + engine->summary.errors > 0) {
        (void)fputs("; why samples failed: rubricctl report ", stderr);
        text_put(stderr, path, strlen(path));
    }
    (void)fputc('\n', stderr);
}

static enum exit_status grade(const struct globals *globals, const struct grade_options *options,
                              const struct plan *plan, struct grading *grading)
{
    _cleanup_(engine_deinit) struct engine engine = ENGINE_NULL;
    const char *const inputs[] = {options->dataset, options->samples};
    size_t n_inputs = options->samples ? 2 : 1;
    int connected = connect_session(globals, CONNECT_OR_START, &engine.session);
    if (connected < 0)
        return connect_status(globals, connected);
    struct fault fault = FAULT_NULL;
    if (grade_languages_ask(&engine.session, &grading->dataset, options->language, &fault) < 0) {
        complain("%s", fault.text);
        return STATUS_USAGE;
    }
    if (engine_open(&engine, &plan->engine, inputs, n_inputs) < 0 ||
        open_transcripts(options, plan, grading) < 0)
        return STATUS_USAGE;
    announce(options, plan, grading, &engine.session);
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
        .next = options->samples ? grading_next_sample : grading_next_canonical,
        .answer = grading_answer_line,
        .recount = grading_recount,
        .recounted = grading_recounted,
    };
    if (options->samples)
        work.cases = input_count(&options->samples, 1, &work.about);
    engine_run(&engine, &work);
    leave_out_tasks(&engine, grading, options->canonical);
    grading_complain_lacking(grading);
    engine.ending.errors |= engine.left_out > 0;
    if (!transcripts_finish(&grading->transcripts, options->engine.quiet))
        engine.ending.unwritten = true;
    engine_put_summary(&engine);
    if (!options->engine.quiet) {
        grade_tasks_tell_plus(&grading->dataset, grading->dataset_name);
        if (grading->preflight.tasks)
            grade_preflight_put(&grading->preflight);
    }
    if (put_report(options, plan, &engine, &grading->tally) < 0)
        complain("out of memory");
    if (!options->engine.quiet)
        tell_results(plan, &engine);
    return ending_status(&engine.ending, globals->no_fail);
}

static enum exit_status run_grade(const struct globals *globals, const void *options_,
                                  _unused_ const struct text_list *arguments)
{
    const struct grade_options *options = options_;
    _cleanup_(plan_deinit) struct plan plan = {.output = NULL};
    _cleanup_grading_ struct grading grading = GRADING_NULL;
    if (options->list_formats) {
        formats_list(stdout);
        return STATUS_OK;
    }
    if (read_options(options, &plan) < 0 || read_dataset(&grading, options) < 0)
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
        .name = "format",
        .argument = "NAME",
        .kind = OPTION_TEXT,
        .value = VALUE_CHOICE,
        .choices = "humaneval mbpp evalplus humanevalpack humaneval-x multipl-e livecodebench apps "
                   "codecontests bigcodebench classeval cruxeval-o cruxeval-i",
        .offset = offsetof(struct grade_options, format),
        .help = "take the data set as one of this format, whatever its records look like",
    },
    {
        .name = "list-formats",
        .kind = OPTION_FLAG,
        .offset = offsetof(struct grade_options, list_formats),
        .help = "list the formats of data sets: their tests, samples and sources, and where they "
                "are judged otherwise than there; then exit",
    },
    {
        .name = "language",
        .argument = "NAME",
        .kind = OPTION_TEXT,
        .offset = offsetof(struct grade_options, language),
        .help = "language of the samples, if neither they nor the data set say it (default: "
                "python); rubricctl status lists them",
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
        .help =
            "compute pass@k for these k (default: those of 1, 10 and 100 that the samples allow)",
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
        .name = "memory",
        .argument = "SIZE",
        .kind = OPTION_TEXT,
        .offset = offsetof(struct grade_options, memory),
        .help = "how much memory the code and its tests may use, each: 512M or 4G (default: the "
                "data set's, or the daemon's, 1G)",
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
        "it, each in the sandbox, and prints pass@k. It recognises the data sets of the\n"
        "field, each record by its members, and says on its first line what it grades, as in\n"
        "\"CodeContests, C++: 10 tasks, 1265 tests by standard input and output, up to the\n"
        "first failure, 20 s\".\n"
        "\n"
        "--list-formats lists them: HumanEval, MBPP, EvalPlus, HumanEvalPack, HumanEval-X,\n"
        "MultiPL-E, LiveCodeBench, APPS and TACO, CodeContests, BigCodeBench, ClassEval and\n"
        "CRUXEval; whose rules each follows, and where it differs. The data set decides the\n"
        "time limits, how outputs are compared, and whether tests go on after a failure. If\n"
        "a record has tests that would not be run, grade names it and does not use it. Write\n"
        "a task of your own as in HumanEval:\n"
        "\n"
        "  {\"task_id\": \"HumanEval/0\", \"prompt\": \"def f(x):\\n\", \"entry_point\": \"f\",\n"
        "   \"test\": \"def check(candidate): ...\", \"canonical_solution\": \"    ...\"}\n"
        "\n"
        "or as in MBPP (test_imports and test_setup_code are optional):\n"
        "\n"
        "  {\"task_id\": 2, \"code\": \"def g(x): ...\", \"test_list\": [\"assert g(1) == 2\"]}\n"
        "\n"
        "or, for programs in any language that read their input, as in CodeContests:\n"
        "\n"
        "  {\"name\": \"sum\", \"time_limit\": {\"seconds\": 2},\n"
        "   \"public_tests\": {\"input\": [\"1 2\\n\"], \"output\": [\"3\\n\"]}}\n"
        "\n"
        "If a task has tests of EvalPlus, grade runs them: plus_input and base_input of the\n"
        "raw format, for which it compares the results with those of canonical_solution, and\n"
        "test beside test_list of MBPP+ in the original format.\n"
        "\n"
        "A sample has a task_id (or question_id, problem_id, name or id, as its data set has)\n"
        "and one of completion (continues the prompt), solution (a whole program), generation\n"
        "(free text with code in it), and the lists completions and code_list. Its language\n"
        "is the task's, or the one that it names (language), or --language, or Python.\n"
        "\n"
        "The results go to SAMPLES_results.jsonl, beside the samples (for --canonical:\n"
        "DATASET_canonical_results.jsonl), unless --output names another file; with\n"
        "--output - they go to standard output, and pass@k to standard error. They are\n"
        "JSON Lines in order of completion: the sample's own fields, its number among the\n"
        "samples of its task (sample), passed, result (in words), verdict and score. A\n"
        "job that ended in an error has null for passed and counts neither as correct nor\n"
        "as wrong; pass@k is then labelled incomplete. `run` says how the sample was\n"
        "graded. With --resume the same command continues an interrupted run, and pass@k\n"
        "counts everything that the file then has; it says how many of these samples are\n"
        "not in the input.\n"
        "\n"
        "In most data sets of other languages the tests are a part of the program, and its\n"
        "exit status is the verdict. Code can forge such a verdict: grade labels it as those\n"
        "of mode shared, and --isolated-only leaves it out. Code cannot forge the verdict of\n"
        "tests by standard input or by calls of a function.\n"
        "\n"
        "Before the samples, grade runs the references: the data set's own solutions of the\n"
        "tasks that have samples. If a reference passes only in one process with the tests,\n"
        "all samples of its task run so (mode shared); code can forge such verdicts, and\n"
        "pass@k is labelled. A task whose reference fails in both modes is named as broken;\n"
        "its samples are graded, and pass@k is labelled. If a reference needs more than a\n"
        "quarter of the time limit, that limit becomes four times what it took.\n"
        "`run.preflight` of each line records what grade decided, and --resume takes it from\n"
        "there. No sample can change it. With --isolated-only, tasks of mode shared are not\n"
        "graded: exit status 4.\n"
        "\n"
        "pass@k is computed if every task with samples has at least k of them, and says how\n"
        "many of the tasks it covers. Standard error names tasks without samples, samples\n"
        "without a task and unusable lines; grade grades all the others. A task whose record\n"
        "cannot be used is still one of the data set; its samples are counted. A pattern of\n"
        "--filter chooses samples (HumanEval/0:3, or HumanEval/0#3 as reports write it) or\n"
        "tasks (HumanEval/0): pass@k leaves out the tasks of which it lets no sample pass.\n",
    .examples = "  rubricctl grade --dataset HumanEval.jsonl.gz --samples s.jsonl --k 1,10\n"
                "  rubricctl grade --dataset D.jsonl --samples S.jsonl --json | jq .pass_at_k\n"
                "  rubricctl grade --embedded --dataset sanitized-mbpp.json --canonical\n"
                "  rubricctl grade --dataset C.jsonl --samples S.jsonl --language cpp\n",
    .exits = engine_exits,
    .options = grade_specs,
    .n_options = ARRAY_SIZE(grade_specs),
    .options_size = sizeof(struct grade_options),
    .shared = {engine_specs, ENGINE_SPECS, offsetof(struct grade_options, engine)},
    .run = run_grade,
};
