/* SPDX-License-Identifier: MIT */
#include "help.h"

#include "conf/layout.h"
#include "proto/jobkinds.h"
#include "proto/util.h"

#include <string.h>

static const struct layout_style style = {.column = 27, .separator = ' '};

static const char what_it_is[] =
    "rubricctl sends jobs to rubricd, the daemon that runs and grades each in a sandbox. A job "
    "has one of these kinds:\n"
    "\n";

const char help_exit_statuses[] =
    "  0    every job passed\n"
    "  1    a job did not pass (with --no-fail: 0)\n"
    "  2    wrong usage, or unusable input\n"
    "  3    no daemon, or the connection was lost\n"
    "  4    some jobs ended in an error instead of a verdict\n"
    "  5    the cost cap was exceeded\n"
    "  6    results could not be written: a full disk, say (an output\n"
    "       that cannot be opened is wrong usage)\n"
    "  130  interrupted\n"
    "  If several apply, the first of 130, 6, 3, 5, 2, 4, 1 wins.\n"
    "  rubricctl sandbox exits with the status of the command that\n"
    "  it ran.\n";

static const char worked_examples[] =
    "  Grade one answer without a running service, and see why it failed:\n"
    "    rubricctl run --embedded --bench-root " RUBRICD_BENCH " \\\n"
    "        --task-class exact-match --case '{\"case_id\": \"x\", \"answer\": \"4\"}' \\\n"
    "        --harness-output '{\"answer\": \"5\"}'\n"
    "  Grade a file of jobs on the host's daemon; exit with 0 only if all pass:\n"
    "    rubricctl batch --bench-root /srv/bench --output scores.jsonl jobs.jsonl\n"
    "  Show what the daemon is doing:\n"
    "    rubricctl status\n";

/* Names the options of every command; the program's --help explains them once. */
static void put_globals(FILE *out, const struct program *program, size_t columns)
{
    char names[256] = "", title[128];
    size_t used = 0;
    for (size_t i = 0; i < program->n_options && used < sizeof(names); i++)
        used +=
            (size_t)snprintf(names + used, sizeof(names) - used, "--%s ", program->options[i].name);
    (void)snprintf(title, sizeof(title), "\noptions of every command, which %s --help explains:\n",
                   program->name);
    layout_put(out, title, false, columns);
    (void)fputs("  ", out);
    layout_words(out, names, 2, 2, columns - 1);
}

static void put_commands(FILE *out, const struct command *const *commands, size_t n_commands,
                         size_t columns)
{
    size_t widest = 0;
    for (size_t i = 0; i < n_commands; i++)
        widest = MAX(widest, strlen(commands[i]->name));
    for (size_t i = 0; i < n_commands; i++) {
        (void)fprintf(out, "  %-*s  ", (int)widest, commands[i]->name);
        layout_words(out, commands[i]->brief, widest + 4, widest + 4, columns - 1);
    }
}

static void put_kinds(FILE *out, size_t columns)
{
    size_t widest = 0;
    for (enum job_kind_id id = 0; id < JOB_KIND_COUNT; id++)
        widest = MAX(widest, strlen(job_kind_name(id)));
    for (enum job_kind_id id = 0; id < JOB_KIND_COUNT; id++) {
        (void)fprintf(out, "  %-*s  ", (int)widest, job_kind_name(id));
        layout_words(out, job_kind_get(id)->summary, widest + 4, widest + 4, columns - 1);
    }
}

void help_put_program(FILE *out, const struct program *program, size_t columns)
{
    char more[128];
    (void)fprintf(out, "\nusage: %s [OPTION]... COMMAND [ARGUMENT]...\n\ncommands:\n",
                  program->name);
    put_commands(out, program->commands, program->n_commands, columns);
    (void)snprintf(more, sizeof(more), "\n%s COMMAND --help explains a command, with examples.\n",
                   program->name);
    layout_put(out, more, false, columns);
    (void)fputs("\noptions of every command:\n", out);
    layout_put_options(out, program->options, program->n_options, &style, columns);
}

void help_all(FILE *out, const struct program *program)
{
    size_t columns = layout_columns(out);
    layout_put(out, what_it_is, false, columns);
    put_kinds(out, columns);
    help_put_program(out, program, columns);
    layout_put(out,
               "\nIf there is no socket at /run/rubricd/rubricd.sock, and neither --socket nor "
               "$RUBRICD_SOCKET names another, run, batch, sandbox, run-program and grade start a "
               "private daemon, and say so. If the socket is there and nobody listens, they start "
               "none.\n",
               false, columns);
    (void)fputs("\nexit status:\n", out);
    layout_put(out, help_exit_statuses, true, columns);
    (void)fprintf(out, "\nexamples:\n%s", worked_examples);
}

void help_command(FILE *out, const struct program *program, const struct command *command)
{
    size_t columns = layout_columns(out);
    (void)fprintf(out, "%s %s - %s\n\nusage: %s %s [OPTION]...%s%s\n\n", program->name,
                  command->name, command->brief, program->name, command->name,
                  *command->arguments ? " " : "", command->arguments);
    layout_put(out, command->description, false, columns);
    if (command->n_options + command->shared.n + command->also.n > 0)
        (void)fputs("\noptions:\n", out);
    layout_put_options(out, command->options, command->n_options, &style, columns);
    layout_put_options(out, command->shared.specs, command->shared.n, &style, columns);
    layout_put_options(out, command->also.specs, command->also.n, &style, columns);
    put_globals(out, program, columns);
    (void)fputs("\nexit status:\n", out);
    layout_put(out, command->exits, true, columns);
    (void)fprintf(out, "\nexamples:\n%s", command->examples);
}
