/* SPDX-License-Identifier: MIT */
/* MBPP, also sanitized, and MBPP+ in the original format of EvalPlus. */
#include "formats.h"
#include "textbuf.h"

static bool recognise(const json_t *record)
{
    return task_member(record, "test_list");
}

/* Joins imports and setup code, which run before the assertions. NULL if both are empty. */
static int join_setup(struct task *task, const json_t *imports, const json_t *code)
{
    _cleanup_textbuf_ struct textbuf text = TEXTBUF_NULL;
    json_t *joined = NULL;
    if (json_array_size(imports) == 0 && json_string_length(code) == 0)
        return 0;
    int r = textbuf_open(&text);
    if (r < 0)
        return r;
    for (size_t i = 0; i < json_array_size(imports); i++) {
        textbuf_add_json(&text, json_array_get(imports, i));
        textbuf_add(&text, "\n", 1);
    }
    textbuf_add_json(&text, code);
    textbuf_add(&text, "\n", json_string_length(code) > 0);
    r = textbuf_finish(&text, &joined);
    task->test_setup = r == 0 ? task_keep(task, joined) : NULL;
    return task->test_setup ? 0 : -ENOMEM;
}

/* The original format of EvalPlus: `test` is a whole program, whose inputs are those of `test_list`
 * and more. Both are run, since nothing here can tell whether one has all of the other. */
static int take_plus(struct task *task, struct fault *fault)
{
    const json_t *test = NULL;
    int r = task_take_string(task->object, "test", &test, fault);
    if (r < 0)
        return r;
    task->has_plus = true;
    json_t *targets = json_copy((json_t *)(uintptr_t)task->targets);
    if (json_array_append(targets, (json_t *)(uintptr_t)test) < 0) {
        json_decref(targets);
        return -ENOMEM;
    }
    task->targets = task_keep(task, targets);
    return task->targets ? 0 : -ENOMEM;
}

static int take(struct task *task, _unused_ const struct task_source *source, struct fault *fault)
{
    const json_t *imports = NULL, *code = NULL;
    int r = task_take_strings(task->object, "test_list", &task->targets, fault);
    if (r == 0 && json_array_size(task->targets) == 0)
        r = fault_set(fault, "test_list: it has no assertion");
    if (r == 0 && task_member(task->object, "test"))
        r = take_plus(task, fault);
    if (r == 0 && task_member(task->object, "test_imports"))
        r = task_take_strings(task->object, "test_imports", &imports, fault);
    if (r == 0)
        r = task_take_optional(task->object, "test_setup_code", &code, fault);
    if (r == 0)
        r = join_setup(task, imports, code);
    task->solution_form = SAMPLE_SOLUTION;
    return r < 0 ? r : task_take_optional(task->object, "code", &task->solution, fault);
}

const struct data_format data_format_mbpp = {
    .name = "mbpp",
    .title = "MBPP",
    .what = "assertions, by the isolated judge; and those of EvalPlus where `test` has them",
    .source = "google-research/mbpp; evalplus/evalplus (MbppPlus-OriginFmt)",
    .differs =
        "the code runs in a process of its own, and the assertions in another; memory is the "
        "daemon's (1 GiB), where EvalPlus gives 4 GiB (--memory 4G); a completion may be in a "
        "fence; code that prints more than the limit of output ends in an error",
    .samples = "task_id and solution (a whole program), completion or generation (free text)",
    .uses =
        (const char *const[]){"code", "test", "test_list", "test_imports", "test_setup_code", NULL},
    .skips = (const char *const[]){"challenge_test_list", NULL},
    .recognise = recognise,
    .take = take,
};
