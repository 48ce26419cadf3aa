/* SPDX-License-Identifier: MIT */
/* HumanEval: the end of a function in Python, and a check() for it. */
#include "formats.h"

static bool recognise(const json_t *record)
{
    return task_member(record, "test") && task_member(record, "entry_point");
}

static int take(struct task *task, _unused_ const struct task_source *source, struct fault *fault)
{
    int r = task_take_string(task->object, "prompt", &task->prompt, fault);
    if (r == 0)
        r = task_take_string(task->object, "test", &task->test, fault);
    if (r == 0)
        r = task_take_string(task->object, "entry_point", &task->entry_point, fault);
    return r < 0 ? r
                 : task_take_optional(task->object, "canonical_solution", &task->solution, fault);
}

const struct data_format data_format_humaneval = {
    .name = "humaneval",
    .title = "HumanEval",
    .what = "check() of the function, by the isolated judge",
    .source = "openai/human-eval",
    .differs =
        "the code runs in a process of its own, and the assertions in another; a completion may "
        "be in a fence or lack its indentation, and a solution may be the body of the function "
        "alone: there these are wrong; code that prints more than the limit of output ends in an "
        "error: there what it prints is dropped",
    .samples = "task_id and completion (continues the prompt), solution (a whole program) or "
               "generation (free text)",
    .uses = (const char *const[]){"prompt", "test", "entry_point", "canonical_solution", NULL},
    .recognise = recognise,
    .take = take,
};
