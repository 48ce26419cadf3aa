/* SPDX-License-Identifier: MIT */
/* Jobs of kind `rubric`: rubric.py of a task class grades an answer. */
#include "kind.h"
#include "outcome.h"
#include "rubric_files.h"
#include "score.h"
#include "warm_class.h"

#include "daemon/jail/view.h"

#include <limits.h>
#include <string.h>

/* The memory that the launch borrows. */
struct rubric_parts {
    struct rubric_place place;
    char shown[PATH_MAX];
    const char *argv[5];
    struct rubric_class_list of_class;
};

static void free_parts(void *parts)
{
    struct rubric_parts *rubric = parts;
    if (rubric)
        rubric_place_deinit(&rubric->place);
    free(rubric);
}

static const char *label(const struct job_spec *spec)
{
    return spec->rubric.task_class;
}

/* The same for all jobs of a task class that may run warm, and not 0; 0 for others, which need no
 * template and would end one. */
static uint64_t affinity(const struct job_spec *spec)
{
    if (spec->rubric.cold)
        return 0;
    const char *const of[] = {spec->rubric.bench_root, spec->rubric.task_class};
    return warm_class_affinity(of, ARRAY_SIZE(of));
}

static bool is_run(const struct job_spec *spec)
{
    return spec->rubric.sut == SUT_OK;
}

static int score_unrun(const struct job_spec *spec, struct bench_score *ret)
{
    return score_sut(&spec->rubric, ret);
}

/* The class of the launch, which is complete but for that. */
static struct launch_class class_of(const struct job_spec *spec, const struct rubric_kept *kept,
                                    const struct launch *launch, struct rubric_class_list *list)
{
    const struct rubric_class *warm = kept->task_class ? kept->task_class->warm : NULL;
    if (!warm)
        return (struct launch_class){.parts = NULL};
    if (spec->rubric.cold)
        return (struct launch_class){.why_not = "the job wants a fresh interpreter"};
    if (!*kept->digest.hex)
        return (struct launch_class){.why_not = "the rubric's directory has no digest"};
    rubric_class_list(warm, &kept->digest, launch, list);
    return (struct launch_class){.parts = list->parts, .affinity = affinity(spec)};
}

static int plan(struct kind_plan *plan, const struct job_spec *spec, const struct kind_host *host,
                enum error_code *ret_code, struct fault *fault)
{
    struct rubric_parts *parts = malloc(sizeof(*parts));
    plan->parts = parts;
    plan->free_parts = free_parts;
    if (!parts) {
        fault_set(fault, "out of memory");
        *ret_code = ERROR_INTERNAL;
        return -ENOMEM;
    }
    parts->place = (struct rubric_place)RUBRIC_PLACE_NULL;
    struct rubric_kept *kept = calloc(1, sizeof(*kept));
    plan->kept = kept;
    if (!kept) {
        fault_set(fault, "out of memory");
        *ret_code = ERROR_INTERNAL;
        return -ENOMEM;
    }
    int r = rubric_find(&spec->rubric, &host->rubric_roots, &parts->place, &kept->task_class,
                        ret_code, fault);
    if (r < 0)
        return r;
    kept->digest = parts->place.digest;
    /* A jail with a view of its own shows the bench at one place in it. */
    (void)snprintf(parts->shown, sizeof(parts->shown), VIEW_BENCH "/%s", parts->place.within);
    const char *path = host->has_view ? parts->shown : parts->place.path;
    /* -s: no packages of the account's own; -B: no __pycache__ beside the helpers. */
    const char *argv[] = {host->interpreter, "-s", "-B", path, NULL};
    memcpy(parts->argv, argv, sizeof(argv));
    plan->launch = (struct launch){
        .argv = parts->argv,
        .envp = host->environment,
        .limits = spec->limits,
        .input = &spec->rubric.input,
        .warm = !spec->rubric.cold,
        .bench = {parts->place.root, parts->place.root_device, parts->place.root_inode},
    };
    plan->launch.of_class = class_of(spec, kept, &plan->launch, &parts->of_class);
    return 0;
}

static void drop_input(struct job_spec *spec)
{
    bytes_deinit(&spec->rubric.input);
}

/* A rubric whose own score is accepted loses its stderr. */
static int judge(const struct kind_run *run, struct judgement *ret)
{
    bool accepted;
    const struct rubric_kept *kept = run->kept;
    struct score_input input = {
        .outcome = run->outcome,
        .out = run->result->out,
        .err = run->result->err,
        .task_class = kept->task_class,
    };
    if (*kept->digest.hex)
        ret->rubric_digest = kept->digest.hex;
    else if (*kept->digest.why)
        ret->no_rubric_digest = kept->digest.why;
    if (kept->task_class && kept->task_class->warm)
        warm_class_tell(run->result, ret);
    int r = score_rubric(&input, &ret->score, &accepted);
    if (r == 0 && accepted)
        outcome_drop_stderr(run->outcome);
    ret->program_failed = !accepted;
    return r;
}

static void free_kept(void *kept)
{
    rubric_kept_free(kept);
}

static int settle(struct job_spec *spec, const struct kind_host *host, _unused_ struct fault *fault)
{
    return is_run(spec) ? rubric_settle(&spec->rubric, &host->rubric_roots) : 1;
}

static bool is_due(const struct job_spec *spec, const struct kind_host *host)
{
    return rubric_is_due(&spec->rubric, &host->rubric_roots);
}

extern const struct kind_ops rubric_ops;
const struct kind_ops rubric_ops = {
    .tells_interpreter = true,
    .label_is_task_class = true,
    .label = label,
    .affinity = affinity,
    .is_run = is_run,
    .score_unrun = score_unrun,
    .settle = settle,
    .is_due = is_due,
    .plan = plan,
    .drop_input = drop_input,
    .judge = judge,
    .free_kept = free_kept,
};
