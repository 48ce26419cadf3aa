/* SPDX-License-Identifier: MIT */
/* EvalPlus in its raw format, HumanEval+ and MBPP+: inputs, whose results are compared with those
 * of the data set's own solution. A record may have the tests of HumanEval, too, which are fewer.
 */
#include "evalplus.h"
#include "formats.h"

static int take(struct task *task, const struct task_source *source, struct fault *fault)
{
    json_t *test = NULL;
    int r = task_take_string(task->object, "prompt", &task->prompt, fault);
    if (r == 0)
        r = task_take_string(task->object, "entry_point", &task->entry_point, fault);
    if (r == 0)
        r = task_take_string(task->object, "canonical_solution", &task->solution, fault);
    if (r == 0)
        r = evalplus_make_test(task->object, source->record->text, source->record->n, &test, fault);
    if (r < 0)
        return r;
    task->has_plus = task->has_no_names = true;
    if (evalplus_calls(task->object)) {
        task->targets = task_keep(task, json_pack("[o]", test));
        return task->targets ? 0 : -ENOMEM;
    }
    task->test = task_keep(task, test);
    return task->test ? 0 : -ENOMEM;
}

const struct data_format data_format_evalplus = {
    .name = "evalplus",
    .title = "EvalPlus",
    .what = "base_input and plus_input, compared with what canonical_solution returns, by the "
            "isolated judge",
    .source = "evalplus/evalplus, evalplus/eval/__init__.py and evalplus/data/mbpp.py",
    .differs =
        "the time limit is the usual one, and is raised by what the reference takes; memory is "
        "the daemon's (1 GiB), where it gives 4 GiB (--memory 4G); completions, solutions and "
        "what code prints are taken as for HumanEval",
    .samples = "task_id and solution (a whole program), completion (continues the prompt) or "
               "generation (free text)",
    .uses = (const char *const[]){"prompt", "entry_point", "canonical_solution", "atol", NULL},
    .texts = (const char *const[]){"base_input", "plus_input", NULL},
    .skips = (const char *const[]){"test", "assertion", NULL},
    .recognise = evalplus_is_raw,
    .take = take,
};
