/* SPDX-License-Identifier: MIT */
#include "commands.h"

#include "client/cli/files.h"
#include "client/report/formats.h"
#include "client/report/load.h"
#include "client/report/sink.h"
#include "client/terminal/text.h"
#include "conf/layout.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#define RESAMPLES_MAX 10000000

struct report_options {
    bool formats[FORMATS_N]; /* which were chosen */
    struct text_list outputs;
    bool force;
    bool quiet;
    const char *confidence;
    long resamples; /* 0: the default */
    const char *seed;
    const char *ks;
    bool mix;
    const char *min_score;
    struct text_list against;
    bool cases;
    bool failures;
    bool fail_on_regression;
    const char *max_regressions;
};

/* The decoded options. */
struct plan {
    struct runreport_options report;
    bool failures;
    const struct report_format
        *format; /* of standard output, and of files whose ending names none */
    bool format_given;
    double min_score; /* NAN if there is no such gate */
    bool fail_on_regression;
    int64_t max_regressions; /* negative if there is no such gate */
};

/* --- options ------------------------------------------------------------------------------ */

/* Parses a decimal number between 0 and 1, with these ends if INCLUSIVE. */
static int parse_fraction(const char *name, const char *text, bool inclusive, double *ret,
                          struct fault *fault)
{
    char *end;
    double value = strtod(text, &end);
    bool plain = end != text && !*end && !text[strspn(text, "0123456789.")];
    if (!plain || !(inclusive ? value >= 0 && value <= 1 : value > 0 && value < 1))
        return fault_set(fault, "--%s: expected a number %s 0 %s 1, got \"%s\"", name,
                         inclusive ? "from" : "above", inclusive ? "to" : "and below", text);
    *ret = value;
    return 0;
}

static int parse_whole(const char *name, const char *text, uint64_t *ret, struct fault *fault)
{
    char *end;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    if (errno || end == text || *end || text[0] < '0' || text[0] > '9' || value > INT64_MAX)
        return fault_set(fault, "--%s: expected a whole number from 0 to %lld, got \"%s\"", name,
                         (long long)INT64_MAX, text);
    *ret = value;
    return 0;
}

static int choose_format(const struct report_options *options, struct plan *plan,
                         struct fault *fault)
{
    char names[FORMATS_OPTIONS_MAX];
    size_t chosen = 0;
    plan->format = &report_formats[0];
    for (size_t i = 0; i < FORMATS_N; i++) {
        if (options->formats[i])
            plan->format = &report_formats[i];
        chosen += options->formats[i];
    }
    if (chosen > 1)
        return fault_set(fault,
                         "%s: only one of them can go to standard output; --output FILE can be "
                         "given once for each",
                         formats_options(names));
    plan->format_given = chosen > 0;
    for (size_t i = 0; i < options->outputs.n; i++)
        if (!plan->format_given && !formats_of_path(options->outputs.items[i]))
            return fault_set(fault,
                             "--output %s: expected a name that ends in " FORMAT_ENDINGS
                             ", or one of the options %s",
                             options->outputs.items[i], formats_options(names));
    return 0;
}

/* The form of the file PATH: that of its ending, else the chosen one. */
static const struct report_format *format_of(const struct plan *plan, const char *path)
{
    const struct report_format *named = formats_of_path(path);
    return named ? named : plan->format;
}

/* Refuses --failures if no text is written that could list them. */
static int check_failures(const struct report_options *options, const struct plan *plan,
                          struct fault *fault)
{
    const struct report_format *text = &report_formats[FORMAT_text];
    bool has_text = plan->format == text && !options->quiet;
    for (size_t i = 0; i < options->outputs.n; i++)
        has_text |= format_of(plan, options->outputs.items[i]) == text;
    if (options->failures && !has_text)
        return fault_set(fault, "--failures lists them in text, and none is written; --junit has "
                                "all results as XML");
    return 0;
}

static int read_options(const struct report_options *options, struct plan *plan,
                        struct fault *fault)
{
    struct bootstrap_options *bootstrap = &plan->report.bootstrap;
    uint64_t most = 0;
    *plan = (struct plan){
        .min_score = NAN,
        .max_regressions = -1,
        .failures = options->failures,
        .fail_on_regression = options->fail_on_regression,
    };
    *bootstrap = (struct bootstrap_options){
        .resamples = options->resamples ? (size_t)options->resamples : BOOTSTRAP_RESAMPLES,
        .confidence = BOOTSTRAP_CONFIDENCE,
    };
    plan->report.version = RUBRICCTL_VERSION;
    plan->report.mix = options->mix;
    plan->report.list_cases = options->cases;
    int r = choose_format(options, plan, fault);
    if (r == 0)
        r = check_failures(options, plan, fault);
    if (r == 0 && options->confidence)
        r = parse_fraction("confidence", options->confidence, false, &bootstrap->confidence, fault);
    if (r == 0 && options->min_score)
        r = parse_fraction("min-score", options->min_score, true, &plan->min_score, fault);
    if (r == 0 && options->seed)
        r = parse_whole("seed", options->seed, &bootstrap->seed, fault);
    if (r == 0 && options->max_regressions) {
        r = parse_whole("max-regressions", options->max_regressions, &most, fault);
        plan->max_regressions = (int64_t)most;
    }
    if (r == 0 && options->against.n == 0 && (plan->fail_on_regression || options->max_regressions))
        r = fault_set(fault, "--%s needs a run to compare with: --against FILE",
                      plan->fail_on_regression ? "fail-on-regression" : "max-regressions");
    if (r == 0 && options->ks)
        r = passk_parse_ks(options->ks, &plan->report.ks, fault);
    return r;
}

/* --- writing ------------------------------------------------------------------------------ */

static bool wants_colour(void)
{
    const char *no_colour = getenv("NO_COLOR"); /* see no-color.org: any value but empty */
    return isatty(STDOUT_FILENO) && !(no_colour && *no_colour);
}

static int put(FILE *out, const struct plan *plan, const struct report_format *format,
               const json_t *report, const struct results *results)
{
    const struct report_view view = {
        .report = report,
        .results = results,
        .columns = layout_columns(out),
        .colour = out == stdout && wants_colour(),
        .failures = plan->failures,
    };
    return format->write(out, &view);
}

/* Whether some form of the report shows all results that did not pass. */
static bool needs_spool(const struct report_options *options, const struct plan *plan)
{
    const struct report_format *junit = &report_formats[FORMAT_junit];
    bool needs = plan->format == junit || plan->failures;
    for (size_t i = 0; i < options->outputs.n; i++)
        needs |= format_of(plan, options->outputs.items[i]) == junit;
    return needs;
}

static int put_file(const char *path, const struct plan *plan, bool force, const json_t *report,
                    const struct results *results)
{
    _cleanup_(sink_close) struct sink sink = SINK_NULL;
    struct fault fault = FAULT_NULL;
    int r = sink_open(&sink, path, force, &fault);
    if (r == 0)
        r = put(sink.stream, plan, format_of(plan, path), report, results);
    if (r == 0)
        r = sink_commit(&sink, &fault);
    if (r < 0)
        complain("%s", fault.text[0] ? fault.text : strerror(-r));
    return r;
}

/* Writes the files, and then the report to standard output unless a file has the format that was
 * chosen. */
static int put_all(const struct report_options *options, const struct plan *plan,
                   const json_t *report, const struct results *results)
{
    bool is_written = options->quiet;
    for (size_t i = 0; i < options->outputs.n; i++) {
        const char *path = options->outputs.items[i];
        is_written |= plan->format_given && format_of(plan, path) == plan->format;
        int r = put_file(path, plan, options->force, report, results);
        if (r < 0)
            return r;
    }
    int r = is_written ? 0 : put(stdout, plan, plan->format, report, results);
    if (r < 0)
        complain("%s", strerror(-r));
    return r;
}

/* --- the command -------------------------------------------------------------------------- */

static int check_populations(const struct plan *plan, const struct results *results,
                             const struct results *against)
{
    _cleanup_free_ char *mixed = runreport_mixed(results, against);
    if (!mixed || plan->report.mix)
        return 0;
    complain("these results are of different populations: a mean over them compares nothing; "
             "--mix reports them anyway:");
    (void)fprintf(stderr, "%s\n", mixed + strspn(mixed, "\n"));
    return -EINVAL;
}

/* Returns whether the score passes the gate --min-score. */
static bool is_good_enough(const struct plan *plan, const json_t *report)
{
    const json_t *score = json_object_get(report, "score");
    const json_t *low = json_object_get(json_object_get(score, "interval"), "low");
    if (isnan(plan->min_score))
        return true;
    if (!json_is_number(low)) {
        complain("--min-score: the score has no interval to judge by");
        return false;
    }
    bool good = json_number_value(low) >= plan->min_score;
    if (!good)
        complain("--min-score: the score is %.4f, but its interval begins at %.4f, below %g",
                 json_number_value(json_object_get(score, "mean")), json_number_value(low),
                 plan->min_score);
    return good;
}

/* Returns whether the comparison passes the gates --fail-on-regression and --max-regressions. */
static bool is_no_regression(const struct plan *plan, const json_t *report)
{
    const json_t *against = json_object_get(report, "against");
    const char *verdict = json_string_value(json_object_get(against, "verdict"));
    int64_t fallen =
        json_integer_value(json_object_get(json_object_get(against, "regressions"), "total"));
    bool worse = plan->fail_on_regression && strcmp(verdict, "worse") == 0;
    bool unknown = plan->fail_on_regression && strcmp(verdict, "unknown") == 0;
    bool many = plan->max_regressions >= 0 && fallen > plan->max_regressions;
    if (worse)
        complain("--fail-on-regression: the interval of the difference lies below 0");
    if (unknown)
        complain("--fail-on-regression: the difference has no interval to judge by");
    if (many)
        complain("--max-regressions: %lld cases pass less often than before, more than %lld",
                 (long long)fallen, (long long)plan->max_regressions);
    return !worse && !unknown && !many;
}

static bool has_bad_lines(const struct runreport_file *files, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (files[i].unusable > 0)
            return true;
    return false;
}

static size_t count_stdin(const struct text_list *files)
{
    size_t n = 0;
    for (size_t i = 0; i < files->n; i++)
        n += strcmp(files->items[i], "-") == 0;
    return n;
}

/* Makes the report on RESULTS, writes it, and applies the gates. */
static enum exit_status put_report(const struct report_options *options, const struct plan *plan,
                                   const struct results *results, bool no_fail)
{
    const struct runreport_options *of = &plan->report;
    _cleanup_json_ json_t *report = runreport_make(results, of);
    if (!report) {
        complain("out of memory");
        return STATUS_USAGE;
    }
    if (put_all(options, plan, report, results) < 0)
        return STATUS_USAGE;
    bool good = is_good_enough(plan, report);
    if (of->against)
        good = is_no_regression(plan, report) && good;
    const struct ending ending = {
        .bad_input = has_bad_lines(of->files, of->n_files) ||
                     has_bad_lines(of->against_files, of->n_against_files),
        .errors = json_array_size(json_object_get(report, "errors")) > 0,
        .failed = !good,
    };
    return ending_status(&ending, no_fail);
}

/* A run compared with itself has no difference, which may be a typo. */
static void complain_of_same(const struct text_list *files, const struct text_list *against)
{
    for (size_t i = 0; i < files->n; i++)
        for (size_t k = 0; k < against->n; k++)
            if (file_is_same(files->items[i], against->items[k]))
                complain("%s is on both sides of --against: the same file", files->items[i]);
}

/* Loads the FILES, each once; *RET_N is how many these are. */
static int load_once(const struct text_list *files, struct results *results,
                     struct runreport_file **ret, size_t *ret_n)
{
    _cleanup_free_ const char **once = NULL;
    if (files_once(files, &once, ret_n) < 0) {
        complain("out of memory");
        return -ENOMEM;
    }
    return load_results(once, *ret_n, results, ret);
}

static enum exit_status run_report(const struct globals *globals, const void *options_,
                                   const struct text_list *files)
{
    const struct report_options *options = options_;
    _cleanup_results_ struct results results = RESULTS_NULL, there = RESULTS_NULL;
    _cleanup_free_ struct runreport_file *counts = NULL, *counts_there = NULL;
    const struct text_list *against = &options->against;
    struct plan plan;
    struct fault fault = FAULT_NULL;
    if (read_options(options, &plan, &fault) < 0) {
        complain("%s", fault.text);
        return STATUS_USAGE;
    }
    if (count_stdin(files) + count_stdin(against) > 1) {
        complain("standard input can be read only once");
        return STATUS_USAGE;
    }
    _cleanup_spool_ struct spool spool = SPOOL_NULL;
    if (needs_spool(options, &plan)) {
        if (spool_open(&spool, &fault) < 0) {
            complain("%s", fault.text);
            return STATUS_USAGE;
        }
        results.spool = &spool;
    }
    if (!options->quiet)
        complain_of_same(files, against);
    size_t n = 0, n_there = 0;
    if (load_once(files, &results, &counts, &n) < 0 ||
        (against->n > 0 && load_once(against, &there, &counts_there, &n_there) < 0))
        return STATUS_USAGE;
    plan.report.files = counts;
    plan.report.n_files = n;
    plan.report.against = against->n > 0 ? &there : NULL;
    plan.report.against_files = counts_there;
    plan.report.n_against_files = n_there;
    if (check_populations(&plan, &results, plan.report.against) < 0)
        return STATUS_USAGE;
    return put_report(options, &plan, &results, globals->no_fail);
}

#define NO_SPEC(...)
#define FORMAT_SPEC(name_, endings_, write_, help_)                         \
    {                                                                       \
        .name = #name_,                                                     \
        .kind = OPTION_FLAG,                                                \
        .offset = offsetof(struct report_options, formats[FORMAT_##name_]), \
        .help = (help_),                                                    \
    },

static const struct option_spec report_specs[] = {
    /* clang-format off */
    REPORT_FORMATS(NO_SPEC, FORMAT_SPEC)
    /* clang-format on */
    {
        .letter = 'o',
        .name = "output",
        .argument = "FILE",
        .kind = OPTION_LIST,
        .value = VALUE_FILE,
        .offset = offsetof(struct report_options, outputs),
        .help = "also write FILE, in the form that its ending names (" FORMAT_ENDINGS
                "); may be given several times",
    },
    {
        .letter = 'f',
        .name = "force",
        .kind = OPTION_FLAG,
        .offset = offsetof(struct report_options, force),
        .help = "overwrite files of --output that exist",
    },
    {
        .letter = 'q',
        .name = "quiet",
        .kind = OPTION_FLAG,
        .offset = offsetof(struct report_options, quiet),
        .help = "print nothing on standard output",
    },
    {
        .name = "confidence",
        .argument = "P",
        .kind = OPTION_TEXT,
        .offset = offsetof(struct report_options, confidence),
        .help = "confidence level of the intervals (default: 0.95)",
    },
    {
        .name = "resamples",
        .argument = "N",
        .kind = OPTION_NUMBER,
        .offset = offsetof(struct report_options, resamples),
        .min = 1,
        .max = RESAMPLES_MAX,
        .help = "number of resamples of the bootstrap (default: 10000)",
    },
    {
        .name = "seed",
        .argument = "N",
        .kind = OPTION_TEXT,
        .offset = offsetof(struct report_options, seed),
        .help = "seed of the bootstrap; the same seed gives the same intervals (default: 0)",
    },
    {
        .letter = 'k',
        .name = "k",
        .argument = "K,...",
        .kind = OPTION_TEXT,
        .offset = offsetof(struct report_options, ks),
        .help = "compute pass@k for these K (default: those that the samples allow)",
    },
    {
        .name = "mix",
        .kind = OPTION_FLAG,
        .offset = offsetof(struct report_options, mix),
        .help = "report results of different populations together",
    },
    {
        .name = "failures",
        .kind = OPTION_FLAG,
        .offset = offsetof(struct report_options, failures),
        .help = "list every result that did not pass, with its reason",
    },
    {
        .name = "cases",
        .kind = OPTION_FLAG,
        .offset = offsetof(struct report_options, cases),
        .help = "list every case in the JSON, with its digest",
    },
    {
        .name = "min-score",
        .argument = "X",
        .kind = OPTION_TEXT,
        .offset = offsetof(struct report_options, min_score),
        .help = "fail unless the interval of the mean score begins at X or above",
    },
    {
        .name = "against",
        .argument = "FILE",
        .kind = OPTION_LIST,
        .value = VALUE_FILE,
        .offset = offsetof(struct report_options, against),
        .help = "compare case by case with the results in FILE; may be given several times",
    },
    {
        .name = "fail-on-regression",
        .kind = OPTION_FLAG,
        .offset = offsetof(struct report_options, fail_on_regression),
        .help = "fail if the score is worse than with --against: the interval of the difference "
                "lies below 0",
    },
    {
        .name = "max-regressions",
        .argument = "N",
        .kind = OPTION_TEXT,
        .offset = offsetof(struct report_options, max_regressions),
        .help = "fail if more than N cases pass less often than with --against",
    },
};

const struct command command_report = {
    .name = "report",
    .arguments = "RESULTS...",
    .argument_value = VALUE_FILE,
    .arguments_min = 1,
    .arguments_max = -1,
    .brief = "report the scores of a run",
    .description =
        "Reads RESULTS, files that rubricctl batch or grade wrote (\"-\" is standard input;\n"
        ".gz is inflated), and reports the mean score and the pass rate with intervals,\n"
        "pass@k if cases have several samples, each task class, the failure modes with\n"
        "examples, cost, latency, how the jobs were isolated, and what it takes to grade\n"
        "the same again. It needs no daemon.\n"
        "\n"
        "Intervals are BCa (bias-corrected and accelerated bootstrap). If BCa is undefined,\n"
        "for example because all scores are equal, the report has Wilson's interval if\n"
        "every score is 0 or 1, else the percentile interval, and says which and why.\n"
        "A case counts once: the mean of its samples, from all files, is its score, and\n"
        "the bootstrap resamples cases. An error is not a verdict: it counts neither as\n"
        "passed nor as failed. Of several attempts, and of several lines with one id in\n"
        "one file, the last counts. A file that is given twice counts once.\n"
        "\n"
        "Results are of different populations if their isolation differs (its class, its\n"
        "digest, or whether the graded code could forge its verdict). Without --mix, the\n"
        "report refuses them. It names lines that it cannot use on standard error, and\n"
        "reports the others.\n"
        "\n"
        "--against pairs cases by their id and reports the interval of the mean of their\n"
        "differences. It does not pair a case whose content (its digest) has changed.\n",
    .examples = "  rubricctl report scores.jsonl\n"
                "  rubricctl report scores.jsonl -o report.html -o report.json -o junit.xml\n"
                "  rubricctl report scores.jsonl --markdown >> \"$GITHUB_STEP_SUMMARY\"\n"
                "  rubricctl report --min-score 0.8 --quiet scores.jsonl && promote\n"
                "  rubricctl report new.jsonl --against old.jsonl --fail-on-regression\n",
    .exits = "  0    the report was made\n"
             "  1    a gate failed: --min-score, --fail-on-regression or --max-regressions\n"
             "       (with --no-fail: 0)\n"
             "  2    wrong usage, lines that cannot be used, or mixed populations\n"
             "  4    some jobs have no verdict\n"
             "  If several apply: 2, 4, 1.\n",
    .options = report_specs,
    .n_options = ARRAY_SIZE(report_specs),
    .options_size = sizeof(struct report_options),
    .run = run_report,
};
