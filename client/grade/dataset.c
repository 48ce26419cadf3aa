/* SPDX-License-Identifier: MIT */
#include "dataset.h"
#include "formats.h"
#include "guess.h"
#include "names.h"
#include "records.h"

#include "client/batch/gunzip.h"
#include "client/batch/jobline.h"
#include "client/cli/files.h"
#include "proto/util.h"

#include <inttypes.h>
#include <string.h>

#define ROOM_FIRST 256

void dataset_deinit(struct dataset *dataset)
{
    for (size_t i = 0; i < dataset->n; i++)
        task_deinit(&dataset->tasks[i]);
    free(dataset->tasks);
    json_decref(dataset->index);
    json_decref(dataset->unusable);
    *dataset = (struct dataset)DATASET_NULL;
}

ssize_t dataset_find(const struct dataset *dataset, const char *id)
{
    const json_t *number = json_object_get(dataset->index, id);
    return number ? (ssize_t)json_integer_value(number) : -1;
}

size_t dataset_unusable(const struct dataset *dataset)
{
    return json_object_size(dataset->unusable) + dataset->unusable_nameless;
}

uint64_t dataset_unusable_line(const struct dataset *dataset, const char *id)
{
    return (uint64_t)json_integer_value(json_object_get(dataset->unusable, id));
}

/* --- one record --------------------------------------------------------------------------- */

/* Finds the names under test, if the tests use any but their argument. */
static int take_names(struct task *task)
{
    const struct names_texts texts = {
        .prompt = task->prompt,
        .solution = task->solution,
        .entry_point = task->entry_point,
        .test = task->test,
        .targets = task->targets,
        .setup = task->test_setup,
    };
    return task_is_program(task) || task->has_no_names ? 0 : names_find(&texts, &task->names);
}

/* Takes the first id that the record has. */
static int take_id(struct task *task, const struct task_source *source, struct fault *fault)
{
    const char *const *name = task->format->ids;
    while (name && *name && !task_member(task->object, *name))
        name++;
    if (name && !*name && task->format->is_numbered) {
        (void)snprintf(task->id, sizeof(task->id), "%" PRIu64, source->number);
        return 0;
    }
    return task_id_in(task->object, name && *name ? *name : "task_id", task->id, fault);
}

/* Finds the format of the record, which may be FORCED. */
static int take_format(struct task *task, const struct data_format *forced, struct fault *fault)
{
    task->format = forced ? forced : formats_recognise(task->object);
    if (!task->format)
        return guess_record(task->object, fault);
    return formats_check(task->format, task->object, fault);
}

static int take_task(struct task *task, const struct dataset_options *options,
                     const struct task_source *source, struct fault *fault)
{
    int r = take_format(task, options->format, fault);
    if (r == 0)
        r = take_id(task, source, fault);
    if (r == 0)
        r = task->format->take(task, source, fault);
    return r == 0 ? take_names(task) : r;
}

/* --- all of them -------------------------------------------------------------------------- */

/* Takes over what TASK holds. */
static int append(struct dataset *dataset, struct task *task)
{
    if (dataset->n == dataset->room) {
        size_t room = MAX(2 * dataset->room, (size_t)ROOM_FIRST);
        struct task *grown = reallocarray(dataset->tasks, room, sizeof(*grown));
        if (!grown)
            return -ENOMEM;
        dataset->tasks = grown;
        dataset->room = room;
    }
    json_int_t number = (json_int_t)dataset->n;
    if (json_object_set_new(dataset->index, task->id, json_integer(number)) < 0)
        return -ENOMEM;
    (void)json_object_del(dataset->unusable, task->id); /* a later record has made it good */
    dataset->plus += task->has_plus;
    dataset->tasks[dataset->n++] = TAKE_STRUCT(*task, {.object = NULL});
    return 0;
}

/* Finds the id of a record of which no more is known. Whether it has one. */
static bool guess_id(struct task *task)
{
    static const char *const names[] = {"task_id", "question_id", "problem_id", "name", "id"};
    for (size_t i = 0; i < ARRAY_SIZE(names) && !task->id[0]; i++)
        if (task_member(task->object, names[i]) &&
            task_id_in(task->object, names[i], task->id, NULL) < 0)
            return false;
    return task->id[0] != '\0';
}

/* Notes that TASK cannot be used: it is still one of the benchmark, and may have samples. */
static int note_unusable(struct dataset *dataset, struct task *task)
{
    if (!task->object || !guess_id(task)) {
        dataset->unusable_nameless++;
        return 0;
    }
    if (dataset_find(dataset, task->id) >= 0 || dataset_unusable_line(dataset, task->id) > 0)
        return 0;
    return json_object_set_new(dataset->unusable, task->id, json_integer((json_int_t)task->line)) <
                   0
               ? -ENOMEM
               : 0;
}

/* Fails with FAULT if the record cannot be used, or with -ENOMEM. */
static int add_record(struct dataset *dataset, const struct dataset_options *options,
                      const struct task_source *source, struct fault *fault)
{
    const struct record *record = source->record;
    _cleanup_(task_deinit) struct task task = {.line = record->line};
    int r = jobline_read_object(record->text, record->n, formats_use, &task.object, fault);
    if (r == 0)
        r = take_task(&task, options, source, fault);
    if (r < 0)
        return r != -ENOMEM && note_unusable(dataset, &task) < 0 ? -ENOMEM : r;
    ssize_t first = dataset_find(dataset, task.id);
    if (dataset->tasks && first >= 0)
        return fault_set(fault, "task_id \"%s\" is already that of line %" PRIu64, task.id,
                         dataset->tasks[first].line);
    return append(dataset, &task);
}

int dataset_parse(const char *name, const char *text, size_t n,
                  const struct dataset_options *options, dataset_complain *complain, void *arg,
                  struct dataset *ret)
{
    _cleanup_dataset_ struct dataset dataset = {.index = json_object(), .unusable = json_object()};
    struct records records;
    struct record record;
    struct task_source source = {.record = &record, .language = options->language};
    int r = dataset.index && dataset.unusable ? 0 : -ENOMEM;
    records_init(&records, text, n);
    while (r != -ENOMEM) {
        struct fault fault = FAULT_NULL, where = FAULT_NULL;
        r = records_next(&records, &record, &fault);
        if (r == 0)
            break;
        if (r < 0) { /* the fault begins with the line */
            (void)fault_set(&where, "%s:%s", name, fault.text);
        } else {
            r = add_record(&dataset, options, &source, &fault);
            source.number++;
            (void)fault_set(&where, "%s:%" PRIu64 ": %s", name, record.line, fault.text);
        }
        if (r < 0 && r != -ENOMEM)
            complain(arg, where.text);
    }
    if (r < 0)
        return r;
    *ret = TAKE_STRUCT(dataset, DATASET_NULL);
    return 0;
}

/* --- the file ----------------------------------------------------------------------------- */

static void free_evbuffer(struct evbuffer **buffer)
{
    if (*buffer)
        evbuffer_free(*buffer);
}

static void free_gunzip(struct gunzip **gunzip)
{
    *gunzip = gunzip_free(*gunzip);
}

static int inflate_all(struct bytes *text)
{
    _cleanup_(free_gunzip) struct gunzip *gunzip = gunzip_new();
    _cleanup_(free_evbuffer) struct evbuffer *out = evbuffer_new();
    int r = gunzip && out ? 0 : -ENOMEM;
    for (size_t at = 0; r == 0 && at < text->length; at += GUNZIP_FEED_MAX) {
        r = gunzip_feed(gunzip, text->data + at, MIN(text->length - at, GUNZIP_FEED_MAX), out);
        if (r == 0 && evbuffer_get_length(out) > DATASET_MAX)
            r = -EFBIG;
    }
    if (r == 0)
        r = gunzip_end(gunzip);
    if (r < 0)
        return r;
    struct bytes inflated = BYTES_NULL;
    size_t n = evbuffer_get_length(out);
    r = bytes_copy(n > 0 ? (const char *)evbuffer_pullup(out, -1) : "", n, &inflated);
    if (r == 0) {
        bytes_deinit(text);
        *text = inflated;
    }
    return r;
}

/* Fails with FAULT, which does not name the file. */
static int read_text(const char *path, const struct bytes *text,
                     const struct dataset_options *options, dataset_complain *complain, void *arg,
                     struct dataset *ret, struct fault *fault)
{
    const char *name = strcmp(path, "-") == 0 ? "stdin" : path;
    int r = guess_check_text(text->data, text->length, false, fault);
    if (r == 0 && jobline_blank(text->data, text->length))
        r = fault_set(fault, "the file is empty");
    return r < 0 ? r : dataset_parse(name, text->data, text->length, options, complain, arg, ret);
}

int dataset_read(const char *path, const struct dataset_options *options,
                 dataset_complain *complain, void *arg, struct dataset *ret, struct fault *fault)
{
    _cleanup_bytes_ struct bytes text = BYTES_NULL;
    const char *name = strcmp(path, "-") == 0 ? "stdin" : path;
    int r = file_read_all(path, DATASET_MAX, &text, fault);
    if (r < 0)
        return r;
    if (gunzip_wanted(path))
        r = inflate_all(&text);
    struct fault why = FAULT_NULL;
    if (r == 0)
        r = read_text(path, &text, options, complain, arg, ret, &why);
    if (r < 0)
        (void)fault_set(fault, "%s: %s", name, why.text[0] ? why.text : gunzip_strerror(-r));
    return r;
}
