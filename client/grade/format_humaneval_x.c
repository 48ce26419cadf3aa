/* SPDX-License-Identifier: MIT */
/* HumanEval-X (CodeGeeX): HumanEval in five languages, and Rust. */
#include "formats.h"
#include "hxprogram.h"

static bool recognise(const json_t *record)
{
    const char *id = json_string_value(json_object_get(record, "task_id"));
    return id && hx_language(id) && task_member(record, "test") &&
           task_member(record, "declaration");
}

static int take(struct task *task, const struct task_source *source, struct fault *fault)
{
    return hx_take(task, source->language, fault);
}

const struct data_format data_format_humaneval_x = {
    .name = "humaneval-x",
    .title = "HumanEval-X",
    .what =
        "one run of the code with its tests behind it, by exit status (JavaScript: and silent); "
        "Python by the isolated judge",
    .source = "THUDM/CodeGeeX, codegeex/benchmark/evaluate_humaneval_x.py and execution.py",
    .differs = "10 s for a run, where it gives 500 s; Go and Rust call their tests from main(), "
               "without go test, testify and cargo; MD5 needs no library, nor rand in Rust; "
               "without regex its code does not compile",
    .samples = "task_id and generation (with or without the declaration), completion (continues "
               "the prompt) or solution (all of it)",
    .uses = (const char *const[]){"prompt", "declaration", "canonical_solution", "test",
                                  "test_setup", NULL},
    .skips = (const char *const[]){"example_test", NULL},
    .recognise = recognise,
    .take = take,
    .join = hx_join,
};
