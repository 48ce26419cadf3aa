/* SPDX-License-Identifier: MIT */
/* Theory of operation: the references are a run of the engine of their own, before that of the
 * samples, on the same session. Its answers leave no lines; what they decide is a member of `run`
 * in each line of the samples, from which a resumed run takes it again. */
#include "grade_preflight.h"
#include "grade_tasks.h"

#include "client/batch/resultfile.h"
#include "client/grade/langname.h"
#include "client/terminal/text.h"

#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

/* What a job may take, in seconds, if the daemon's hello does not say. */
#define TIMEOUT_DEFAULT 3
#define TIMEOUT_MAX 30

/* --- which tasks have samples ------------------------------------------------------------- */

struct wanted {
    const struct dataset *dataset;
    struct selection selection;
    uint64_t *samples; /* of each task so far */
    bool *tasks;
};

static void wanted_deinit(struct wanted *wanted)
{
    free(wanted->samples);
    free(wanted->tasks);
}

/* Notes a sample of TASK, as far as the filters and the limit let it pass. False once no further
 * sample will. */
static bool want_sample(struct wanted *wanted, size_t task)
{
    _cleanup_submission_ struct submission submission = SUBMISSION_NULL;
    uint64_t number = wanted->samples[task]++;
    if (wanted->tasks[task] && wanted->selection.limit == 0)
        return true;
    (void)grade_tasks_describe(&wanted->dataset->tasks[task], number, &submission);
    if (!selection_wants(&wanted->selection, &submission))
        return true;
    if (!selection_count(&wanted->selection, &submission))
        return false;
    wanted->tasks[task] = true;
    return true;
}

/* Returns the task that a line of samples is for; -1 if it cannot be used. */
static ssize_t task_of_line(const struct dataset *dataset, const char *text, size_t n,
                            size_t *ret_samples)
{
    _cleanup_json_ json_t *line = NULL;
    struct sample sample;
    if (jobline_blank(text, n) || jobline_read_object(text, n, sample_uses, &line, NULL) < 0 ||
        sample_decode(line, &sample, NULL) < 0)
        return -1;
    *ret_samples = sample_count(&sample);
    return dataset_find(dataset, sample.task_id);
}

static int read_samples(struct wanted *wanted, const char *path, size_t max_frame)
{
    struct input input = INPUT_NULL;
    int r = input_init(&input, &path, 1, max_frame);
    for (bool more = r == 0; more;) {
        const char *text;
        size_t n, samples = 0;
        enum input_state state = input_next_blocking(&input, &text, &n, NULL);
        ssize_t task = state == INPUT_LINE ? task_of_line(wanted->dataset, text, n, &samples) : -1;
        more = state != INPUT_END;
        for (; more && samples > 0 && task >= 0; samples--)
            more = want_sample(wanted, (size_t)task);
    }
    input_deinit(&input);
    return r;
}

/* Marks the tasks that have samples. Those of a stream can be read only once: then all tasks may
 * have some. */
static int find_wanted(const struct grade_preflight *with, size_t max_frame, struct wanted *wanted)
{
    struct stat st;
    bool is_file = with->samples && strcmp(with->samples, "-") != 0 &&
                   stat(with->samples, &st) == 0 && S_ISREG(st.st_mode);
    size_t n = wanted->dataset->n;
    wanted->samples = calloc(n + 1, sizeof(*wanted->samples));
    wanted->tasks = calloc(n + 1, sizeof(*wanted->tasks));
    if (!wanted->samples || !wanted->tasks)
        return -ENOMEM;
    if (is_file)
        return read_samples(wanted, with->samples, max_frame);
    for (size_t i = 0; i < n; i++)
        if (with->samples)
            wanted->tasks[i] = true;
        else if (!want_sample(wanted, i))
            break;
    return 0;
}

/* --- what an earlier run decided ---------------------------------------------------------- */

struct restoring {
    struct preflight *preflight;
    const bool *wanted;
};

static int restore_line(const struct result_line *line, void *arg)
{
    const struct restoring *restoring = arg;
    struct preflight *preflight = restoring->preflight;
    const json_t *note = json_object_get(line->run, "preflight");
    char id[TASK_ID_MAX + 1];
    ssize_t task =
        note && task_id_of(line->object, id, NULL) == 0 ? dataset_find(preflight->dataset, id) : -1;
    if (task >= 0 && restoring->wanted[task])
        (void)preflight_restore(preflight, (size_t)task, note);
    return 0;
}

static void restore(const struct grade_preflight *with, const struct wanted *wanted,
                    struct preflight *preflight)
{
    struct restoring restoring = {.preflight = preflight, .wanted = wanted->tasks};
    struct fault fault = FAULT_NULL;
    off_t end;
    if (with->options->resume &&
        resultfile_read(with->options->output, false, restore_line, &restoring, &end, &fault) < 0)
        complain("%s", fault.text);
}

/* --- the references as jobs --------------------------------------------------------------- */

struct flight {
    const struct grade_preflight *with;
    struct preflight *preflight;
    struct jobline_policy line;
};

/* "TASK:reference", or "TASK:reference:shared" if it runs once more: for messages. */
static int name_job(const struct preflight *preflight, size_t number, struct bytes *ret)
{
    char id[TASK_ID_MAX + 32];
    const struct preflight_task *task = &preflight->tasks[number];
    int n = snprintf(id, sizeof(id), "%s:reference%s", preflight->dataset->tasks[number].id,
                     task->state == PREFLIGHT_SHARED ? ":shared" : "");
    return bytes_copy(id, (size_t)n, ret);
}

static int take_reference(struct flight *flight, size_t number, json_t *job, struct engine_job *ret,
                          struct fault *fault)
{
    _cleanup_bytes_ struct bytes id = BYTES_NULL;
    (void)fault_set(&ret->place, "%s:%" PRIu64, flight->with->dataset,
                    flight->preflight->dataset->tasks[number].line);
    ret->note = json_integer((json_int_t)number);
    if (!ret->note || name_job(flight->preflight, number, &id) < 0)
        return -ENOMEM;
    return jobline_from_object(job, &id, &flight->line, &ret->submission, fault);
}

static enum input_state next_reference(void *arg, struct engine_job *ret, struct fault *fault)
{
    struct flight *flight = arg;
    struct preflight *preflight = flight->preflight;
    for (;;) {
        _cleanup_json_ json_t *job = NULL;
        size_t number = 0;
        int r = preflight_next(preflight, &number, &job);
        if (r == 0)
            return preflight->waiting > 0 ? INPUT_WAIT : INPUT_END;
        if (r > 0)
            r = take_reference(flight, number, job, ret, fault);
        if (r == 0)
            return INPUT_LINE;
        if (r == -ENOMEM || preflight_fail(preflight, number, fault->text) < 0) {
            complain("out of memory");
            return INPUT_END;
        }
        engine_job_deinit(ret);
    }
}

static int take_answer(void *arg, struct message *message, json_t *note,
                       _unused_ struct bytes *ret_line)
{
    struct flight *flight = arg;
    return preflight_take(flight->preflight, (size_t)json_integer_value(note), message);
}

/* Runs the references that are waiting, and takes SESSION for that time. */
static void fly(struct flight *flight, struct session *session, struct ending *ending)
{
    _cleanup_(engine_deinit) struct engine engine = ENGINE_NULL;
    struct engine_options options = *flight->with->options;
    /* What these say is about samples and the file of their results. */
    options.output = options.cost_cap = NULL;
    options.filters = (struct text_list){.n = 0};
    options.limit = 0;
    options.force = options.resume = options.fail_fast = false;
    engine.session = TAKE_STRUCT(*session, SESSION_NULL);
    flight->line.max_frame = engine.session.max_frame;
    const struct engine_work work = {
        .arg = flight,
        .next = next_reference,
        .answer = take_answer,
        .aside = "checking reference solutions",
        .cases = flight->preflight->waiting,
    };
    if (engine_open(&engine, &options, NULL, 0) < 0) {
        ending->lost = true;
    } else {
        engine_run(&engine, &work);
        ending->interrupted |= engine.ending.interrupted;
        ending->lost |= engine.ending.lost;
    }
    *session = TAKE_STRUCT(engine.session, SESSION_NULL);
}

/* --- what people hear --------------------------------------------------------------------- */

static void tell_of_limit(const struct preflight *preflight, const struct preflight_task *task,
                          const char *what)
{
    char took[TEXT_QUANTITY_MAX];
    double limit_s = preflight_limit(preflight, (size_t)(task - preflight->tasks));
    (void)text_duration(task->wall_ms, took);
    if (task->timeout_s < preflight->limit_max_s)
        complain("%s: time limit raised from %g s to %g s, about %d times what the reference "
                 "takes (%s)",
                 what, limit_s, task->timeout_s, PREFLIGHT_TIMES, took);
    else
        complain("%s: time limit raised from %g s to %g s, the most that is allowed; the "
                 "reference takes %s",
                 what, limit_s, task->timeout_s, took);
}

static bool defines(const json_t *text, const char *name)
{
    return json_is_string(text) &&
           langname_defines("python", json_string_value(text), json_string_length(text), name) >= 0;
}

/* Whether the tests ask the reference of TASK for a name that it does not define. */
static bool lacks_entry_point(const struct task *task)
{
    const char *name = json_string_value(task->entry_point);
    return name && task->test && !task_is_program(task) && !defines(task->prompt, name) &&
           !defines(task->solution, name);
}

static void tell_of_task(const struct grade_preflight *with, const struct preflight *preflight,
                         size_t number)
{
    const struct preflight_task *task = &preflight->tasks[number];
    const struct task *of = &preflight->dataset->tasks[number];
    const char *why = json_string_value(task->why);
    char what[FAULT_MAX];
    (void)snprintf(what, sizeof(what), "%s:%" PRIu64 ": task \"%s\"", with->dataset, of->line,
                   of->id);
    if (task->state == PREFLIGHT_BROKEN && lacks_entry_point(of))
        complain("%s is broken: its reference solution does not define entry_point %s", what,
                 json_string_value(of->entry_point));
    else if (task->state == PREFLIGHT_BROKEN && why && strncmp(why, "not graded", 10) == 0)
        complain("%s is broken: its tests cannot be used (%s)", what, why);
    else if (task->state == PREFLIGHT_BROKEN)
        complain("%s is broken: its reference solution fails its tests (%s)", what,
                 why ? why : "?");
    if (task->state == PREFLIGHT_ERROR && !task->lacks_module)
        complain("%s: its reference solution has no verdict (%s)", what, why ? why : "?");
    if (task->state == PREFLIGHT_PASSED && task->shared && !preflight->policy.shared &&
        !task_is_program(of))
        complain("%s is %s: its reference solution passes only in one process with the tests", what,
                 with->isolated_only ? "not graded (--isolated-only)" : "graded shared");
    if (task->timeout_s > 0 && !with->options->quiet)
        tell_of_limit(preflight, task, what);
}

static void tell_of_modules(const struct preflight *preflight)
{
    for (void *i = json_object_iter(preflight->lacking); i;
         i = json_object_iter_next(preflight->lacking, i)) {
        const json_t *lacking = json_object_iter_value(i);
        json_int_t n = json_integer_value(json_object_get(lacking, "tasks"));
        complain("%" JSON_INTEGER_FORMAT " task%s cannot be graded: %s", n,
                 text_plural((uint64_t)n), json_string_value(json_object_get(lacking, "words")));
    }
}

static void tell(const struct grade_preflight *with, const struct preflight *preflight,
                 const struct wanted *wanted)
{
    size_t without = 0, n = 0;
    for (size_t i = 0; i < preflight->dataset->n; i++) {
        n += wanted->tasks[i];
        without += wanted->tasks[i] && (!preflight->dataset->tasks[i].solution ||
                                        preflight->dataset->tasks[i].solution_is_doubtful);
        tell_of_task(with, preflight, i);
    }
    tell_of_modules(preflight);
    /* With --canonical, each of them is an unusable sample, too. */
    if (without == 0 || with->options->quiet || !with->samples)
        return;
    if (without == n)
        complain("%s: no preflight: the data set has no reference solutions", with->dataset);
    else
        complain("%s: no preflight of %zu task%s without a reference solution", with->dataset,
                 without, text_plural(without));
}

/* --- all of it ---------------------------------------------------------------------------- */

/* Returns the limit KEY that WHICH limits in the daemon's hello give to jobs of KIND; NULL if they
 * none. */
static const json_t *limit_in(const struct session *session, const char *which, const char *kind,
                              const char *key)
{
    const json_t *limits = json_object_get(session->host, "limits");
    return json_object_get(json_object_get(json_object_get(limits, which), kind), key);
}

/* Returns the seconds that WHICH limits give to code; DEFAULT_S if they give none. */
static double limit_of(const struct session *session, const char *which, double default_s)
{
    double limit_s = json_number_value(limit_in(session, which, "code_exec", "wall_clock"));
    return limit_s > 0 ? limit_s : default_s;
}

int64_t grade_preflight_output(const struct session *session)
{
    return json_integer_value(limit_in(session, "ceilings", "program", "output_bytes"));
}

double grade_preflight_default(const struct session *session)
{
    return limit_of(session, "defaults", TIMEOUT_DEFAULT);
}

static int decide(const struct grade_preflight *with, struct session *session,
                  struct ending *ending, struct preflight *preflight)
{
    _cleanup_(wanted_deinit) struct wanted wanted = {.dataset = preflight->dataset};
    struct flight flight = {.with = with, .preflight = preflight};
    int r = selection_init(&wanted.selection, &with->options->filters,
                           (uint64_t)with->options->limit, NULL);
    wanted.selection.numbered = with->options->numbered;
    if (r == 0)
        r = find_wanted(with, session->max_frame, &wanted);
    if (r < 0)
        return r;
    restore(with, &wanted, preflight);
    /* With --canonical, the reference of a program is its sample, and nothing depends on it. */
    for (size_t i = 0; i < preflight->dataset->n; i++)
        if (wanted.tasks[i] && (with->samples || !task_is_program(&preflight->dataset->tasks[i])))
            preflight_want(preflight, i);
    if (preflight->waiting > 0)
        fly(&flight, session, ending);
    if (!ending->interrupted && !ending->lost)
        tell(with, preflight, &wanted);
    return 0;
}

int grade_preflight(const struct grade_preflight *with, const struct dataset *dataset,
                    struct session *session, struct ending *ending, struct preflight *ret)
{
    struct preflight preflight = PREFLIGHT_NULL;
    int64_t started_ms = monotonic_ms();
    int r = preflight_init(&preflight, dataset, &with->policy, grade_preflight_default(session),
                           limit_of(session, "ceilings", TIMEOUT_MAX));
    if (r < 0)
        return r;
    r = decide(with, session, ending, &preflight);
    if (r < 0) {
        preflight_deinit(&preflight);
        return r;
    }
    preflight.took_ms = monotonic_ms() - started_ms;
    *ret = preflight;
    return 0;
}

void grade_preflight_put(const struct preflight *preflight)
{
    char took[TEXT_QUANTITY_MAX];
    size_t passed = preflight_count(preflight, PREFLIGHT_PASSED);
    size_t broken = preflight_count(preflight, PREFLIGHT_BROKEN);
    size_t errors = preflight_count(preflight, PREFLIGHT_ERROR);
    size_t shared = preflight_count_shared(preflight), raised = 0;
    for (size_t i = 0; i < preflight->dataset->n; i++)
        raised += preflight->tasks[i].timeout_s > 0;
    if (preflight->runs + passed + broken + errors == 0)
        return;
    (void)fprintf(stderr,
                  "preflight: %zu run%s of reference solutions in %s; of the tasks %zu isolated, "
                  "%zu shared, %zu broken, %zu without a verdict; %zu time limit%s raised\n",
                  preflight->runs, text_plural(preflight->runs),
                  text_duration(preflight->took_ms, took), passed - shared, shared, broken, errors,
                  raised, text_plural(raised));
}
