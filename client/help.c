/* SPDX-License-Identifier: MIT */
#include "help.h"
#include "text.h"

#include <string.h>

#define HELP_COLUMNS 80
#define OPTION_COLUMN 27

static const char what_it_is[] =
    "rubricctl - have eval jobs graded by rubricd\n"
    "\n"
    "A job is a test case, the output of the harness that ran it, and the task class\n"
    "whose rubric (<bench root>/<task class>/rubric.py) grades it. rubricd runs each\n"
    "rubric in a sandbox and answers with a BenchScore: passed, score, breakdown,\n"
    "failure modes, cost and time. rubricctl sends the jobs and shows the answers.\n"
    "Or a job is any program, which passes by exiting with 0: rubricctl sandbox.\n"
    "Or code that a model wrote, which passes its task's tests: rubricctl grade.\n";

static const char exit_statuses[] = "  0    every job passed\n"
                                    "  1    a verdict failed (with --no-fail: 0)\n"
                                    "  2    wrong usage, or input that cannot be used\n"
                                    "  3    no daemon, or it was lost\n"
                                    "  4    some jobs ended in an error instead of a verdict\n"
                                    "  130  interrupted\n"
                                    "  Where several apply: 130, then 3, 2, 4, 1.\n"
                                    "  rubricctl sandbox exits as its command does.\n";

static const char worked_examples[] =
    "  Grade one answer, without any service, and see why it failed:\n"
    "    rubricctl run --embedded --bench-root tests/data/bench \\\n"
    "        --task-class exact-match --case '{\"case_id\": \"x\", \"answer\": \"4\"}' \\\n"
    "        --harness-output '{\"answer\": \"5\"}'\n"
    "\n"
    "  Grade a file of jobs on the host's daemon, keep what it answers, and let a CI\n"
    "  step fail when one did not pass:\n"
    "    rubricctl batch --bench-root /srv/bench --output scores.jsonl jobs.jsonl\n";

static void put_option(FILE *out, const struct option_spec *spec)
{
    char left[64], letter[8] = "    ";
    if (spec->letter)
        (void)snprintf(letter, sizeof(letter), "-%c, ", spec->letter);
    int n = snprintf(left, sizeof(left), "  %s--%s%s%s", letter, spec->name,
                     spec->argument ? " " : "", spec->argument ? spec->argument : "");
    (void)fputs(left, out);
    if (n >= OPTION_COLUMN - 1) {
        (void)fputc('\n', out);
        n = 0;
    }
    (void)fprintf(out, "%*s", OPTION_COLUMN - n, "");
    text_put_wrapped(out, spec->help, OPTION_COLUMN, OPTION_COLUMN, HELP_COLUMNS - 1);
}

static void put_options(FILE *out, const char *title, const struct option_spec *specs, size_t n)
{
    if (n == 0)
        return;
    (void)fprintf(out, "\n%s:\n", title);
    for (size_t i = 0; i < n; i++)
        put_option(out, &specs[i]);
}

void help_all(FILE *out, const struct command *const *commands, size_t n)
{
    (void)fprintf(out, "%s\nusage: rubricctl [OPTION]... COMMAND [ARGUMENT]...\n\ncommands:\n",
                  what_it_is);
    for (size_t i = 0; i < n; i++)
        (void)fprintf(out, "  %-8s %s\n", commands[i]->name, commands[i]->brief);
    (void)fputs("  rubricctl COMMAND --help explains each.\n", out);
    put_options(out, "options of every command", global_options, n_global_options);
    (void)fprintf(out, "\nexit status:\n%s\nexamples:\n%s", exit_statuses, worked_examples);
    (void)fputs("\nWith no --socket and no daemon at the default place, run, batch, sandbox and\n"
                "grade start a private daemon by themselves and say so.\n",
                out);
}

void help_command(FILE *out, const struct command *command)
{
    (void)fprintf(out, "rubricctl %s - %s\n\nusage: rubricctl %s [OPTION]...%s%s\n\n%s",
                  command->name, command->brief, command->name, *command->arguments ? " " : "",
                  command->arguments, command->description);
    put_options(out, "options", command->options, command->n_options);
    put_options(out, "options of every command", global_options, n_global_options);
    (void)fprintf(out, "\nexamples:\n%s\nexit status:\n%s", command->examples, command->exits);
}
