/* SPDX-License-Identifier: MIT */
#include "program.h"
#include "program_call.h"

#include <string.h>

/* Only processes of the checker reach the files. */
#define EVIDENCE_MODE 0444
/* What a checker or an interactor may write beside its output limit. It quotes the program, and
 * what quotes may be several times as long: that is no failure of its own. */
#define HELPER_FREE ((size_t)64 << 20)

static const struct bytes nothing = BYTES_NULL;

const char *const program_evidence[PROGRAM_EXTRA_FILES + 1] = {"input", "output", "answer", NULL};

/* Renews the command at *AT; the launch before has been packed with the old one. ARGUMENTS (NULL:
 * none) follow it. */
static int renew(char ***at, const struct program_unit *unit, enum language_command what,
                 const struct kind_host *host, const char *source, const char *const *arguments)
{
    char **command = NULL;
    size_t n = 0, more = 0;
    int r = program_unit_command(unit, what, host, source, &command);
    if (r < 0)
        return r;
    *at = language_strings_free(*at);
    *at = command;
    while (command[n])
        n++;
    while (arguments && arguments[more])
        more++;
    if (more == 0)
        return 0;
    command = reallocarray(command, n + more + 1, sizeof(*command));
    if (!command)
        return -ENOMEM;
    *at = command;
    for (size_t i = 0; i < more; i++) {
        command[n] = strdup(arguments[i]);
        if (!command[n++])
            return -ENOMEM;
        command[n] = NULL;
    }
    return 0;
}

static int renew_command(struct program_run *run, const struct program_unit *unit,
                         enum language_command what, const struct kind_host *host,
                         const char *source, const char *const *arguments)
{
    return renew(&run->command, unit, what, host, source, arguments);
}

static void take_command(const struct program_run *run, const struct kind_host *host,
                         struct kind_plan *plan)
{
    plan->launch.argv = (const char *const *)run->command;
    /* The interpreter that waits runs no other program than itself, and looks at the rest. */
    plan->launch.warm = strcmp(run->command[0], host->interpreter) == 0;
    plan->more = true;
}

int program_plan_compiler(struct program_run *run, struct program_unit *unit,
                          const struct kind_host *host, struct kind_plan *plan)
{
    int r = renew_command(run, unit, LANGUAGE_COMPILE, host, NULL, NULL);
    if (r < 0)
        return r;
    plan->launch = (struct launch){
        .envp = (const char *const *)unit->envp,
        .limits = unit->compile_limits,
        .input = &unit->script,
        .files = unit->files,
        .file_count = unit->file_count,
        .collect = (const char *const *)unit->language->artefact.item,
        .collect_max = unit->limits.of[LIMIT_DISK],
        .prepared = -1,
        .any_address_space = !unit->language->compile_address_space,
    };
    take_command(run, host, plan);
    return 0;
}

/* Gives a step the program of UNIT: what the compiler made, or the source and its files. */
static void add_program(const struct program_unit *unit, struct kind_plan *plan)
{
    plan->launch.prepared = unit->artefact;
    plan->launch.envp = (const char *const *)unit->envp;
    plan->launch.limits = unit->limits;
    plan->launch.any_address_space = !unit->language->address_space;
    plan->launch.any_stack = unit->language->stack == LANGUAGE_STACK_UNLIMITED;
    plan->launch.files = unit->files;
    plan->launch.file_count = unit->artefact < 0 ? unit->file_count : 0;
}

/* Tells program_call.py what to call: {"source": ..., "call": ..., "args": ...}. */
static int describe_call(const struct program_run *run, const char *call,
                         const struct bytes *arguments, struct bytes *ret)
{
    struct printer printer = PRINTER_NULL;
    printer_open(&printer);
    printer_name(&printer, "source");
    printer_string(&printer, run->program.source, strlen(run->program.source));
    printer_name(&printer, "call");
    printer_string(&printer, call, strlen(call));
    printer_name(&printer, "args");
    printer_bytes(&printer, arguments);
    printer_close(&printer);
    return printer_finish(&printer, ret);
}

/* Adds the file of the caller behind those of the program, where there is room for it. */
static void add_caller(const struct program_run *run, struct kind_plan *plan)
{
    const struct program_unit *unit = &run->program;
    struct launch_file *files = unit->artefact < 0 ? unit->files : unit->files + unit->file_count;
    files[plan->launch.file_count++] = (struct launch_file){
        .name = PROGRAM_CALL_FILE, .mode = EVIDENCE_MODE, .content = &run->caller};
    plan->launch.files = files;
}

int program_plan_test(struct program_run *run, const struct job_spec *spec,
                      const struct kind_host *host, struct kind_plan *plan)
{
    const char *call = spec->program.call;
    const struct program_unit *unit = &run->program;
    const struct program_test *test = &spec->program.tests->test[run->planned];
    int r = renew_command(run, unit, LANGUAGE_RUN, host, call ? PROGRAM_CALL_FILE : NULL,
                          (const char *const *)test->argv);
    bytes_deinit(&run->input);
    if (r == 0 && call)
        r = describe_call(run, call, &test->input, &run->input);
    if (r < 0)
        return r;
    add_program(unit, plan);
    if (test->wall_clock > 0)
        plan->launch.limits.of[LIMIT_WALL_CLOCK] = language_time(unit->language, test->wall_clock);
    plan->launch.input = call ? &run->input : &test->input;
    plan->launch.collect = (const char *const *)spec->program.collect;
    plan->launch.collect_max = SANDBOX_COLLECTED_MAX;
    if (call)
        add_caller(run, plan);
    take_command(run, host, plan);
    run->planned++;
    return 0;
}

/* Plans a launch of the checker or the interactor, with files of CONTENTS; NULL: it makes that. */
static int plan_helper(struct program_run *run, const struct bytes *const contents[],
                       const struct kind_host *host, struct kind_plan *plan)
{
    struct program_unit *unit = &run->checker;
    size_t count = unit->file_count, first = unit->artefact < 0 ? 0 : unit->file_count;
    int r = renew_command(run, unit, LANGUAGE_RUN, host, NULL, program_evidence);
    if (r < 0)
        return r;
    add_program(unit, plan);
    for (size_t i = 0; i < PROGRAM_EXTRA_FILES; i++) {
        if (!contents[i])
            continue;
        unit->files[count++] = (struct launch_file){
            .name = program_evidence[i], .mode = EVIDENCE_MODE, .content = contents[i]};
        /* What a test and its program have is no reason for it to fail. */
        plan->launch.limits.of[LIMIT_DISK] += contents[i]->length;
    }
    plan->launch.files = unit->files + first;
    plan->launch.file_count = count - first;
    plan->launch.input = &nothing;
    plan->launch.free_stderr = HELPER_FREE;
    plan->launch.keeps_little = true;
    take_command(run, host, plan);
    return 0;
}

int program_plan_check(struct program_run *run, const struct job_spec *spec,
                       const struct kind_host *host, const struct bytes *output,
                       struct kind_plan *plan)
{
    const struct program_test *test = &spec->program.tests->test[run->planned - 1];
    const struct bytes *contents[PROGRAM_EXTRA_FILES] = {&test->input, output, &test->output};
    plan->uses_result = true;
    plan->launch.free_output = HELPER_FREE;
    return plan_helper(run, contents, host, plan);
}

/* Sets the limits of a pair: those of either program, and of both together. Of the output only the
 * program's counts, since HELPER_FREE lets the interactor quote it. The kernel counts processes for
 * their user, which they share: the interactor may have some when the program has taken all that it
 * can. */
static void join_limits(const struct limits *program, struct launch *launch)
{
    struct limits *both = &launch->limits;
    launch->joined.own_limits = launch->limits;
    launch->joined.limits = *program;
    for (enum limit limit = 0; limit < LIMIT_COUNT; limit++)
        both->of[limit] += program->of[limit];
    both->of[LIMIT_WALL_CLOCK] = program->of[LIMIT_WALL_CLOCK];
    both->of[LIMIT_OUTPUT] = program->of[LIMIT_OUTPUT];
    launch->joined.limits.of[LIMIT_PROCESSES] = both->of[LIMIT_PROCESSES];
    both->of[LIMIT_PROCESSES] += launch->joined.own_limits.of[LIMIT_PROCESSES];
    launch->joined.own_limits.of[LIMIT_PROCESSES] = both->of[LIMIT_PROCESSES];
}

int program_plan_interaction(struct program_run *run, const struct job_spec *spec,
                             const struct kind_host *host, struct kind_plan *plan)
{
    const struct program_unit *unit = &run->program;
    const struct program_test *test = &spec->program.tests->test[run->planned];
    const struct bytes *contents[PROGRAM_EXTRA_FILES] = {&test->input, NULL, &test->output};
    struct kind_plan of_program = KIND_PLAN_NULL;
    int r = plan_helper(run, contents, host, plan);
    if (r == 0)
        r = renew(&run->joined_command, unit, LANGUAGE_RUN, host, NULL,
                  (const char *const *)test->argv);
    if (r < 0)
        return r;
    add_program(unit, &of_program);
    if (test->wall_clock > 0)
        of_program.launch.limits.of[LIMIT_WALL_CLOCK] =
            language_time(unit->language, test->wall_clock);
    plan->launch.joined = (struct launch_joined){
        .argv = (const char *const *)run->joined_command,
        .envp = of_program.launch.envp,
        .files = of_program.launch.files,
        .file_count = of_program.launch.file_count,
        .prepared = of_program.launch.prepared,
        .any_address_space = of_program.launch.any_address_space,
        .any_stack = of_program.launch.any_stack,
        .warm = strcmp(run->joined_command[0], host->interpreter) == 0,
    };
    join_limits(&of_program.launch.limits, &plan->launch);
    run->planned++;
    return 0;
}
