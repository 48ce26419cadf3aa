/* SPDX-License-Identifier: MIT */
#include "commands.h"
#include "door.h"

#include "client/commands/commands.h"

static enum exit_status run_batch(const struct globals *globals, const void *options,
                                  const struct text_list *arguments)
{
    return door_run(&command_batch, globals, options, arguments);
}

static enum exit_status run_grade(const struct globals *globals, const void *options,
                                  const struct text_list *arguments)
{
    return door_run(&command_grade, globals, options, arguments);
}

static const char of_batch[] =
    "Does what rubricctl batch does, over all hosts of the fleet: the same input, options,\n"
    "lines of results, progress, cost cap and summary; see rubricctl batch --help. --jobs\n"
    "sets how many jobs are in the fleet at once, 256 or twice its slots if not given.\n"
    "\n"
    "Rubrics that can be read here are stored in the fleet, and each host runs those very\n"
    "ones. What cannot be read here, each host needs at the same place; push-bench stores\n"
    "it from elsewhere.\n"
    "\n"
    "A run has a name. If the command ends before the run does (a signal, a power cut),\n"
    "the jobs in the fleet run on. The same command with --run NAME takes the run up, from\n"
    "this host or another one: jobs that have a verdict in the fleet get it at once, the\n"
    "others are queued, unless they are still in the queue. An error in the fleet is no\n"
    "verdict: its job runs again. --resume continues a file of results besides.\n"
    "\n"
    "A job that got no CPU on its host runs again on another one, with nothing of that worker\n"
    "beside it; after ten seconds in which no other worker took it, on the same host. Its\n"
    "line says so (\"fleet\"). The third time, the answer counts. --no-rerun-starved takes\n"
    "the first one.\n"
    "\n"
    "Each id gets one result, whatever happens to workers and servers meanwhile: the first\n"
    "one that the fleet has stored.\n";

static const char batch_examples[] =
    "  rubricctl fleet batch -b /srv/bench -o scores.jsonl jobs.jsonl\n"
    "  rubricctl fleet batch --run tuesday --jobs 4000 -o scores.jsonl jobs.jsonl\n"
    "  rubricctl fleet batch --run tuesday --resume -o scores.jsonl jobs.jsonl\n";

struct command fleet_batch(void)
{
    struct command command = door_command(&command_batch);
    command.brief = "grade the jobs in JSONL files over all hosts";
    command.description = of_batch;
    command.examples = batch_examples;
    command.run = run_batch;
    return command;
}

static const char of_grade[] =
    "Does what rubricctl grade does, over all hosts of the fleet: the same data sets, options,\n"
    "results and pass@k; see rubricctl grade --help. A run is taken up by its name as one of\n"
    "rubricctl fleet batch is.\n"
    "\n"
    "Tests of many bytes are stored once in the fleet, whatever the number of samples.\n";

static const char grade_examples[] = "  rubricctl fleet grade --run tuesday -o results.jsonl \\\n"
                                     "      --dataset HumanEval.jsonl --samples samples.jsonl\n";

struct command fleet_grade(void)
{
    struct command command = door_command(&command_grade);
    command.brief = "grade the samples of a data set over all hosts";
    command.description = of_grade;
    command.examples = grade_examples;
    command.run = run_grade;
    return command;
}
