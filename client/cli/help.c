/* SPDX-License-Identifier: MIT */
#include "help.h"
#include "layout.h"

#include "client/commands/commands.h"
#include "client/terminal/text.h"

#include <string.h>

/* Where the explanation of an option begins; on a narrow terminal it goes below the option. */
#define OPTION_COLUMN 27
#define NARROW_COLUMNS 60
#define NARROW_COLUMN 8

static const char what_it_is[] =
    "rubricctl has jobs graded by rubricd, the daemon that runs each in a sandbox. A job is one "
    "of three:\n"
    "\n"
    "  rubric     an answer, and the rubric.py of its task class that grades it\n"
    "  sandbox    any program, which passes by exiting with 0\n"
    "  code_exec  code that a model wrote, which passes the tests of its task\n";

const char help_exit_statuses[] = "  0    every job passed\n"
                                  "  1    a job did not pass (with --no-fail: 0)\n"
                                  "  2    wrong usage, or input that cannot be used\n"
                                  "  3    no daemon, or it was lost\n"
                                  "  4    some jobs ended in an error instead of a verdict\n"
                                  "  5    the cost cap was passed\n"
                                  "  6    results could not be written\n"
                                  "  130  interrupted\n"
                                  "  Where several apply: 130, then 6, 3, 5, 2, 4, 1.\n"
                                  "  rubricctl sandbox exits as its command does.\n";

static const char worked_examples[] =
    "  Grade one answer, without any service, and see why it failed:\n"
    "    rubricctl run --embedded --bench-root tests/data/bench \\\n"
    "        --task-class exact-match --case '{\"case_id\": \"x\", \"answer\": \"4\"}' \\\n"
    "        --harness-output '{\"answer\": \"5\"}'\n"
    "  Grade a file of jobs on the host's daemon, and exit with 0 only if all pass:\n"
    "    rubricctl batch --bench-root /srv/bench --output scores.jsonl jobs.jsonl\n"
    "  See what the daemon is doing:\n"
    "    rubricctl status\n";

static void put_option(FILE *out, const struct option_spec *spec, size_t columns)
{
    char name[64];
    const char letter[] = {'-', spec->letter, ',', ' ', '\0'};
    size_t column = columns < NARROW_COLUMNS ? NARROW_COLUMN : OPTION_COLUMN;
    size_t n = (size_t)snprintf(name, sizeof(name), "  %s--%s%s%s%s",
                                spec->letter ? letter : "    ", spec->name,
                                spec->absent     ? "[="
                                : spec->argument ? " "
                                                 : "",
                                spec->argument ? spec->argument : "", spec->absent ? "]" : "");
    (void)fputs(name, out);
    if (n >= column - 1) {
        (void)fputc('\n', out);
        n = 0;
    }
    (void)fprintf(out, "%*s", (int)(column - n), "");
    text_put_wrapped(out, spec->help, column, column, columns - 1);
}

static void put_options(FILE *out, const struct option_spec *specs, size_t n, size_t columns)
{
    for (size_t i = 0; i < n; i++)
        put_option(out, &specs[i], columns);
}

/* By name alone: what they mean is told once, by rubricctl --help. */
static void put_globals(FILE *out, size_t columns)
{
    char names[256] = "";
    size_t used = 0;
    for (size_t i = 0; i < n_global_options && used < sizeof(names); i++)
        used +=
            (size_t)snprintf(names + used, sizeof(names) - used, "--%s ", global_options[i].name);
    layout_put(out, "\noptions of every command, which rubricctl --help explains:\n", false,
               columns);
    (void)fputs("  ", out);
    text_put_wrapped(out, names, 2, 2, columns - 1);
}

static void put_commands(FILE *out, size_t columns)
{
    size_t widest = 0;
    for (size_t i = 0; i < n_commands; i++)
        widest = MAX(widest, strlen(commands[i]->name));
    for (size_t i = 0; i < n_commands; i++) {
        (void)fprintf(out, "  %-*s  ", (int)widest, commands[i]->name);
        text_put_wrapped(out, commands[i]->brief, widest + 4, widest + 4, columns - 1);
    }
}

void help_all(FILE *out)
{
    size_t columns = layout_columns(out);
    layout_put(out, what_it_is, false, columns);
    (void)fputs("\nusage: rubricctl [OPTION]... COMMAND [ARGUMENT]...\n\ncommands:\n", out);
    put_commands(out, columns);
    layout_put(out, "\nrubricctl COMMAND --help explains each, with examples.\n", false, columns);
    (void)fputs("\noptions of every command:\n", out);
    put_options(out, global_options, n_global_options, columns);
    layout_put(out,
               "\nWithout --socket and with no daemon at the default place, run, batch, sandbox "
               "and grade start a private daemon by themselves and say so.\n",
               false, columns);
    (void)fputs("\nexit status:\n", out);
    layout_put(out, help_exit_statuses, true, columns);
    (void)fprintf(out, "\nexamples:\n%s", worked_examples);
}

void help_command(FILE *out, const struct command *command)
{
    size_t columns = layout_columns(out);
    (void)fprintf(out, "rubricctl %s - %s\n\nusage: rubricctl %s [OPTION]...%s%s\n\n",
                  command->name, command->brief, command->name, *command->arguments ? " " : "",
                  command->arguments);
    layout_put(out, command->description, false, columns);
    if (command->n_options + command->shared.n > 0)
        (void)fputs("\noptions:\n", out);
    put_options(out, command->options, command->n_options, columns);
    put_options(out, command->shared.specs, command->shared.n, columns);
    put_globals(out, columns);
    (void)fputs("\nexit status:\n", out);
    layout_put(out, command->exits, true, columns);
    (void)fprintf(out, "\nexamples:\n%s", command->examples);
}
