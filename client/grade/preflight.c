/* SPDX-License-Identifier: MIT */
#include "preflight.h"

#include "client/batch/digest.h"

#include <assert.h>
#include <math.h>
#include <string.h>

/* Raised time limits are whole numbers of these, so that a run that starts over mostly finds the
 * same. */
#define STEPS_PER_S 2

static const char *const state_names[PREFLIGHT_STATES] = {
    [PREFLIGHT_PASSED] = "passed",
    [PREFLIGHT_BROKEN] = "broken",
    [PREFLIGHT_ERROR] = "error",
};

/* --- state -------------------------------------------------------------------------------- */

_unused_ static bool may_follow(enum preflight_state from, enum preflight_state to)
{
#define TO(state) (1U << (state))
    static const unsigned next[PREFLIGHT_STATES] = {
        [PREFLIGHT_LEFT_OUT] = TO(PREFLIGHT_ISOLATED) | TO(PREFLIGHT_SHARED) |
                               TO(PREFLIGHT_PASSED) | TO(PREFLIGHT_BROKEN),
        [PREFLIGHT_ISOLATED] = TO(PREFLIGHT_SHARED) | TO(PREFLIGHT_PASSED) | TO(PREFLIGHT_BROKEN) |
                               TO(PREFLIGHT_ERROR),
        [PREFLIGHT_SHARED] = TO(PREFLIGHT_PASSED) | TO(PREFLIGHT_BROKEN) | TO(PREFLIGHT_ERROR),
        /* Of the lines of an earlier run the last one counts. */
        [PREFLIGHT_PASSED] = TO(PREFLIGHT_PASSED) | TO(PREFLIGHT_BROKEN),
        [PREFLIGHT_BROKEN] = TO(PREFLIGHT_PASSED) | TO(PREFLIGHT_BROKEN),
    };
#undef TO
    return next[from] >> to & 1;
}

static bool is_waiting(enum preflight_state state)
{
    return state == PREFLIGHT_ISOLATED || state == PREFLIGHT_SHARED;
}

static void preflight_enter(struct preflight *preflight, struct preflight_task *task,
                            enum preflight_state state)
{
    assert(may_follow(task->state, state));
    preflight->waiting -= is_waiting(task->state);
    task->state = state;
    preflight->waiting += is_waiting(state);
    if (is_waiting(state))
        preflight->queue[preflight->queued++] = (size_t)(task - preflight->tasks);
}

int preflight_init(struct preflight *ret, const struct dataset *dataset,
                   const struct gradejob_policy *policy, double limit_s, double limit_max_s)
{
    struct preflight preflight = {
        .dataset = dataset,
        .policy = *policy,
        .limit_s = policy->timeout_s > 0 ? policy->timeout_s : limit_s,
        .limit_max_s = limit_max_s,
        .tasks = calloc(dataset->n + 1, sizeof(*preflight.tasks)),
        .queue = calloc(dataset->n + 1, 2 * sizeof(*preflight.queue)), /* once in each mode */
        .lacking = json_object(),
    };
    if (!preflight.tasks || !preflight.queue || !preflight.lacking) {
        preflight_deinit(&preflight);
        return -ENOMEM;
    }
    *ret = preflight;
    return 0;
}

void preflight_deinit(struct preflight *preflight)
{
    for (size_t i = 0; preflight->tasks && i < preflight->dataset->n; i++) {
        json_decref(preflight->tasks[i].note);
        json_decref(preflight->tasks[i].why);
    }
    free(preflight->tasks);
    free(preflight->queue);
    json_decref(preflight->lacking);
    *preflight = (struct preflight)PREFLIGHT_NULL;
}

/* --- jobs --------------------------------------------------------------------------------- */

static json_t *make_job(const struct preflight *preflight, size_t number,
                        const struct gradejob_policy *policy)
{
    const struct task *task = &preflight->dataset->tasks[number];
    const struct gradejob_code code = gradejob_solution(task);
    return gradejob_make(task, &code, policy);
}

/* Whether TASK has a solution that says something about its tests. */
static bool has_reference(const struct preflight *preflight, size_t number)
{
    const struct task *task = &preflight->dataset->tasks[number];
    return task->solution && !task->solution_is_doubtful;
}

/* The time limit that holds for TASK without a raised one. */
static double limit_of(const struct preflight *preflight, const struct preflight_task *task)
{
    double own_s = preflight->dataset->tasks[task - preflight->tasks].timeout_s;
    return preflight->policy.timeout_s <= 0 && own_s > 0 ? own_s : preflight->limit_s;
}

void preflight_want(struct preflight *preflight, size_t number)
{
    struct preflight_task *task = &preflight->tasks[number];
    assert(number < preflight->dataset->n);
    /* Programs have one mode, in which there is nothing to decide. */
    bool shared = preflight->policy.shared && !task_is_program(&preflight->dataset->tasks[number]);
    if (task->state == PREFLIGHT_LEFT_OUT && has_reference(preflight, number))
        preflight_enter(preflight, task, shared ? PREFLIGHT_SHARED : PREFLIGHT_ISOLATED);
}

int preflight_next(struct preflight *preflight, size_t *ret_task, json_t **ret_job)
{
    if (preflight->taken == preflight->queued)
        return 0;
    size_t number = preflight->queue[preflight->taken];
    /* With all the time that a job may have, one run tells how much the reference needs. The time
     * limit of a program is its data set's own. */
    bool is_program = task_is_program(&preflight->dataset->tasks[number]);
    const struct gradejob_policy policy = {
        .timeout_s = is_program ? preflight->policy.timeout_s : preflight->limit_max_s,
        .memory = preflight->policy.memory,
        .output = preflight->policy.output,
        .shared = preflight->tasks[number].state == PREFLIGHT_SHARED,
        .warm_modules = preflight->policy.warm_modules,
        .language = preflight->policy.language,
    };
    json_t *job = make_job(preflight, number, &policy);
    if (!job)
        return -ENOMEM;
    preflight->taken++;
    *ret_task = number;
    *ret_job = job;
    return 1;
}

/* --- decisions ---------------------------------------------------------------------------- */

/* Digests what a decision rests on: the task, its reference, and the options. */
static int digest(const struct preflight *preflight, size_t number, char ret[DIGEST_SIZE])
{
    _cleanup_json_ json_t *job = make_job(preflight, number, &preflight->policy);
    return job ? digest_json(job, ret) : -ENOMEM;
}

static int make_note(struct preflight *preflight, size_t number)
{
    struct preflight_task *task = &preflight->tasks[number];
    char text[DIGEST_SIZE];
    if (digest(preflight, number, text) < 0)
        return -ENOMEM;
    json_t *note = json_pack("{s:s,s:s,s:I,s:s}", "reference", state_names[task->state], "mode",
                             task->shared ? "shared" : "isolated", "wall_clock_ms",
                             (json_int_t)task->wall_ms, "digest", text);
    json_decref(task->note);
    task->note = note;
    if (!note || (task->why && json_object_set(note, "result", task->why) < 0) ||
        (task->timeout_s > 0 &&
         json_object_set_new(note, "timeout_s", json_real(task->timeout_s)) < 0))
        return -ENOMEM;
    return 0;
}

/* Returns how long the program of ANSWER, a result, would have run with a CPU of its own. */
static int64_t time_needed(const struct message *answer)
{
    const json_t *usage = json_object_get(answer->object, "usage");
    json_int_t wall = json_integer_value(json_object_get(usage, "wall_clock_ms"));
    json_int_t wait = json_integer_value(json_object_get(usage, "cpu_wait_ms"));
    json_int_t cpu = json_integer_value(json_object_get(usage, "cpu_ms"));
    /* Threads wait at the same time, so their waits may add up to more than there was. */
    return MIN(wall, MAX(wall - wait, cpu));
}

static void raise_limit(const struct preflight *preflight, struct preflight_task *task)
{
    double needed_s = PREFLIGHT_TIMES * (double)task->wall_ms / 1000;
    double limit_s = limit_of(preflight, task);
    if (needed_s <= limit_s || task_is_program(&preflight->dataset->tasks[task - preflight->tasks]))
        return;
    needed_s = MIN(ceil(needed_s * STEPS_PER_S) / STEPS_PER_S, preflight->limit_max_s);
    if (needed_s > limit_s)
        task->timeout_s = needed_s;
}

/* Returns the length of the module's name in the MESSAGE of an error; of all of it if it has none.
 */
static size_t find_module(const char *message, const char **ret)
{
    static const char before[] = "the module ";
    const char *name = strstr(message, before);
    *ret = name ? name + strlen(before) : message;
    return name ? strcspn(*ret, ", ") : strlen(message);
}

static int note_lacking(struct preflight *preflight, struct preflight_task *task,
                        const struct message *answer)
{
    const char *message = message_text(answer, "message"), *module;
    if (strcmp(message_text(answer, "code"), GRADEJOB_LACKING) != 0)
        return 0;
    task->lacks_module = true;
    size_t n = find_module(message, &module);
    json_t *known = json_object_getn(preflight->lacking, module, n);
    json_int_t tasks = json_integer_value(json_object_get(known, "tasks")) + 1;
    if (known)
        return json_object_set_new(known, "tasks", json_integer(tasks)) < 0 ? -ENOMEM : 0;
    known = json_pack("{s:I,s:s}", "tasks", tasks, "words", message);
    return json_object_setn_new(preflight->lacking, module, n, known) < 0 ? -ENOMEM : 0;
}

static int set_why(struct preflight_task *task, json_t *take_words)
{
    json_decref(task->why);
    task->why = take_words;
    return take_words ? 0 : -ENOMEM;
}

/* Whether the daemon refuses the tests, or they have asked nothing of the reference: then no mode
 * makes them judge anything. */
static bool are_useless(const struct preflight_task *task, const struct message *answer)
{
    static const char of_tests[] = "job.t"; /* job.test, job.test_setup, job.targets */
    if (answer->type == MESSAGE_RESULT)
        return strstr(json_string_value(task->why), GRADEJOB_UNASKED);
    return strcmp(message_text(answer, "code"), "bad_request") == 0 &&
           strncmp(message_text(answer, "message"), of_tests, strlen(of_tests)) == 0;
}

/* Takes a verdict: the reference has passed, runs once more, or is broken. */
static void take_verdict(struct preflight *preflight, struct preflight_task *task, bool passed,
                         bool useless)
{
    bool is_shared = task->state == PREFLIGHT_SHARED;
    const struct task *of = &preflight->dataset->tasks[task - preflight->tasks];
    bool is_last = is_shared || useless || task_is_program(of);
    if (passed) {
        preflight_enter(preflight, task, PREFLIGHT_PASSED);
        task->shared = is_shared || of->is_forgeable;
        raise_limit(preflight, task);
        json_decref(TAKE_PTR(task->why));
    } else {
        preflight_enter(preflight, task, is_last ? PREFLIGHT_BROKEN : PREFLIGHT_SHARED);
        task->shared = preflight->policy.shared;
    }
}

int preflight_take(struct preflight *preflight, size_t number, const struct message *answer)
{
    struct preflight_task *task = &preflight->tasks[number];
    _cleanup_json_ json_t *line = json_object();
    enum grade grade;
    assert(number < preflight->dataset->n && is_waiting(task->state));
    if (!line || gradejob_put_verdict(line, answer, &grade) < 0 ||
        set_why(task, json_incref(json_object_get(line, "result"))) < 0)
        return -ENOMEM;
    preflight->runs++;
    task->wall_ms = time_needed(answer);
    bool useless = grade != GRADE_PASSED && are_useless(task, answer);
    if (grade == GRADE_NONE && !useless) {
        preflight_enter(preflight, task, PREFLIGHT_ERROR);
        task->shared = preflight->policy.shared;
        if (note_lacking(preflight, task, answer) < 0)
            return -ENOMEM;
    } else {
        take_verdict(preflight, task, grade == GRADE_PASSED, useless);
    }
    return is_waiting(task->state) ? 0 : make_note(preflight, number);
}

int preflight_fail(struct preflight *preflight, size_t number, const char *why)
{
    struct preflight_task *task = &preflight->tasks[number];
    if (set_why(task, json_string(why)) < 0)
        return -ENOMEM;
    preflight_enter(preflight, task, PREFLIGHT_ERROR);
    task->shared = preflight->policy.shared;
    return make_note(preflight, number);
}

/* --- decisions of an earlier run ---------------------------------------------------------- */

static bool is_text(const json_t *object, const char *name, const char *text)
{
    const char *value = json_string_value(json_object_get(object, name));
    return value && strcmp(value, text) == 0;
}

bool preflight_restore(struct preflight *preflight, size_t number, const json_t *note)
{
    struct preflight_task *task = &preflight->tasks[number];
    char text[DIGEST_SIZE];
    double timeout_s = json_number_value(json_object_get(note, "timeout_s"));
    bool broken = is_text(note, "reference", state_names[PREFLIGHT_BROKEN]);
    if (!has_reference(preflight, number) || is_waiting(task->state) ||
        (!broken && !is_text(note, "reference", state_names[PREFLIGHT_PASSED])) ||
        timeout_s > preflight->limit_max_s || digest(preflight, number, text) < 0 ||
        !is_text(note, "digest", text))
        return false;
    preflight_enter(preflight, task, broken ? PREFLIGHT_BROKEN : PREFLIGHT_PASSED);
    task->shared = is_text(note, "mode", "shared");
    task->timeout_s = timeout_s;
    task->wall_ms = json_integer_value(json_object_get(note, "wall_clock_ms"));
    json_decref(task->note);
    task->note = json_incref((json_t *)(uintptr_t)note);
    json_decref(task->why);
    task->why = json_incref(json_object_get(note, "result"));
    return true;
}

/* --- what follows ------------------------------------------------------------------------- */

struct gradejob_policy preflight_policy(const struct preflight *preflight, size_t number)
{
    struct gradejob_policy policy = preflight->policy;
    const struct preflight_task *task = preflight->tasks ? &preflight->tasks[number] : NULL;
    if (task && task->timeout_s > 0)
        policy.timeout_s = task->timeout_s;
    if (task)
        policy.shared |= task->shared;
    return policy;
}

int preflight_put_note(const struct preflight *preflight, size_t number, json_t *run)
{
    json_t *note = preflight->tasks ? preflight->tasks[number].note : NULL;
    return note && json_object_set(run, "preflight", note) < 0 ? -ENOMEM : 0;
}

bool preflight_is_broken(const struct preflight *preflight, size_t number)
{
    return preflight->tasks && preflight->tasks[number].state == PREFLIGHT_BROKEN;
}

bool preflight_knows_lacking(const struct preflight *preflight, const char *message)
{
    const char *module;
    size_t n = find_module(message, &module);
    return json_object_getn(preflight->lacking, module, n) != NULL;
}

size_t preflight_count(const struct preflight *preflight, enum preflight_state state)
{
    size_t n = 0;
    for (size_t i = 0; preflight->tasks && i < preflight->dataset->n; i++)
        n += preflight->tasks[i].state == state;
    return n;
}

size_t preflight_count_shared(const struct preflight *preflight)
{
    size_t n = 0;
    for (size_t i = 0; preflight->tasks && i < preflight->dataset->n; i++)
        n += preflight->tasks[i].state == PREFLIGHT_PASSED && preflight->tasks[i].shared;
    return n;
}

double preflight_limit(const struct preflight *preflight, size_t number)
{
    return limit_of(preflight, &preflight->tasks[number]);
}
