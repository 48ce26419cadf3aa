/* SPDX-License-Identifier: MIT */
#include "task.h"

#include "proto/lenient.h"

#include <string.h>

void task_deinit(struct task *task)
{
    json_decref(task->object);
    json_decref(task->kept);
    json_decref(task->names);
    json_decref(task->tests);
    *task = (struct task){.object = NULL};
}

/* `assert` begins the methods of unittest, too, and functions of NumPy's. */
static bool may_fail(const json_t *text)
{
    static const char *const words[] = {"assert", "raise", "fail", "exit"};
    for (size_t i = 0; json_is_string(text) && i < ARRAY_SIZE(words); i++)
        if (memmem(json_string_value(text), json_string_length(text), words[i], strlen(words[i])))
            return true;
    return false;
}

bool task_asserts_nothing(const struct task *task)
{
    if (task_is_program(task) || may_fail(task->test) || may_fail(task->test_setup))
        return false;
    for (size_t i = 0; i < json_array_size(task->targets); i++)
        if (may_fail(json_array_get(task->targets, i)))
            return false;
    return true;
}

json_t *task_keep(struct task *task, json_t *take_value)
{
    if (!take_value || (!task->kept && !(task->kept = json_array())) ||
        json_array_append(task->kept, take_value) < 0) {
        json_decref(take_value);
        return NULL;
    }
    json_decref(take_value); /* the array has it */
    return take_value;
}

const json_t *task_member(const json_t *object, const char *name)
{
    const json_t *value = json_object_get(object, name);
    return json_is_null(value) ? NULL : value;
}

int task_take_string(const json_t *object, const char *name, const json_t **ret,
                     struct fault *fault)
{
    const json_t *value = json_object_get(object, name);
    if (!json_is_string(value))
        return fault_set(fault, "%s: expected a string, got %s", name, json_type_name(value));
    *ret = value;
    return 0;
}

int task_take_optional(const json_t *object, const char *name, const json_t **ret,
                       struct fault *fault)
{
    return task_member(object, name) ? task_take_string(object, name, ret, fault) : 0;
}

int task_take_strings(const json_t *object, const char *name, const json_t **ret,
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

/* The readers of proto/ read objects, so the text is made the member of one. */
static const char before[] = "{\"value\":", behind[] = "}";

static bool is_used(_unused_ const char *name, _unused_ size_t n)
{
    return true;
}

int task_read_json(const char *text, size_t n, const char *name, json_t **ret, struct fault *fault)
{
    struct fault why = FAULT_NULL;
    _cleanup_json_ json_t *object = NULL;
    size_t before_n = strlen(before), behind_n = strlen(behind);
    _cleanup_free_ char *wrapped = malloc(before_n + n + behind_n + 1);
    if (!wrapped)
        return -ENOMEM;
    (void)memcpy(mempcpy(mempcpy(wrapped, before, before_n), text, n), behind, behind_n + 1);
    int r = json_read_lenient(wrapped, before_n + n + behind_n, is_used, &object, &why);
    if (r == -ENOMEM)
        return r;
    /* `1, "more": 2` would be read as two members. */
    if (r == 0 && json_object_size(object) != 1)
        return fault_set(fault, "%s: not JSON", name);
    if (r < 0)
        return fault_set(fault, "%s: not JSON that can be read: %s", name, why.text);
    *ret = json_incref(json_object_get(object, "value"));
    return *ret ? 0 : fault_set(fault, "%s: not JSON", name);
}

int task_take_json(struct task *task, const char *name, const json_t **ret, struct fault *fault)
{
    const json_t *value = json_object_get(task->object, name);
    json_t *read = NULL;
    if (!json_is_string(value)) {
        *ret = value;
        return value ? 0 : fault_set(fault, "%s: expected JSON, got nothing", name);
    }
    int r = task_read_json(json_string_value(value), json_string_length(value), name, &read, fault);
    if (r < 0)
        return r;
    *ret = task_keep(task, read);
    return *ret ? 0 : -ENOMEM;
}

bool task_is_name(const json_t *text)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_";
    const char *name = json_string_value(text);
    size_t n = json_string_length(text);
    if (n == 0 || n > 255 || !strchr(letters, name[0]) || strlen(name) != n)
        return false;
    for (size_t i = 0; i < n; i++)
        if (!strchr(letters, name[i]) && (name[i] < '0' || name[i] > '9'))
            return false;
    return true;
}
