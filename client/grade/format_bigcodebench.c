/* SPDX-License-Identifier: MIT */
/* BigCodeBench: a function that uses libraries, and classes of unittest for it; as it is, and as
 * re-exported with `content` and `labels`. */
#include "formats.h"
#include "unittests.h"

/* What a re-export calls the prompt. */
static const char *const prompts[] = {"complete_prompt", "content", "code_prompt"};

static bool is_reexport(const json_t *record)
{
    return json_is_string(task_member(record, "content")) && task_member(record, "labels") &&
           json_is_string(task_member(record, "test"));
}

static bool recognise(const json_t *record)
{
    return is_reexport(record) ||
           (task_member(record, "test") && task_member(record, "entry_point") &&
            (task_member(record, "complete_prompt") || task_member(record, "instruct_prompt")));
}

static int take_entry_point(struct task *task, struct fault *fault)
{
    const json_t *labels = NULL;
    if (!is_reexport(task->object))
        return task_take_string(task->object, "entry_point", &task->entry_point, fault);
    int r = task_take_json(task, "labels", &labels, fault);
    if (r == 0)
        task->entry_point = task_member(labels, "entry_point");
    if (r == 0 && !task_is_name(task->entry_point))
        r = fault_set(fault, "labels: entry_point: it is no name of a function");
    return r;
}

static int take(struct task *task, _unused_ const struct task_source *source, struct fault *fault)
{
    const json_t *test = NULL;
    int r = take_entry_point(task, fault);
    for (size_t i = 0; r == 0 && i < ARRAY_SIZE(prompts) && !task->prompt; i++)
        r = task_take_optional(task->object, prompts[i], &task->prompt, fault);
    if (r == 0)
        r = task_take_string(task->object, "test", &test, fault);
    if (r == 0)
        r = task_take_optional(task->object, "canonical_solution", &task->solution, fault);
    return r < 0 ? r : unittests_take(task, test, NULL, fault);
}

const struct data_format data_format_bigcodebench = {
    .name = "bigcodebench",
    .title = "BigCodeBench",
    .what = "classes of unittest, in the isolated judge where the reference passes there",
    .source = "bigcode-project/bigcodebench, bigcodebench/eval",
    .differs =
        "a class of tests ends at its first failure; without network, and with the host's "
        "libraries; at most 30 s; completions, solutions and what code prints are taken as for "
        "HumanEval",
    .samples = "task_id and solution (a whole program), completion (continues the prompt) or "
               "generation (free text)",
    .ids = (const char *const[]){"task_id", "id", NULL},
    .uses = (const char *const[]){"complete_prompt", "code_prompt", "content", "labels", "test",
                                  "entry_point", "canonical_solution", NULL},
    .recognise = recognise,
    .take = take,
};
