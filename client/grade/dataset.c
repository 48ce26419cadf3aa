/* SPDX-License-Identifier: MIT */
#include "dataset.h"
#include "evalplus.h"
#include "names.h"
#include "records.h"

#include "client/batch/gunzip.h"
#include "client/batch/jobline.h"
#include "client/cli/files.h"
#include "proto/util.h"

#include <inttypes.h>
#include <string.h>

#define ROOM_FIRST 256

static void task_deinit(struct task *task)
{
    json_decref(task->object);
    json_decref(task->test_setup);
    json_decref(task->made);
    json_decref(task->names);
    *task = (struct task){.object = NULL};
}

void dataset_deinit(struct dataset *dataset)
{
    for (size_t i = 0; i < dataset->n; i++)
        task_deinit(&dataset->tasks[i]);
    free(dataset->tasks);
    json_decref(dataset->index);
    *dataset = (struct dataset)DATASET_NULL;
}

ssize_t dataset_find(const struct dataset *dataset, const char *id)
{
    const json_t *number = json_object_get(dataset->index, id);
    return number ? (ssize_t)json_integer_value(number) : -1;
}

/* --- one record --------------------------------------------------------------------------- */

static bool is_there(const json_t *object, const char *name)
{
    const json_t *value = json_object_get(object, name);
    return value && !json_is_null(value);
}

static int take_string(const json_t *object, const char *name, const json_t **ret,
                       struct fault *fault)
{
    const json_t *value = json_object_get(object, name);
    if (!json_is_string(value))
        return fault_set(fault, "%s: expected a string, got %s", name, json_type_name(value));
    *ret = value;
    return 0;
}

static int take_strings(const json_t *object, const char *name, const json_t **ret,
                        struct fault *fault)
{
    const json_t *value = json_object_get(object, name);
    if (!json_is_array(value))
        return fault_set(fault, "%s: expected an array, got %s", name, json_type_name(value));
    for (size_t i = 0; i < json_array_size(value); i++)
        if (!json_is_string(json_array_get(value, i)))
            return fault_set(fault, "%s[%zu]: expected a string, got %s", name, i,
                             json_type_name(json_array_get(value, i)));
    *ret = value;
    return 0;
}

static int take_solution(struct task *task, const char *name, struct fault *fault)
{
    return is_there(task->object, name) ? take_string(task->object, name, &task->solution, fault)
                                        : 0;
}

static int take_human_eval(struct task *task, struct fault *fault)
{
    int r = take_string(task->object, "prompt", &task->prompt, fault);
    if (r == 0)
        r = take_string(task->object, "test", &task->test, fault);
    if (r == 0)
        r = take_string(task->object, "entry_point", &task->entry_point, fault);
    return r < 0 ? r : take_solution(task, "canonical_solution", fault);
}

static void put_line(FILE *out, const json_t *text)
{
    (void)fwrite(json_string_value(text), 1, json_string_length(text), out);
    (void)fputc('\n', out);
}

/* Joins imports and setup code, which run before the assertions. NULL if both are empty. */
static int join_setup(const json_t *imports, const json_t *code, json_t **ret)
{
    _cleanup_free_ char *text = NULL;
    size_t n = 0;
    FILE *out = open_memstream(&text, &n);
    if (!out)
        return -ENOMEM;
    for (size_t i = 0; i < json_array_size(imports); i++)
        put_line(out, json_array_get(imports, i));
    if (json_string_length(code) > 0)
        put_line(out, code);
    if (fclose(out) != 0)
        return -ENOMEM;
    *ret = n > 0 ? json_stringn(text, n) : NULL;
    return n > 0 && !*ret ? -ENOMEM : 0;
}

/* The raw format of EvalPlus: inputs for the data set's own solution. It may have the tests of
 * HumanEval, too, which are fewer. */
static int take_evalplus(struct task *task, const struct record *record, struct fault *fault)
{
    int r = take_string(task->object, "prompt", &task->prompt, fault);
    if (r == 0)
        r = take_string(task->object, "entry_point", &task->entry_point, fault);
    if (r == 0)
        r = take_string(task->object, "canonical_solution", &task->solution, fault);
    if (r == 0)
        r = evalplus_make_test(task->object, record->text, record->n, &task->made, fault);
    task->test = task->made;
    return r;
}

/* The original format of EvalPlus for MBPP: `test` is a whole program, with the assertions of
 * `test_list` and more. */
static int take_mbpp_plus(struct task *task, struct fault *fault)
{
    const json_t *test = NULL;
    int r = take_string(task->object, "test", &test, fault);
    if (r < 0)
        return r;
    task->targets = task->made = json_pack("[O]", test);
    return task->made ? 0 : -ENOMEM;
}

static int take_mbpp(struct task *task, struct fault *fault)
{
    const json_t *imports = NULL, *code = NULL;
    int r = take_strings(task->object, "test_list", &task->targets, fault);
    if (r == 0 && json_array_size(task->targets) == 0)
        r = fault_set(fault, "test_list: it has no assertion");
    if (r == 0 && is_there(task->object, "test"))
        r = take_mbpp_plus(task, fault);
    if (r == 0 && is_there(task->object, "test_imports"))
        r = take_strings(task->object, "test_imports", &imports, fault);
    if (r == 0 && is_there(task->object, "test_setup_code"))
        r = take_string(task->object, "test_setup_code", &code, fault);
    if (r == 0)
        r = join_setup(imports, code, &task->test_setup);
    return r < 0 ? r : take_solution(task, "code", fault);
}

static bool task_uses(const char *name, size_t n)
{
    static const char *const used[] = {
        "task_id",   "prompt", "test",         "entry_point",     "canonical_solution",
        "test_list", "code",   "test_imports", "test_setup_code",
    };
    return json_name_is_among(name, n, used, ARRAY_SIZE(used)) || evalplus_uses(name, n);
}

/* Finds the names under test. The tests of EvalPlus call nothing but their argument. */
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
    return task->test && task->made ? 0 : names_find(&texts, &task->names);
}

/* Fills TASK from task->object, which was read from RECORD. */
static int take_format(struct task *task, const struct record *record, struct fault *fault)
{
    if (evalplus_is_raw(task->object))
        return take_evalplus(task, record, fault);
    if (is_there(task->object, "test") && is_there(task->object, "entry_point"))
        return take_human_eval(task, fault);
    if (is_there(task->object, "test_list"))
        return take_mbpp(task, fault);
    return fault_set(fault, "neither test and entry_point (HumanEval) nor test_list (MBPP)");
}

static int take_task(struct task *task, const struct record *record, struct fault *fault)
{
    int r = task_id_of(task->object, task->id, fault);
    if (r == 0)
        r = take_format(task, record, fault);
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
    dataset->plus += task->made != NULL;
    dataset->tasks[dataset->n++] = TAKE_STRUCT(*task, {.object = NULL});
    return 0;
}

/* Fails with FAULT if the record cannot be used, or with -ENOMEM. */
static int add_record(struct dataset *dataset, const struct record *record, struct fault *fault)
{
    _cleanup_(task_deinit) struct task task = {.line = record->line};
    int r = jobline_read_object(record->text, record->n, task_uses, &task.object, fault);
    if (r == 0)
        r = take_task(&task, record, fault);
    if (r < 0)
        return r;
    ssize_t first = dataset_find(dataset, task.id);
    if (dataset->tasks && first >= 0)
        return fault_set(fault, "task_id \"%s\" is already that of line %" PRIu64, task.id,
                         dataset->tasks[first].line);
    return append(dataset, &task);
}

int dataset_parse(const char *name, const char *text, size_t n, dataset_complain *complain,
                  void *arg, struct dataset *ret)
{
    _cleanup_dataset_ struct dataset dataset = {.index = json_object()};
    struct records records;
    struct record record;
    int r = dataset.index ? 0 : -ENOMEM;
    records_init(&records, text, n);
    while (r != -ENOMEM) {
        struct fault fault = FAULT_NULL, where = FAULT_NULL;
        r = records_next(&records, &record, &fault);
        if (r == 0)
            break;
        if (r < 0) { /* the fault begins with the line */
            (void)fault_set(&where, "%s:%s", name, fault.text);
        } else {
            r = add_record(&dataset, &record, &fault);
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

int dataset_read(const char *path, dataset_complain *complain, void *arg, struct dataset *ret,
                 struct fault *fault)
{
    _cleanup_bytes_ struct bytes text = BYTES_NULL;
    const char *name = strcmp(path, "-") == 0 ? "stdin" : path;
    int r = file_read_all(path, DATASET_MAX, &text, fault);
    if (r < 0)
        return r;
    if (gunzip_wanted(path))
        r = inflate_all(&text);
    if (r == 0)
        r = dataset_parse(name, text.data, text.length, complain, arg, ret);
    if (r < 0)
        (void)fault_set(fault, "%s: %s", name, gunzip_strerror(-r));
    return r;
}
