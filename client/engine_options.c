/* SPDX-License-Identifier: MIT */
/* The options and exit statuses that every command with an engine has, in one wording. */
#include "engine.h"

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
                            "  6    the results could not be written (a full disk, say)\n"
                            "  130  interrupted, or the reader of the output went away\n"
                            "  Where several apply: 130, then 6, 3, 2, 4, 1.\n";
