/* SPDX-License-Identifier: MIT */
#include "commands.h"

#include "client/cli/help.h"
#include "conf/layout.h"

static const char what_it_is[] =
    "rubricctl fleet spreads batches over the rubricd of many hosts. A batch puts its jobs into a "
    "queue at a NATS server (JetStream); on each host a worker takes as many jobs from it as the "
    "daemon there has free slots.\n";

static const char worked_examples[] =
    "  Once, at any host; then a worker on each:\n"
    "    rubricctl fleet init --server nats://queue:4222\n"
    "    rubricctl fleet worker --server nats://queue:4222\n"
    "  Grade a file of jobs, and take the run up from another host after a power cut:\n"
    "    rubricctl fleet batch --run tuesday --output scores.jsonl jobs.jsonl\n"
    "    rubricctl fleet batch --run tuesday --output scores.jsonl jobs.jsonl\n";

static void help_fleet(FILE *out, const struct program *program)
{
    size_t columns = layout_columns(out);
    layout_put(out, what_it_is, false, columns);
    help_put_program(out, program, columns);
    (void)fputs("\nexit status:\n", out);
    layout_put(out, help_exit_statuses, true, columns);
    (void)fprintf(out, "\nexamples:\n%s", worked_examples);
}

static int check(const struct globals *globals, struct fault *fault)
{
    return bus_check(&fleet_globals_of(globals)->bus, fault);
}

void fleet_program_init(struct fleet_program *ret)
{
    size_t n = 0;
    ret->batch = fleet_batch();
    ret->grade = fleet_grade();
    ret->commands[n++] = &fleet_init;
    ret->commands[n++] = &fleet_worker;
    ret->commands[n++] = &ret->batch;
    ret->commands[n++] = &ret->grade;
    ret->commands[n++] = &fleet_serve;
    ret->commands[n++] = &fleet_push_bench;
    ret->commands[n++] = &fleet_status;
    ret->program = (struct program){
        .name = "rubricctl fleet",
        .options = fleet_options,
        .n_options = FLEET_OPTIONS,
        .commands = ret->commands,
        .n_commands = n,
        .help = help_fleet,
        .check = check,
    };
}
