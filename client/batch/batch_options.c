/* SPDX-License-Identifier: MIT */
/* The options and exit statuses that every command with an engine has, in one wording. */
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
        .help = "overwrite the file of results if it is there already",
    },
    {
        .letter = 'r',
        .name = "resume",
        .kind = OPTION_FLAG,
        .offset = offsetof(struct engine_options, resume),
        .help = "continue the file of results: only what has no verdict there is run, and what has "
                "changed since",
    },
    {
        .letter = 'j',
        .name = "jobs",
        .argument = "N",
        .kind = OPTION_NUMBER,
        .offset = offsetof(struct engine_options, jobs),
        .min = 1,
        .max = 10000,
        .help = "how many jobs may be at the daemon at once, waiting or running (default: what it "
                "queues for one client, at most 256)",
    },
    {
        .name = "reconnect",
        .argument = "SECONDS",
        .kind = OPTION_NUMBER,
        .offset = offsetof(struct engine_options, reconnect),
        .min = 1,
        .max = 86400,
        .help = "how long to wait for a daemon that went away, to submit again what it has not "
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
            "how often a job is run again whose answer is an error, not a verdict, after 0.5 s, "
            "1 s, 2 s and so on (default: 2)",
    },
    {
        .name = "retry-all-errors",
        .kind = OPTION_FLAG,
        .offset = offsetof(struct engine_options, retry_all_errors),
        .help = "not only the errors that the daemon calls retriable",
    },
    {
        .name = "no-rerun-starved",
        .kind = OPTION_FLAG,
        .offset = offsetof(struct engine_options, no_rerun_starved),
        .help =
            "let a timeout count whose job waited for a CPU half of its time; otherwise it is run "
            "once more, with nothing of this run beside it",
    },
    {
        .name = "cost-cap",
        .argument = "USD",
        .kind = OPTION_TEXT,
        .offset = offsetof(struct engine_options, cost_cap),
        .help =
            "stop when the results have cost more than that in all, those included that a resumed "
            "run has had; what runs then is awaited",
    },
    {
        .name = "fail-fast",
        .kind = OPTION_FLAG,
        .offset = offsetof(struct engine_options, fail_fast),
        .help = "stop at the first job that does not pass; what runs then is awaited",
    },
    {
        .name = "limit",
        .argument = "N",
        .kind = OPTION_NUMBER,
        .offset = offsetof(struct engine_options, limit),
        .min = 1,
        .max = 1000000000,
        .help = "take no more than the first N jobs of the input (of those that pass the filters)",
    },
    {
        .name = "filter",
        .argument = "PATTERN",
        .kind = OPTION_LIST,
        .offset = offsetof(struct engine_options, filters),
        .help =
            "take only jobs whose id matches, as a shell matches file names; or task_class=PATTERN "
            "or kind=PATTERN; of several, all have to",
    },
    {
        .letter = 'q',
        .name = "quiet",
        .kind = OPTION_FLAG,
        .offset = offsetof(struct engine_options, quiet),
        .help = "no summary and no progress line; only trouble is told",
    },
};

const char engine_exits[] = "  0    every job passed\n"
                            "  1    a job did not pass (with --no-fail: 0)\n"
                            "  2    wrong usage, or input that could not be used\n"
                            "  3    no daemon, or it was lost before every job was answered\n"
                            "  4    some jobs ended in an error instead of a verdict\n"
                            "  5    the cost cap was passed, and jobs were left out\n"
                            "  6    the results could not be written (a full disk, say)\n"
                            "  130  interrupted, or the reader of the output went away\n"
                            "  Where several apply: 130, then 6, 3, 5, 2, 4, 1.\n";

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

int engine_read_cost_cap(const char *text, double *ret, struct fault *fault)
{
    char *end;
    double value = text ? strtod(text, &end) : INFINITY;
    /* Not what else strtod reads: hexadecimal numbers, infinity, white space. */
    if (text && (end == text || *end || text[strspn(text, "0123456789.")]))
        return fault_set(fault, "--cost-cap: expected dollars, as in 2.50, got \"%s\"", text);
    *ret = value;
    return 0;
}
