/* SPDX-License-Identifier: MIT */
/* The options and exit statuses that all commands with an engine share. */
#include "engine_private.h"

#include <math.h>
#include <string.h>

#define RETRIES_DEFAULT 2
#define RETRIES_MAX 100

const struct option_spec engine_specs[ENGINE_SPECS] = {
    {
        .letter = 'o',
        .name = "output",
        .argument = "FILE",
        .kind = OPTION_TEXT,
        .value = VALUE_FILE,
        .offset = offsetof(struct engine_options, output),
        .help = "write the results to FILE (\"-\": standard output)",
    },
    {
        .letter = 'f',
        .name = "force",
        .kind = OPTION_FLAG,
        .offset = offsetof(struct engine_options, force),
        .help = "overwrite an existing file of results, once there is a result",
    },
    {
        .letter = 'r',
        .name = "resume",
        .kind = OPTION_FLAG,
        .offset = offsetof(struct engine_options, resume),
        .help = "continue the file of results: run only jobs that have no verdict in it or have "
                "changed "
                "since",
    },
    {
        .letter = 'j',
        .name = "jobs",
        .argument = "N",
        .kind = OPTION_NUMBER,
        .offset = offsetof(struct engine_options, jobs),
        .min = 1,
        .max = 10000,
        .help =
            "keep up to N jobs at the daemon, queued or running (default: as many as it queues for "
            "one client, at most 256 or, if that is more, two for each slot)",
    },
    {
        .name = "reconnect",
        .argument = "SECONDS",
        .kind = OPTION_NUMBER,
        .offset = offsetof(struct engine_options, reconnect),
        .min = 1,
        .max = 86400,
        .help = "wait up to SECONDS for a daemon that went away, and submit again what it has not "
                "answered (default: 60)",
    },
    {
        .name = "no-reconnect",
        .kind = OPTION_FLAG,
        .offset = offsetof(struct engine_options, no_reconnect),
        .help = "give up when the daemon goes away",
    },
    {
        .name = "retries",
        .argument = "N",
        .kind = OPTION_TEXT,
        .offset = offsetof(struct engine_options, retries),
        .help =
            "run a job that ended in an error (not a verdict) up to N times again, after 0.5 s, "
            "1 s, 2 s and so on (default: 2)",
    },
    {
        .name = "retry-all-errors",
        .kind = OPTION_FLAG,
        .offset = offsetof(struct engine_options, retry_all_errors),
        .help = "retry all errors, not only those that the daemon calls retriable",
    },
    {
        .name = "no-rerun-starved",
        .kind = OPTION_FLAG,
        .offset = offsetof(struct engine_options, no_rerun_starved),
        .help = "count a timeout even if the job waited for a CPU half of its time, and retry a "
                "job that "
                "got no CPU like any other; without this option, run such a job once more while "
                "nothing else of this run is in flight",
    },
    {
        .name = "cost-cap",
        .argument = "USD",
        .kind = OPTION_TEXT,
        .offset = offsetof(struct engine_options, cost_cap),
        .help =
            "stop when the results have cost more than USD in all, including those of the run that "
            "is resumed; take queued jobs back and wait for those that run",
    },
    {
        .name = "fail-fast",
        .kind = OPTION_FLAG,
        .offset = offsetof(struct engine_options, fail_fast),
        .help = "stop at the first job that does not pass; take queued jobs back and wait for "
                "those that "
                "run",
    },
    {
        .name = "limit",
        .argument = "N",
        .kind = OPTION_NUMBER,
        .offset = offsetof(struct engine_options, limit),
        .min = 1,
        .max = 1000000000,
        .hint = "; a job is bounded by \"limits\" in its line",
        .help = "run only the first N jobs of the input that pass the filters",
    },
    {
        .name = "filter",
        .argument = "PATTERN",
        .kind = OPTION_LIST,
        .offset = offsetof(struct engine_options, filters),
        .help = "run only jobs whose id matches, as a shell matches file names; or id=PATTERN, "
                "task_class=PATTERN or kind=PATTERN; several filters must all match",
    },
    {
        .letter = 'q',
        .name = "quiet",
        .kind = OPTION_FLAG,
        .offset = offsetof(struct engine_options, quiet),
        .help = "print neither progress nor summary, only problems",
    },
};

const char engine_exits[] =
    "  0    every job passed\n"
    "  1    a job did not pass (with --no-fail: 0)\n"
    "  2    wrong usage, also an output that cannot be opened; input that\n"
    "       could not be used; or no job to grade\n"
    "  3    no daemon, or it went away before it answered every job\n"
    "  4    some jobs ended in an error instead of a verdict\n"
    "  5    stopped at the cost cap with jobs left\n"
    "  6    could not write results once jobs ran (disk full, for example)\n"
    "  130  interrupted, or the reader of the output went away\n"
    "  If several apply, the first of 130, 6, 3, 5, 2, 4, 1.\n";

int engine_read_retries(const char *text, size_t *ret, struct fault *fault)
{
    char *end;
    long value = text ? strtol(text, &end, 10) : RETRIES_DEFAULT;
    if (text && (!*text || text[strspn(text, "0123456789")] || value > RETRIES_MAX))
        return fault_set(fault, "--retries: expected a whole number from 0 to %d, got \"%s\"",
                         RETRIES_MAX, text);
    *ret = (size_t)value;
    return 0;
}

bool engine_read_decimal(const char *text, double *ret)
{
    char *end;
    double value = strtod(text, &end);
    /* strtod() also reads hexadecimal numbers, infinity and white space. */
    if (end == text || *end || text[strspn(text, "0123456789.")])
        return false;
    *ret = value;
    return true;
}

int engine_read_cost_cap(const char *text, double *ret, struct fault *fault)
{
    double value = INFINITY;
    if (text && !engine_read_decimal(text, &value))
        return fault_set(fault, "--cost-cap: expected dollars, as in 2.50, got \"%s\"", text);
    *ret = value;
    return 0;
}
