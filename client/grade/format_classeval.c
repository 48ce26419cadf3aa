/* SPDX-License-Identifier: MIT */
/* ClassEval: a class, and classes of unittest for it. */
#include "formats.h"
#include "textbuf.h"
#include "unittests.h"

/* Seconds for one class of tests, as its own harness gives. */
#define TIMEOUT_OF_CLASS 5
#define TIMEOUT_MAX 30

static bool recognise(const json_t *record)
{
    return task_member(record, "class_name") && task_member(record, "test_classes");
}

/* The imports that the task names stand before each class that is tested. */
static int take_imports(struct task *task, struct fault *fault)
{
    const json_t *imports = NULL;
    json_t *joined = NULL;
    _cleanup_textbuf_ struct textbuf text = TEXTBUF_NULL;
    if (!formats_has(task->object, "import_statement"))
        return 0;
    int r = task_take_strings(task->object, "import_statement", &imports, fault);
    if (r == 0)
        r = textbuf_open(&text);
    if (r < 0)
        return r;
    for (size_t i = 0; i < json_array_size(imports); i++) {
        textbuf_add_json(&text, json_array_get(imports, i));
        textbuf_add(&text, "\n", 1);
    }
    r = textbuf_finish(&text, &joined);
    task->prompt = r == 0 ? task_keep(task, joined) : NULL;
    return task->prompt ? 0 : -ENOMEM;
}

static int take(struct task *task, _unused_ const struct task_source *source, struct fault *fault)
{
    const json_t *test = NULL, *classes = NULL;
    int r = task_take_string(task->object, "class_name", &task->entry_point, fault);
    if (r == 0 && !task_is_name(task->entry_point))
        r = fault_set(fault, "class_name: it is no name of a class");
    if (r == 0)
        r = task_take_string(task->object, "test", &test, fault);
    if (r == 0)
        r = task_take_strings(task->object, "test_classes", &classes, fault);
    if (r == 0 && json_array_size(classes) == 0)
        r = fault_set(fault, "test_classes: there is none");
    if (r == 0)
        r = take_imports(task, fault);
    if (r == 0)
        r = task_take_optional(task->object, "solution_code", &task->solution, fault);
    if (r < 0)
        return r;
    task->solution_form = SAMPLE_SOLUTION;
    task->timeout_s = (double)MIN(TIMEOUT_OF_CLASS * json_array_size(classes), (size_t)TIMEOUT_MAX);
    return unittests_take(task, test, classes, fault);
}

const struct data_format data_format_classeval = {
    .name = "classeval",
    .title = "ClassEval",
    .what = "classes of unittest, in the isolated judge where the reference passes there",
    .source = "FudanSELab/ClassEval, classeval_evaluation/test_utils.py",
    .differs = "a sample passes if all classes of tests pass (its class_success); tests of single "
               "methods are not counted apart; a class of tests ends at its first failure",
    .samples = "task_id and solution (the whole class) or generation (free text)",
    .uses = (const char *const[]){"class_name", "test", "test_classes", "import_statement",
                                  "solution_code", NULL},
    .recognise = recognise,
    .take = take,
};
