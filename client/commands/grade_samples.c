/* SPDX-License-Identifier: MIT */
#include "grade_samples.h"

#include "client/batch/gunzip.h"
#include "client/grade/guess.h"
#include "client/terminal/text.h"
#include "proto/printer.h"

#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Bytes at the beginning of a file of samples that show what it is. */
#define LOOKED_AT 4096

void grading_deinit(struct grading *grading)
{
    tally_deinit(&grading->tally);
    input_deinit(&grading->samples);
    json_decref(grading->pending.object);
    preflight_deinit(&grading->preflight); /* borrows the data set */
    dataset_deinit(&grading->dataset);
    transcripts_deinit(&grading->transcripts);
    json_decref(grading->warm_modules);
    json_decref(grading->lacking);
    json_decref(grading->blamed);
}

int grading_check_samples(const char *path, struct fault *fault)
{
    char start[LOOKED_AT];
    struct stat st;
    struct fault why = FAULT_NULL;
    if (strcmp(path, "-") == 0 || gunzip_wanted(path) || stat(path, &st) < 0 ||
        !S_ISREG(st.st_mode))
        return 0;
    _cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    ssize_t n = fd < 0 ? -1 : read(fd, start, sizeof(start));
    if (n < 0 || guess_check_text(start, (size_t)n, true, &why) == 0)
        return 0; /* a file that cannot be read is named when it is */
    return fault_set(fault, "%s: %s", path, why.text);
}

/* --- jobs --------------------------------------------------------------------------------- */

/* Adds to RUN in which language a program is; other code is in Python. */
static int put_language(json_t *run, const struct task *task, const char *language)
{
    return task_is_program(task) ? json_object_set_new(run, "language", json_string(language)) : 0;
}

/* Adds to RUN how the code and its tests were kept apart, if the answer will not say. */
static int put_mode(json_t *run, const struct task *task)
{
    return task_is_program(task) && task->is_forgeable
               ? json_object_set_new(run, "mode", json_string("shared"))
               : 0;
}

/* Makes the job of CODE and the note that comes back with its answer: the index of the task, LINE,
 * to which the answer adds its fields, the language, and for a transcript the job. */
static int make_job(struct grading *grading, struct task *task, const struct gradejob_code *code,
                    json_t *line, struct engine_job *ret, struct fault *fault)
{
    _cleanup_bytes_ struct bytes id = BYTES_NULL;
    size_t task_no = (size_t)(task - grading->dataset.tasks);
    const struct gradejob_policy policy = preflight_policy(&grading->preflight, task_no);
    const char *language = gradejob_language(task, code, &policy, fault);
    if (!language || sample_check_language(line, language, fault) < 0)
        return -EINVAL;
    _cleanup_json_ json_t *job = gradejob_make(task, code, &policy);
    uint64_t number = task->samples++;
    int r = jobline_default_id(task->id, number, &id);
    if (r < 0 || !job || json_object_set_new(line, "sample", json_integer((json_int_t)number)) < 0)
        return -ENOMEM;
    /* Samples may come from a file of results; drop what that says of its run. */
    (void)json_object_del(line, "run");
    ret->note = json_pack("[I,O,s]", (json_int_t)task_no, line, language);
    if (!ret->note || (policy.transcript && json_array_append(ret->note, job) < 0))
        return -ENOMEM;
    ret->left_out = grading->isolated_only && gradejob_is_forgeable(task, &policy);
    if (ret->left_out)
        tally_refuse(&grading->tally, task_no);
    r = jobline_from_object(job, &id, &grading->line, &ret->submission, fault);
    /* The id goes into `run`: the line is the sample's own and may have another id. */
    if (r == 0 &&
        (put_mode(ret->submission.run, task) < 0 ||
         put_language(ret->submission.run, task, language) < 0 ||
         json_object_set_new(ret->submission.run, "id",
                             json_stringn(ret->submission.id.data, ret->submission.id.length)) < 0))
        r = -ENOMEM;
    return r == 0 ? preflight_put_note(&grading->preflight, task_no, ret->submission.run) : r;
}

/* Returns INPUT_LINE; if R is negative, INPUT_WRONG with FAULT, which says where and WHY. */
static enum input_state conclude(int r, const struct fault *why, struct engine_job *job,
                                 struct fault *fault)
{
    if (r >= 0)
        return INPUT_LINE;
    (void)fault_set(fault, "%s: %s", job->place.text, why->text[0] ? why->text : strerror(-r));
    return INPUT_WRONG;
}

/* Makes the line of results of a sample: the object itself, with the id of its task. One of several
 * in an object has its own text alone. */
static json_t *line_of(const struct sample_line *pending, const struct task *task)
{
    const struct sample *sample = &pending->sample;
    const char *member = sample_form_name(sample->form);
    json_t *line = sample->list ? json_copy(pending->object) : json_incref(pending->object);
    bool ok = line != NULL;
    if (ok && sample->list)
        ok = json_object_del(line, sample->member) == 0 &&
             json_object_set(line, member, sample_text(sample, pending->next)) == 0;
    if (ok && !task_member(line, "task_id"))
        ok = json_object_set_new(line, "task_id", json_string(task->id)) == 0;
    if (ok)
        return line;
    json_decref(line);
    return NULL;
}

/* Says why N samples of ID have no task. The first sample of a task that cannot be used is named,
 * the others are counted: -EALREADY. */
static int blame_task(struct grading *grading, const char *id, size_t n, struct engine_job *ret,
                      struct fault *fault)
{
    uint64_t line = dataset_unusable_line(&grading->dataset, id);
    if (line == 0)
        return fault_set(fault, "task_id \"%s\" is not in the data set", id);
    grading->tally.unusable_task_samples += n;
    if (json_object_get(grading->blamed, id))
        return -EALREADY;
    if ((!grading->blamed && !(grading->blamed = json_object())) ||
        json_object_set_new(grading->blamed, id, json_true()) < 0)
        return -ENOMEM;
    ret->is_counted = true;
    return fault_set(fault, "its task \"%s\" (%s:%" PRIu64 ") cannot be used", id,
                     grading->dataset_name, line);
}

static int take_sample(struct grading *grading, struct engine_job *ret, struct fault *fault)
{
    struct sample_line *pending = &grading->pending;
    const struct gradejob_code code = {
        .form = pending->sample.form,
        .text = sample_text(&pending->sample, pending->next),
        .language = pending->sample.language,
    };
    ret->place = pending->place;
    ssize_t number = dataset_find(&grading->dataset, pending->sample.task_id);
    struct task *task = number < 0 ? NULL : &grading->dataset.tasks[number];
    _cleanup_json_ json_t *line = task ? line_of(pending, task) : NULL;
    size_t n = sample_count(&pending->sample); /* borrows the object */
    if (++pending->next == n || !task)
        json_decref(TAKE_PTR(pending->object));
    if (!task)
        return blame_task(grading, pending->sample.task_id, n, ret, fault);
    return line ? make_job(grading, task, &code, line, ret, fault) : -ENOMEM;
}

/* Reads a line, of which the samples then are pending. */
static int take_line(struct grading *grading, const char *text, size_t n, struct engine_job *job,
                     struct fault *fault)
{
    struct sample_line pending = {.place = job->place};
    int r = jobline_read_object(text, n, sample_uses, &pending.object, fault);
    if (r == 0)
        r = sample_decode(pending.object, &pending.sample, fault);
    if (r < 0) {
        json_decref(pending.object);
        return r;
    }
    grading->pending = pending;
    return take_sample(grading, job, fault);
}

enum input_state grading_next_sample(void *arg, struct engine_job *ret, struct fault *fault)
{
    struct grading *grading = arg;
    const struct input *input = &grading->samples;
    struct fault why = FAULT_NULL;
    for (;;) {
        int r;
        const char *text;
        size_t n;
        if (grading->pending.object) {
            r = take_sample(grading, ret, &why);
        } else {
            enum input_state state = input_next(&grading->samples, &text, &n, fault);
            if (state != INPUT_LINE)
                return state;
            if (jobline_blank(text, n))
                continue;
            (void)fault_set(&ret->place, "%s:%" PRIu64, input->name, input->line_no);
            r = take_line(grading, text, n, ret, &why);
        }
        if (r != -EALREADY)
            return conclude(r, &why, ret, fault);
    }
}

static int take_canonical(struct grading *grading, struct task *task, struct engine_job *ret,
                          struct fault *fault)
{
    const json_t *id = json_object_get(task->object, "task_id");
    if (!task->solution)
        return fault_set(fault, "task \"%s\" has no solution of its own%s", task->id,
                         task_is_program(task) ? ""
                         : task->test          ? " (canonical_solution)"
                                               : " (code)");
    _cleanup_json_ json_t *line =
        id ? json_pack("{s:O}", "task_id", id) : json_pack("{s:s}", "task_id", task->id);
    struct gradejob_code code = gradejob_solution(task);
    _cleanup_json_ json_t *text = json_copy(code.text);
    code.text = text;
    if (!line || !text)
        return -ENOMEM;
    return make_job(grading, task, &code, line, ret, fault);
}

enum input_state grading_next_canonical(void *arg, struct engine_job *ret, struct fault *fault)
{
    struct grading *grading = arg;
    struct fault why = FAULT_NULL;
    if (grading->next_task == grading->dataset.n)
        return INPUT_END;
    struct task *task = &grading->dataset.tasks[grading->next_task++];
    (void)fault_set(&ret->place, "%s:%" PRIu64, grading->dataset_name, task->line);
    return conclude(take_canonical(grading, task, ret, &why), &why, ret, fault);
}

/* Counts jobs whose tests or prelude need a module that the daemon's host lacks. */
static int note_lacking(struct grading *grading, const struct message *message)
{
    const char *code = message_text(message, "code");
    const char *what = message_text(message, "message");
    if (message->type != MESSAGE_ERROR || strcmp(code, GRADEJOB_LACKING) != 0 ||
        preflight_knows_lacking(&grading->preflight, what))
        return 0;
    if (!grading->lacking && !(grading->lacking = json_object()))
        return -ENOMEM;
    json_int_t n = json_integer_value(json_object_get(grading->lacking, what));
    return json_object_set_new(grading->lacking, what, json_integer(n + 1)) < 0 ? -ENOMEM : 0;
}

void grading_complain_lacking(const struct grading *grading)
{
    for (void *i = json_object_iter(grading->lacking); i;
         i = json_object_iter_next(grading->lacking, i)) {
        json_int_t n = json_integer_value(json_object_iter_value(i));
        complain("%" JSON_INTEGER_FORMAT " sample%s not graded: %s", n, n == 1 ? " was" : "s were",
                 json_object_iter_key(i));
    }
}

int grading_answer_line(void *arg, struct message *message, json_t *note, struct bytes *ret_line)
{
    struct grading *grading = arg;
    json_t *line = json_array_get(note, 1);
    enum grade grade;
    if (gradejob_put_verdict(line, message, &grade) < 0 || note_lacking(grading, message) < 0 ||
        transcripts_add(&grading->transcripts, json_array_get(note, 3), line, message) < 0)
        return -ENOMEM;
    size_t task = (size_t)json_integer_value(json_array_get(note, 0));
    const char *mode = message_text(message, "mode");
    bool shared = mode ? strcmp(mode, "shared") == 0 : grading->dataset.tasks[task].is_forgeable;
    tally_add(&grading->tally, task, grade);
    if (tally_add_language(&grading->tally, task, json_string_value(json_array_get(note, 2)),
                           grade) < 0)
        return -ENOMEM;
    if (grade != GRADE_NONE)
        tally_note(&grading->tally, task, shared, preflight_is_broken(&grading->preflight, task));
    return json_print(line, ret_line);
}

/* --- what earlier runs have graded -------------------------------------------------------- */

void grading_recount(void *arg)
{
    struct grading *grading = arg;
    tally_clear(&grading->tally);
}

/* Counts a line of the file, which grading_answer_line() made. */
void grading_recounted(void *arg, const struct result_line *line, struct summary *summary)
{
    struct grading *grading = arg;
    char task_id[TASK_ID_MAX + 1];
    const json_t *score = json_object_get(line->object, "score");
    const char *words = json_string_value(json_object_get(line->object, "result"));
    const char *verdict = json_string_value(json_object_get(line->object, "verdict"));
    const char *kind = json_string_value(json_object_get(line->run, "kind"));
    _cleanup_json_ json_t *modes =
        json_pack("[{s:s++}]", "code", kind ? kind : "code_exec", ".", verdict ? verdict : "?");
    enum grade grade = !line->answered ? GRADE_NONE : line->passed ? GRADE_PASSED : GRADE_FAILED;
    ssize_t task = task_id_of(line->object, task_id, NULL) == 0
                       ? dataset_find(&grading->dataset, task_id)
                       : -1;
    if (grading->isolated_only && tally_is_shared(line->object))
        return; /* of an earlier run that allowed it */
    if (task >= 0)
        tally_add(&grading->tally, (size_t)task, grade);
    if (task >= 0)
        (void)tally_add_language_of(&grading->tally, (size_t)task, line->object, grade);
    if (task >= 0 && line->answered)
        tally_note_line(&grading->tally, (size_t)task, line->object);
    const struct score_parts counted = {
        .passed = line->passed,
        .score = json_is_number(score) ? json_number_value(score) : NAN,
        .failure_modes = line->passed ? NULL : modes,
    };
    if (line->answered)
        summary_add_result(summary, &counted);
    else
        summary_add_error(summary, words ? words : "?", NULL, NULL);
}
