/* SPDX-License-Identifier: MIT */
#include "program.h"
#include "collected_files.h"
#include "outcome.h"
#include "program_call.h"

#include "daemon/pool/collected.h"

#include <assert.h>
#include <string.h>

#define COMPARE_DEFAULT "lines"

/* --- what is kept ------------------------------------------------------------------------- */

static void free_kept(void *kept)
{
    struct program_run *run = kept;
    if (!run)
        return;
    program_unit_deinit(&run->program);
    program_unit_deinit(&run->checker);
    language_strings_free(run->command);
    language_strings_free(run->joined_command);
    bytes_deinit(&run->input);
    program_result_deinit(&run->compiled);
    free(run->refusal);
    for (size_t i = 0; run->results && i < run->count; i++)
        program_result_deinit(&run->results[i]);
    free(run->results);
    outcome_deinit(&run->outcome);
    close_fd(run->collected);
    free(run);
}

static struct program_run *make_run(const struct program_tests *tests)
{
    struct program_run *run = calloc(1, sizeof(*run));
    if (!run)
        return NULL;
    run->program = run->checker = (struct program_unit)PROGRAM_UNIT_NULL;
    run->count = run->failed = tests->count;
    run->collected = -1;
    run->outcome = (struct outcome)OUTCOME_NULL;
    run->caller =
        (struct bytes){.data = (char *)(uintptr_t)program_call, .length = strlen(program_call)};
    run->results = calloc(tests->count, sizeof(*run->results));
    if (run->results)
        return run;
    free_kept(run);
    return NULL;
}

/* --- limits ------------------------------------------------------------------------------- */

/* What the request sets comes before what the language sets, and that before the configuration. */
static void set_limits(const struct job_spec *spec, struct program_unit *unit)
{
    const struct program_spec *program = &spec->program;
    const struct language *language = unit->language;
    for (enum limit limit = 0; limit < LIMIT_COUNT; limit++) {
        uint64_t own = language->run_limits.of[limit], wanted = program->compile_limits.of[limit];
        bool is_given = program->limits_given & 1u << limit;
        uint64_t value = is_given || own == 0 ? spec->limits.of[limit] : own;
        unit->limits.of[limit] = limit_is_time(limit) ? language_time(language, value) : value;
        own = language->compile_limits.of[limit];
        unit->compile_limits.of[limit] = wanted > 0 ? wanted
                                         : own > 0  ? own
                                                    : program->defaults.of[limit];
    }
}

static const struct program_helper *helper_of(const struct job_spec *spec)
{
    const struct program_spec *program = &spec->program;
    return program->checker ? program->checker : program->interactor;
}

/* --- the plan ----------------------------------------------------------------------------- */

static int make_program(struct program_run *run, const struct job_spec *spec,
                        const struct kind_host *host, enum error_code *ret_code,
                        struct fault *fault)
{
    static const char *const caller[] = {PROGRAM_CALL_FILE, NULL};
    const struct program_spec *program = &spec->program;
    const struct program_source source = {
        .path = "job",
        .language = program->language,
        .text = &program->text,
        .prelude = &program->prelude,
        .is_generation = program->is_generation,
        .files = program->files,
        .file_count = program->file_count,
        .taken = program->call ? caller : NULL,
    };
    int r = program_unit_init(&run->program, &source, host, ret_code, fault);
    if (r < 0)
        return r;
    set_limits(spec, &run->program);
    if (!program->call || strcmp(run->program.language->name, "python") == 0)
        return 0;
    *ret_code = ERROR_BAD_REQUEST;
    return fault_set(fault,
                     "job.call: a function of a program in %s cannot be called; in python it can",
                     run->program.language->name);
}

/* Makes the checker, or the interactor. */
static int make_checker(struct program_run *run, const struct job_spec *spec,
                        const struct kind_host *host, enum error_code *ret_code,
                        struct fault *fault)
{
    const struct program_helper *checker = helper_of(spec);
    run->interacts = checker && checker == spec->program.interactor;
    if (!checker)
        return 0;
    if (run->interacts && !host->keeps_apart) {
        *ret_code = ERROR_NOT_PERMITTED;
        return fault_set(fault, "job.interactor: nothing on this host would keep the program from "
                                "it: that takes the layers mount_namespace and pid_namespace, or "
                                "landlock and filesystem");
    }
    const struct program_source source = {
        .path = run->interacts ? "job.interactor" : "job.checker",
        .language = checker->language,
        .text = &checker->code,
        .files = checker->files,
        .file_count = checker->file_count,
        .taken = program_evidence,
    };
    int r = program_unit_init(&run->checker, &source, host, ret_code, fault);
    if (r == 0)
        set_limits(spec, &run->checker);
    return r;
}

/* The daemon judges the rule when it decodes a request; others may not. */
static int make_rule(struct program_run *run, const struct job_spec *spec,
                     enum error_code *ret_code, struct fault *fault)
{
    struct fault why = FAULT_NULL;
    const char *rule = spec->program.compare ? spec->program.compare : COMPARE_DEFAULT;
    int r = compare_parse(rule, &run->compare, &why);
    if (r == -EINVAL) {
        *ret_code = ERROR_BAD_REQUEST;
        return fault_set(fault, "job.compare: %s", why.text);
    }
    return r;
}

/* Plans the step of STAGE. OUTPUT is for a checker: what the program wrote. 0 or -ENOMEM. */
static int plan_stage(struct program_run *run, enum program_stage stage,
                      const struct job_spec *spec, const struct kind_host *host,
                      const struct bytes *output, struct kind_plan *plan)
{
    run->stage = stage;
    switch (stage) {
    case PROGRAM_COMPILING:
        return program_plan_compiler(run, &run->program, host, plan);
    case PROGRAM_COMPILING_CHECKER:
        return program_plan_compiler(run, &run->checker, host, plan);
    case PROGRAM_TESTING:
        return run->interacts ? program_plan_interaction(run, spec, host, plan)
                              : program_plan_test(run, spec, host, plan);
    case PROGRAM_CHECKING:
        return program_plan_check(run, spec, host, output, plan);
    }
    return -EINVAL;
}

/* Says what R means where nothing has been said of it. Returns R. */
static int explain(int r, enum error_code *ret_code, struct fault *fault)
{
    if (r == -ENOENT) {
        *ret_code = ERROR_LANGUAGE_NOT_FOUND;
        (void)fault_set(fault, "job.language: a program that it takes is gone from this host");
    } else if (r == -ENOMEM) {
        *ret_code = ERROR_INTERNAL;
        (void)fault_set(fault, "out of memory");
    }
    return r;
}

/* What follows the compiler of the program, or begins a job that has none. */
static enum program_stage stage_after_compiler(const struct program_run *run)
{
    bool compiles_checker = run->checker.language && program_unit_is_compiled(&run->checker);
    return compiles_checker ? PROGRAM_COMPILING_CHECKER : PROGRAM_TESTING;
}

static int plan_job(struct kind_plan *plan, const struct job_spec *spec,
                    const struct kind_host *host, enum error_code *ret_code, struct fault *fault)
{
    struct program_run *run = make_run(spec->program.tests);
    plan->kept = run;
    if (!run)
        return explain(-ENOMEM, ret_code, fault);
    run->languages = host->languages;
    int r = make_program(run, spec, host, ret_code, fault);
    if (r == 0)
        r = make_checker(run, spec, host, ret_code, fault);
    if (r == 0)
        r = make_rule(run, spec, ret_code, fault);
    if (r == 0)
        r = plan_stage(run,
                       program_unit_is_compiled(&run->program) ? PROGRAM_COMPILING
                                                               : stage_after_compiler(run),
                       spec, host, NULL, plan);
    return r < 0 ? explain(r, ret_code, fault) : 0;
}

/* --- one step after another ----------------------------------------------------------------- */

/* Takes the end of the step of RUN's stage. 1 with the stage of the next step; 0: there is none. */
static int take_end(struct program_run *run, const struct job_spec *spec,
                    const struct slot_result *result, enum program_stage *ret_next,
                    enum error_code *ret_code, struct fault *fault)
{
    *ret_next = PROGRAM_TESTING;
    switch (run->stage) {
    case PROGRAM_COMPILING:
        *ret_next = stage_after_compiler(run);
        return program_take_compiler(run, &run->program, result, ret_code, fault);
    case PROGRAM_COMPILING_CHECKER:
        return program_take_compiler(run, &run->checker, result, ret_code, fault);
    case PROGRAM_TESTING: {
        size_t judged = run->judged;
        if (run->interacts)
            return program_take_interaction(run, spec, result);
        int r = program_keep_files(run, result, ret_code, fault);
        if (r == 0)
            r = program_take_test(run, spec, result);
        if (r > 0 && run->judged == judged)
            *ret_next = PROGRAM_CHECKING; /* it is not judged yet */
        return r;
    }
    case PROGRAM_CHECKING:
        return program_take_check(run, spec, result);
    }
    return 0;
}

static int next(struct kind_plan *plan, const struct job_spec *spec, void *kept,
                const struct kind_host *host, const struct slot_result *result,
                enum error_code *ret_code, struct fault *fault)
{
    struct program_run *run = kept;
    enum program_stage stage;
    int r = take_end(run, spec, result, &stage, ret_code, fault);
    if (r > 0 && plan)
        r = plan_stage(run, stage, spec, host, result->out, plan);
    else if (r > 0)
        return 1; /* ahead() has planned it */
    else if (r == 0)
        return 0;
    return r < 0 ? explain(r, ret_code, fault) : 1;
}

/* Without a checker, a test does not depend on how the one before it ends. */
static int ahead(struct kind_plan *plan, const struct job_spec *spec, void *kept,
                 const struct kind_host *host)
{
    struct program_run *run = kept;
    if (run->stage != PROGRAM_TESTING || run->checker.language || run->planned == run->count)
        return 0;
    int r = program_plan_test(run, spec, host, plan);
    return r < 0 ? r : 1;
}

/* --- the kind ----------------------------------------------------------------------------- */

static const char *label(const struct job_spec *spec)
{
    return spec->program.language;
}

static int settle_language(const char *name, const char *path, const struct kind_host *host,
                           struct fault *fault)
{
    const char *why = NULL;
    const struct language *language = languages_find(host->languages, name);
    int r = language ? languages_settle(host->languages, language) : 1;
    if (r < 0) {
        (void)languages_has(host->languages, language, NULL, &why);
        (void)fault_set(fault, "%s: %s: %s", path, language->name, why ? why : strerror(-r));
    }
    return r;
}

static int settle(struct job_spec *spec, const struct kind_host *host, struct fault *fault)
{
    const struct program_helper *checker = helper_of(spec);
    int own = settle_language(spec->program.language, "job.language", host, fault);
    if (own < 0 || !checker)
        return own;
    const char *path = spec->program.checker ? "job.checker.language" : "job.interactor.language";
    int other = settle_language(checker->language, path, host, fault);
    return MIN(own, other);
}

static size_t kept_bytes(const void *kept)
{
    const struct program_run *run = kept;
    return collected_bytes(run->program.artefact) + collected_bytes(run->checker.artefact) +
           collected_bytes(run->collected);
}

static bool made_program(const void *kept)
{
    const struct program_run *run = kept;
    bool checks = run->stage == PROGRAM_CHECKING || run->interacts;
    bool compiles = run->stage == PROGRAM_COMPILING || run->stage == PROGRAM_COMPILING_CHECKER;
    return !compiles && (checks ? run->checker.artefact : run->program.artefact) >= 0;
}

/* Keep the tests: their names are told, and their outputs compared. */
static void drop_input(struct job_spec *spec)
{
    bytes_deinit(&spec->program.text);
    bytes_deinit(&spec->program.prelude);
}

/* Copies what the reply tells of the process that decided the verdict. 0 or -ENOMEM. */
static int tell_outcome(const struct program_run *run, struct outcome *ret)
{
    _cleanup_outcome_ struct outcome outcome = run->outcome;
    bool tells_stderr = run->is_decided && run->outcome.stderr_length > 0;
    outcome.stderr_text = NULL;
    outcome.stderr_length = 0;
    outcome.summary = strdup(run->outcome.summary);
    if (tells_stderr) {
        outcome.stderr_text = strndup(run->outcome.stderr_text, run->outcome.stderr_length);
        outcome.stderr_length = outcome.stderr_text ? strlen(outcome.stderr_text) : 0;
    }
    if (!outcome.summary || (tells_stderr && !outcome.stderr_text))
        return -ENOMEM;
    outcome_deinit(ret);
    *ret = TAKE_STRUCT(outcome, OUTCOME_NULL);
    return 0;
}

static int judge(const struct kind_run *run, struct judgement *ret)
{
    const struct program_run *program = run->kept;
    bool compiled = !program->has_compiled || program->compiled.verdict == PROGRAM_PASS;
    if (program->refusal) {
        ret->broken_code = ERROR_BAD_REQUEST;
        ret->broken = strdup(program->refusal);
        return ret->broken ? 0 : -ENOMEM;
    }
    assert(program->is_decided || program->judged == program->count);
    int r = program_score(program, run->spec, &ret->score);
    if (r == 0)
        r = tell_outcome(program, run->outcome);
    if (r < 0)
        return r;
    enum program_verdict verdict = !compiled ? PROGRAM_COMPILE_ERROR
                                   : program->failed < program->count
                                       ? program->results[program->failed].verdict
                                       : PROGRAM_PASS;
    ret->verdict = program_verdict_name(verdict);
    ret->language = program_language_json(program);
    ret->tests = program_tests_json(program, run->spec);
    ret->compile = program->has_compiled ? program_compile_json(program) : NULL;
    if (run->spec->program.collect)
        r = collected_files_tell(program->collected, program->collect_error,
                                 run->spec->program.collect, ret);
    bool is_whole =
        r == 0 && ret->language && ret->tests && (ret->compile || !program->has_compiled);
    return is_whole ? 0 : -ENOMEM;
}

extern const struct kind_ops program_ops;
const struct kind_ops program_ops = {
    .label = label,
    .settle = settle,
    .plan = plan_job,
    .next = next,
    .ahead = ahead,
    .kept_bytes = kept_bytes,
    .made_program = made_program,
    .drop_input = drop_input,
    .judge = judge,
    .free_kept = free_kept,
};
