/* SPDX-License-Identifier: MIT */
#include "code_exec.h"
#include "checker_code.h"
#include "code_exec_report.h"
#include "outcome.h"
#include "warm_class.h"

#include "daemon/jail/link.h"
#include "proto/extraction.h"
#include "proto/util.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

void code_exec_plan_deinit(struct code_exec_plan *plan)
{
    bytes_deinit(&plan->input);
    code_exec_class_deinit(&plan->of_class);
    *plan = (struct code_exec_plan)CODE_EXEC_PLAN_NULL;
}

/* --- the input ---------------------------------------------------------------------------- */

/* The input is a sequence of parts: "NAME LENGTH\n", then that many bytes. */
static void add(FILE *input, const char *name, const char *data, size_t length)
{
    (void)fprintf(input, "%s %zu\n", name, length);
    if (length > 0)
        (void)fwrite(data, 1, length, input);
}

static void add_bytes(FILE *input, const char *name, const struct bytes *bytes)
{
    if (bytes->data)
        add(input, name, bytes->data, bytes->length);
}

/* Adds the code, and what it was found in if the checker is to look for better. */
static void add_code(FILE *input, const struct code_exec_spec *spec, const struct extraction *found)
{
    if (spec->is_generation)
        add_bytes(input, "code", &found->code);
    else
        add(input, "code", spec->text.data, spec->text.length);
    for (size_t i = 0; i < found->block_count; i++)
        add_bytes(input, "block", &found->blocks[i]);
    add_bytes(input, "answer", &found->answer);
}

static void add_all(FILE *input, const struct code_exec_spec *spec, const struct extraction *found)
{
    const char *mode = spec->shared ? "shared" : "isolated";
    add(input, "mode", mode, strlen(mode));
    if (spec->transcript)
        add(input, "transcript", "", 0);
    add_bytes(input, "replay", &spec->replay);
    add_code(input, spec, found);
    add_bytes(input, "prelude", &spec->prelude);
    if (spec->entry_point)
        add(input, "entry_point", spec->entry_point, strlen(spec->entry_point));
    for (size_t i = 0; i < spec->name_count; i++)
        add(input, "name", spec->names[i], strlen(spec->names[i]));
    add_bytes(input, "setup", &spec->test_setup);
    add_bytes(input, "test", &spec->test);
    for (size_t i = 0; i < spec->target_count; i++)
        add_bytes(input, "target", &spec->targets[i]);
}

static int write_input(const struct code_exec_spec *spec, const struct extraction *found,
                       struct bytes *ret)
{
    struct bytes text = BYTES_NULL;
    FILE *input = open_memstream(&text.data, &text.length);
    if (!input)
        return -ENOMEM;
    add_all(input, spec, found);
    bool failed = ferror(input) != 0;
    if (fclose(input) != 0 || failed) {
        bytes_deinit(&text);
        return -ENOMEM;
    }
    *ret = text;
    return 0;
}

/* Finds the code in free text; text without code yields empty code, which defines nothing. Code is
 * taken as it is, unless a fence shows that it may be free text: the checker then decides. */
static int find_code(const struct code_exec_spec *spec, struct extraction *ret)
{
    size_t n = spec->text.length;
    const char *text = n > 0 ? spec->text.data : "";
    if (!spec->is_generation && !memmem(text, n, "```", 3) && !memmem(text, n, "~~~", 3))
        return 0;
    return extraction_read(text, n, extraction_python_tags, ret);
}

/* --- the launch --------------------------------------------------------------------------- */

int code_exec_checker(void)
{
    _cleanup_close_ int fd = memfd_create("rubricd-checker", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0)
        return -errno;
    for (size_t done = 0; done < checker_code_length;) {
        ssize_t n = write(fd, checker_code + done, checker_code_length - done);
        if (n < 0)
            return -errno;
        done += (size_t)n;
    }
    if (fcntl(fd, F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE) < 0)
        return -errno;
    return TAKE_FD(fd);
}

/* -s: no packages from the account's home; -B: write no __pycache__. */
#define START(interpreter, role)                                  \
    {                                                             \
        interpreter, "-s", "-B", "-c", LINK_PAIR_BOOT, role, NULL \
    }

int code_exec_plan_init(struct code_exec_plan *plan, const struct job_spec *job,
                        const struct kind_host *host)
{
    _cleanup_extraction_ struct extraction found = EXTRACTION_NULL;
    int r = find_code(&job->code_exec, &found);
    if (r == 0)
        r = write_input(&job->code_exec, &found, &plan->input);
    if (r < 0)
        return r;
    const char *judge[] = START(host->interpreter, LINK_PAIR_JUDGE);
    const char *candidate[] = START(host->interpreter, "candidate");
    memcpy(plan->argv, judge, sizeof(judge));
    memcpy(plan->candidate, candidate, sizeof(candidate));
    plan->launch = (struct launch){
        .argv = plan->argv,
        .candidate = plan->candidate,
        .code = host->checker,
        .envp = host->environment,
        .warm = !job->code_exec.cold,
        .limits = job->limits,
        .free_output = job->code_exec.transcript ? CODE_EXEC_TRANSCRIPT_MAX : 0,
        .input = &plan->input,
    };
    return code_exec_class_init(&plan->of_class, &job->code_exec, &plan->launch,
                                &plan->launch.of_class);
}

/* --- the kind ----------------------------------------------------------------------------- */

static const char *label(const struct job_spec *spec)
{
    return spec->code_exec.entry_point ? spec->code_exec.entry_point : "python code";
}

/* The same for all jobs whose modules a slot may have loaded. */
static uint64_t affinity(const struct job_spec *spec)
{
    return code_exec_class_affinity(&spec->code_exec);
}

static void free_parts(void *parts)
{
    if (parts)
        code_exec_plan_deinit(parts);
    free(parts);
}

static int plan_job(struct kind_plan *plan, const struct job_spec *spec,
                    const struct kind_host *host, enum error_code *ret_code, struct fault *fault)
{
    struct code_exec_plan *code_exec = calloc(1, sizeof(*code_exec));
    plan->parts = code_exec;
    plan->free_parts = free_parts;
    int r = code_exec ? code_exec_plan_init(code_exec, spec, host) : -ENOMEM;
    if (r < 0) {
        fault_set(fault, "out of memory");
        *ret_code = ERROR_INTERNAL;
        return r;
    }
    plan->launch = code_exec->launch;
    return 0;
}

/* Keep the number of targets: the score is the share of them that passed. */
static void drop_input(struct job_spec *spec)
{
    struct code_exec_spec *code_exec = &spec->code_exec;
    bytes_deinit(&code_exec->text);
    bytes_deinit(&code_exec->test);
    bytes_deinit(&code_exec->prelude);
    bytes_deinit(&code_exec->test_setup);
    bytes_deinit(&code_exec->replay);
    for (size_t i = 0; i < code_exec->target_count; i++)
        bytes_deinit(&code_exec->targets[i]);
}

/* Keep the code's stderr only where it did not pass: there it explains why. Code that does not pass
 * is no failure of a program, since most graded code does not. */
static int judge(const struct kind_run *run, struct judgement *ret)
{
    _cleanup_code_exec_report_ struct code_exec_report report = CODE_EXEC_REPORT_NULL;
    size_t targets = run->spec->code_exec.target_count;
    int r = code_exec_report_judge(run->result->out, targets, run->outcome, &report, &ret->score);
    if (r < 0)
        return r;
    if (ret->score.passed)
        outcome_drop_stderr(run->outcome);
    ret->verdict = report.verdict;
    const struct code_exec_spec *spec = &run->spec->code_exec;
    if (spec->warm_module_count > 0)
        warm_class_tell(run->result, ret);
    ret->mode = spec->is_replay ? "replay" : spec->shared ? "shared" : "isolated";
    ret->assertions = TAKE_PTR(report.assertions);
    if (ret->score.passed)
        ret->transcript = TAKE_PTR(report.transcript);
    ret->broken = TAKE_PTR(report.broken);
    ret->broken_code = report.broken_code;
    return 0;
}

extern const struct kind_ops code_exec_ops;
const struct kind_ops code_exec_ops = {
    .tells_interpreter = true,
    .label = label,
    .affinity = affinity,
    .plan = plan_job,
    .drop_input = drop_input,
    .judge = judge,
};
