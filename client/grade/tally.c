/* SPDX-License-Identifier: MIT */
#include "tally.h"
#include "bylanguage.h"

#include "client/terminal/text.h"
#include "proto/printer.h"
#include "proto/util.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#define ROOM_FIRST 256

int tally_init(struct tally *ret)
{
    json_t *index = json_object();
    if (!index)
        return -ENOMEM;
    *ret = (struct tally){.index = index};
    return 0;
}

void tally_deinit(struct tally *tally)
{
    free(tally->tasks);
    json_decref(tally->index);
    json_decref(tally->languages);
    *tally = (struct tally)TALLY_NULL;
}

ssize_t tally_task(struct tally *tally, const char *id)
{
    const json_t *number = json_object_get(tally->index, id);
    if (number)
        return (ssize_t)json_integer_value(number);
    if (tally->n == tally->room) {
        size_t room = MAX(2 * tally->room, (size_t)ROOM_FIRST);
        struct tally_task *grown = reallocarray(tally->tasks, room, sizeof(*grown));
        if (!grown)
            return -ENOMEM;
        tally->tasks = grown;
        tally->room = room;
    }
    if (json_object_set_new(tally->index, id, json_integer((json_int_t)tally->n)) < 0)
        return -ENOMEM;
    tally->tasks[tally->n] = (struct tally_task){.samples = 0};
    return (ssize_t)tally->n++;
}

void tally_clear(struct tally *tally)
{
    for (size_t i = 0; i < tally->n; i++)
        tally->tasks[i] = (struct tally_task){.refused = tally->tasks[i].refused};
    tally->not_graded = 0;
    json_decref(TAKE_PTR(tally->languages));
}

void tally_add(struct tally *tally, size_t task, enum grade grade)
{
    assert(task < tally->n);
    tally->tasks[task].asked++;
    if (grade == GRADE_NONE) {
        tally->not_graded++;
        return;
    }
    tally->tasks[task].samples++;
    tally->tasks[task].correct += grade == GRADE_PASSED;
}

static bool is_text(const json_t *object, const char *name, const char *text)
{
    const char *value = json_string_value(json_object_get(object, name));
    return value && strcmp(value, text) == 0;
}

int tally_add_language(struct tally *tally, size_t task, const char *language, enum grade grade)
{
    assert(task < tally->n);
    return grade == GRADE_NONE
               ? 0
               : bylanguage_add(&tally->languages, language, task, grade == GRADE_PASSED);
}

const char *tally_language_of(const json_t *line)
{
    const json_t *run = json_object_get(line, "run");
    const char *language = json_string_value(json_object_get(run, "language"));
    return !language && is_text(run, "kind", "code_exec") ? "python" : language;
}

int tally_add_language_of(struct tally *tally, size_t task, const json_t *line, enum grade grade)
{
    const char *language = tally_language_of(line);
    return language ? tally_add_language(tally, task, language, grade) : 0;
}

void tally_refuse(struct tally *tally, size_t task)
{
    assert(task < tally->n);
    tally->tasks[task].refused = true;
}

void tally_leave_out(struct tally *tally, size_t task, enum tally_absence why)
{
    assert(task < tally->n && tally->tasks[task].asked == 0);
    tally->tasks[task].absence = why;
}

void tally_note(struct tally *tally, size_t task, bool shared, bool broken)
{
    assert(task < tally->n);
    tally->tasks[task].shared += shared;
    tally->tasks[task].broken |= broken;
}

bool tally_is_shared(const json_t *line)
{
    /* The line of a sample has its job's id in `run`. Its own fields say nothing about the run. */
    const json_t *run = json_object_get(line, "run");
    return is_text(json_object_get(run, "id") ? run : line, "mode", "shared");
}

bool tally_is_broken(const json_t *line)
{
    const json_t *preflight = json_object_get(json_object_get(line, "run"), "preflight");
    return is_text(preflight, "reference", "broken");
}

void tally_note_line(struct tally *tally, size_t task, const json_t *line)
{
    tally_note(tally, task, tally_is_shared(line), tally_is_broken(line));
}

static bool is_out(const struct tally_task *task)
{
    return task->refused || task->absence != TALLY_PRESENT;
}

double tally_pass_at_k(const struct tally *tally, uint64_t k, size_t *ret_too_few)
{
    double sum = 0;
    size_t too_few = 0, n = 0;
    for (size_t i = 0; i < tally->n; i++) {
        const struct tally_task *task = &tally->tasks[i];
        if (is_out(task))
            continue;
        n++;
        too_few += task->samples < k;
        /* One NAN makes the sum NAN. */
        sum += pass_at_k(task->samples, task->correct, k);
    }
    *ret_too_few = too_few;
    return n == 0 ? NAN : sum / (double)n;
}

/* Of all tasks together. */
struct sums {
    uint64_t samples, correct, shared;
    size_t tasks; /* of which pass@k is the mean */
    size_t shared_tasks, broken_tasks, refused_tasks, sampleless_tasks, unselected_tasks;
};

static struct sums sum_of(const struct tally *tally)
{
    struct sums sums = {.samples = 0};
    for (size_t i = 0; i < tally->n; i++) {
        const struct tally_task *task = &tally->tasks[i];
        sums.samples += task->samples;
        sums.correct += task->correct;
        sums.shared += task->shared;
        sums.shared_tasks += task->shared > 0;
        sums.broken_tasks += task->broken;
        sums.refused_tasks += task->refused;
        sums.sampleless_tasks += task->absence == TALLY_SAMPLELESS;
        sums.unselected_tasks += task->absence == TALLY_UNSELECTED;
        sums.tasks += !is_out(task);
    }
    return sums;
}

static bool is_complete(const struct tally *tally, const struct sums *sums)
{
    return !tally->cut_short && sums->sampleless_tasks == 0 &&
           tally->not_graded + tally->unanswered + tally->refused + tally->unusable == 0;
}

/* All tasks of the data set. */
static size_t tasks_of(const struct tally *tally)
{
    return tally->n + tally->unusable_tasks;
}

/* --- for people --------------------------------------------------------------------------- */

static void put_reason(FILE *out, const char **separator, uint64_t n, const char *what)
{
    if (n == 0)
        return;
    (void)fprintf(out, "%s%" PRIu64 " %s", *separator, n, what);
    *separator = "; ";
}

static void put_incomplete(FILE *out, const struct tally *tally, const struct sums *sums)
{
    const char *separator = "incomplete: ";
    if (is_complete(tally, sums))
        return;
    put_reason(out, &separator, sums->sampleless_tasks,
               sums->sampleless_tasks == 1 ? "task without a sample, left out of pass@k"
                                           : "tasks without a sample, left out of pass@k");
    put_reason(out, &separator, tally->not_graded, "not graded (an error, no verdict)");
    put_reason(out, &separator, tally->unanswered, "unanswered");
    put_reason(out, &separator, tally->refused, "refused (a shared verdict; --isolated-only)");
    put_reason(out, &separator, tally->unusable_tasks,
               tally->unusable_tasks == 1 ? "task that cannot be used (named above)"
                                          : "tasks that cannot be used (named above)");
    put_reason(out, &separator, tally->unusable_task_samples,
               tally->unusable_task_samples == 1 ? "sample of such a task"
                                                 : "samples of such tasks");
    put_reason(out, &separator, tally->unusable - MIN(tally->unusable_tasks, tally->unusable),
               "unusable (named above)");
    if (tally->cut_short)
        (void)fprintf(out, "%snot all samples were read", separator);
    (void)fputc('\n', out);
}

/* Says what the verdicts are worth. */
static void put_worth(FILE *out, const struct sums *sums)
{
    if (sums->shared > 0)
        (void)fprintf(out,
                      "shared: %" PRIu64 " sample%s of %zu task%s ran in one process with the "
                      "tests, where code can forge its verdict\n",
                      sums->shared, text_plural(sums->shared), sums->shared_tasks,
                      text_plural(sums->shared_tasks));
    if (sums->broken_tasks > 0)
        (void)fprintf(out, "broken: %zu task%s that the data set's own solution fails\n",
                      sums->broken_tasks, text_plural(sums->broken_tasks));
}

/* Writes "(incomplete; 1 task shared)", or nothing. */
static void put_label(FILE *out, const struct tally *tally, const struct sums *sums)
{
    const struct {
        size_t n;
        const char *what;
    } labels[] = {
        {sums->refused_tasks, "refused"},
        {sums->shared_tasks, "shared"},
        {sums->broken_tasks, "broken"},
    };
    const char *separator = " (";
    if (!is_complete(tally, sums)) {
        (void)fprintf(out, "%sincomplete", separator);
        separator = "; ";
    }
    if (sums->sampleless_tasks + sums->unselected_tasks + tally->unusable_tasks > 0) {
        (void)fprintf(out, "%sof %zu of %zu tasks", separator, sums->tasks, tasks_of(tally));
        separator = "; ";
    }
    if (json_object_size(tally->languages) > 1) {
        (void)fprintf(out, "%s%zu languages", separator, json_object_size(tally->languages));
        separator = "; ";
    }
    for (size_t i = 0; i < ARRAY_SIZE(labels); i++) {
        if (labels[i].n == 0)
            continue;
        (void)fprintf(out, "%s%zu task%s %s", separator, labels[i].n, text_plural(labels[i].n),
                      labels[i].what);
        separator = "; ";
    }
    if (tally->not_in_input > 0) {
        (void)fprintf(out, "%s%" PRIu64 " sample%s not in the input", separator,
                      tally->not_in_input, text_plural(tally->not_in_input));
        separator = "; ";
    }
    (void)fputs(*separator == ';' ? ")" : "", out);
}

/* A K that nobody asked for and no task has samples for IS_OPTIONAL. */
static void put_k(FILE *out, const struct tally *tally, const struct sums *sums, uint64_t k,
                  bool is_optional)
{
    char name[32];
    size_t too_few;
    double value = tally_pass_at_k(tally, k, &too_few);
    (void)snprintf(name, sizeof(name), "pass@%" PRIu64 ":", k);
    size_t n = sums->tasks;
    if (is_optional && too_few == n)
        return;
    if (isnan(value) && n == 0) {
        (void)fprintf(out, "%-10s not computed: %s\n", name,
                      sums->refused_tasks > 0 ? "every task was refused" : "no sample was graded");
        return;
    }
    if (isnan(value)) {
        (void)fprintf(out,
                      "%-10s not computed: %zu of %zu task%s fewer than %" PRIu64 " %ssample%s\n",
                      name, too_few, n, n == 1 ? " has" : "s have", k,
                      tally->not_graded > 0 ? "graded " : "", text_plural(k));
        return;
    }
    (void)fprintf(out, "%-10s %.4f", name, value);
    put_label(out, tally, sums);
    (void)fputc('\n', out);
}

void tally_put(FILE *out, const struct tally *tally, const struct passk_ks *ks)
{
    struct sums sum = sum_of(tally);
    (void)fprintf(out, "%zu task%s, %" PRIu64 " sample%s, %" PRIu64 " correct\n", tasks_of(tally),
                  text_plural(tasks_of(tally)), sum.samples, text_plural(sum.samples), sum.correct);
    if (sum.unselected_tasks > 0)
        (void)fprintf(out, "selected: %zu task%s left out by --filter or --limit\n",
                      sum.unselected_tasks, text_plural(sum.unselected_tasks));
    put_incomplete(out, tally, &sum);
    put_worth(out, &sum);
    bylanguage_put(out, tally->languages, ks);
    for (size_t i = 0; i < ks->n; i++)
        put_k(out, tally, &sum, ks->k[i], ks->is_default && ks->k[i] > 1);
}

/* --- for machines ------------------------------------------------------------------------- */

static bool put_json(json_t *object, const char *name, json_t *take_value)
{
    return json_object_set_new(object, name, take_value) == 0;
}

json_t *tally_json(const struct tally *tally, const struct passk_ks *ks)
{
    struct sums sum = sum_of(tally);
    _cleanup_json_ json_t *values = json_object();
    _cleanup_json_ json_t *lacking = json_object();
    _cleanup_json_ json_t *languages = bylanguage_json(tally->languages, ks);
    bool ok = values && lacking && languages;
    for (size_t i = 0; ok && i < ks->n; i++) {
        char name[24];
        size_t too_few;
        double value = tally_pass_at_k(tally, ks->k[i], &too_few);
        (void)snprintf(name, sizeof(name), "%" PRIu64, ks->k[i]);
        ok = put_json(values, name, isnan(value) ? json_null() : json_real(value)) &&
             (!isnan(value) || put_json(lacking, name, json_integer((json_int_t)too_few)));
    }
    if (!ok)
        return NULL;
    return json_pack(
        "{s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:b,s:O,s:O,s:O}", "tasks",
        (json_int_t)tasks_of(tally), "unusable_tasks", (json_int_t)tally->unusable_tasks,
        "unusable_task_samples", (json_int_t)tally->unusable_task_samples, "sampleless_tasks",
        (json_int_t)sum.sampleless_tasks, "unselected_tasks", (json_int_t)sum.unselected_tasks,
        "samples", (json_int_t)sum.samples, "correct", (json_int_t)sum.correct, "not_graded",
        (json_int_t)tally->not_graded, "unanswered", (json_int_t)tally->unanswered, "refused",
        (json_int_t)tally->refused, "unusable", (json_int_t)tally->unusable, "not_in_input",
        (json_int_t)tally->not_in_input, "shared_tasks", (json_int_t)sum.shared_tasks,
        "shared_samples", (json_int_t)sum.shared, "broken_tasks", (json_int_t)sum.broken_tasks,
        "complete", is_complete(tally, &sum), "pass_at_k", values, "too_few_samples", lacking,
        "languages", languages);
}

int tally_print(FILE *out, const struct tally *tally, const struct passk_ks *ks, bool as_json)
{
    if (!as_json) {
        tally_put(out, tally, ks);
        return 0;
    }
    _cleanup_json_ json_t *object = tally_json(tally, ks);
    _cleanup_bytes_ struct bytes text = BYTES_NULL;
    if (!object || json_print(object, &text) < 0)
        return -ENOMEM;
    (void)fwrite(text.data, 1, text.length, out);
    (void)fputc('\n', out);
    return 0;
}
