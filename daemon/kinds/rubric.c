/* SPDX-License-Identifier: MIT */
/* Jobs of kind `rubric`: rubric.py of a task class grades an answer. */
#include "kind.h"
#include "outcome.h"
#include "rubric_class.h"
#include "score.h"

#include "daemon/jail/view.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

/* The memory that the launch borrows. */
struct rubric_parts {
    struct rubric_place place;
    struct rubric_class class;
    char shown[PATH_MAX];
    const char *argv[5];
};

static void free_parts(void *parts)
{
    struct rubric_parts *rubric = parts;
    if (rubric) {
        rubric_place_deinit(&rubric->place);
        rubric_class_deinit(&rubric->class);
    }
    free(rubric);
}

static const char *label(const struct job_spec *spec)
{
    return spec->rubric.task_class;
}

static bool is_run(const struct job_spec *spec)
{
    return spec->rubric.sut == SUT_OK;
}

static int score_unrun(const struct job_spec *spec, struct bench_score *ret)
{
    return score_sut(&spec->rubric, ret);
}

/* Makes what the class loads once ready, and notes in TASK_CLASS (NULL: none) what the result is
 * to tell of it. */
static int plan_class(const struct job_spec *spec, struct rubric_parts *parts, const char *script,
                      struct task_class *task_class)
{
    if (!task_class || !task_class->is_warm || spec->rubric.cold)
        return 0;
    int r = rubric_class_pack(task_class, &parts->place, spec->rubric.task_class, script,
                              &parts->class);
    if (r < 0)
        return r;
    (void)snprintf(task_class->digest, sizeof(task_class->digest), "%s", parts->class.digest);
    (void)snprintf(task_class->problem, sizeof(task_class->problem), "%s", parts->class.problem);
    return 0;
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
    parts->class = (struct rubric_class){.launch = {.pack = -1}};
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
    r = plan_class(spec, parts, path, kept->task_class);
    if (r < 0) {
        fault_set(fault, "out of memory");
        *ret_code = ERROR_INTERNAL;
        return r;
    }
    plan->launch = (struct launch){
        .argv = parts->argv,
        .envp = host->environment,
        .limits = spec->limits,
        .input = &spec->rubric.input,
        .warm = !spec->rubric.cold,
        .class = parts->class.launch,
        .bench = {parts->place.root, parts->place.root_device, parts->place.root_inode},
    };
    return 0;
}

static void drop_input(struct job_spec *spec)
{
    bytes_deinit(&spec->rubric.input);
}

/* {digest, loaded, because} of a job whose class says what to load; NULL if memory runs out. */
static json_t *tell_class(const struct task_class *task_class, const struct slot_result *result)
{
    const char *because = *task_class->problem    ? task_class->problem
                          : *result->cold_because ? result->cold_because
                                                  : "the jail does not say";
    json_t *told = json_object();
    int r = told ? 0 : -1;
    if (r == 0 && *task_class->digest)
        r = json_object_set_new(told, "digest", json_string(task_class->digest));
    if (r == 0)
        r = json_object_set_new(told, "loaded", json_boolean(result->is_of_class));
    if (r == 0 && !result->is_of_class)
        r = json_object_set_new(told, "because", json_text(because, strlen(because)));
    if (r < 0)
        json_decref(told);
    return r < 0 ? NULL : told;
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
    int r = score_rubric(&input, &ret->score, &accepted);
    if (r == 0 && accepted)
        outcome_drop_stderr(run->outcome);
    ret->program_failed = !accepted;
    const struct task_class *task_class = kept->task_class;
    if (r == 0 && task_class && (*task_class->digest || *task_class->problem)) {
        ret->warm_class = tell_class(task_class, run->result);
        r = ret->warm_class ? 0 : -ENOMEM;
    }
    return r;
}

static void free_kept(void *kept)
{
    rubric_kept_free(kept);
}

static int settle(const struct job_spec *spec, const struct kind_host *host,
                  _unused_ struct fault *fault)
{
    return is_run(spec) ? rubric_settle(&spec->rubric, &host->rubric_roots) : 1;
}

extern const struct kind_ops rubric_ops;
const struct kind_ops rubric_ops = {
    .tells_interpreter = true,
    .label_is_task_class = true,
    .label = label,
    .is_run = is_run,
    .score_unrun = score_unrun,
    .settle = settle,
    .plan = plan,
    .drop_input = drop_input,
    .judge = judge,
    .free_kept = free_kept,
};
