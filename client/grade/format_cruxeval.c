/* SPDX-License-Identifier: MIT */
/* CRUXEval: what a function returns for an input (CRUXEval-O), or an input for which it returns a
 * value (CRUXEval-I). The answer is an expression, which is evaluated as a function of the code
 * under test, so that it sees neither the function nor what is right. */
#include "formats.h"
#include "textbuf.h"

#include <string.h>

static bool recognise(const json_t *record)
{
    return json_is_string(task_member(record, "code")) &&
           json_is_string(task_member(record, "input")) &&
           json_is_string(task_member(record, "output")) && !task_member(record, "test_list");
}

/* Chosen by --format alone: a record does not say which of both is meant. */
static bool recognise_nothing(_unused_ const json_t *record)
{
    return false;
}

static int take_parts(const struct task *task, const json_t *parts[3], struct fault *fault)
{
    static const char *const names[] = {"code", "input", "output"};
    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        int r = task_take_string(task->object, names[i], &parts[i], fault);
        if (r < 0)
            return r;
    }
    return 0;
}

/* Keeps the text that PRINTED has, as *RET. */
static int keep(struct task *task, struct textbuf *printed, const json_t **ret)
{
    json_t *text = NULL;
    int r = textbuf_finish(printed, &text);
    *ret = r == 0 ? task_keep(task, text) : NULL;
    return *ret ? 0 : -ENOMEM;
}

static int take_output(struct task *task, _unused_ const struct task_source *source,
                       struct fault *fault)
{
    const json_t *parts[3], *assertion = NULL;
    _cleanup_textbuf_ struct textbuf text = TEXTBUF_NULL;
    int r = take_parts(task, parts, fault);
    if (r == 0)
        r = textbuf_open(&text);
    if (r < 0)
        return r;
    (void)fprintf(text.out, "assert answer() == (%s\n)", json_string_value(parts[2]));
    r = keep(task, &text, &assertion);
    if (r == 0)
        task->targets = task_keep(task, json_pack("[O]", assertion));
    task->entry_point = task_keep(task, json_string("answer"));
    task->solution = parts[2];
    task->solution_form = SAMPLE_SOLUTION;
    task->has_no_names = task->is_joined = true;
    return task->targets && task->entry_point ? r : -ENOMEM;
}

static int take_input(struct task *task, _unused_ const struct task_source *source,
                      struct fault *fault)
{
    const json_t *parts[3];
    _cleanup_textbuf_ struct textbuf text = TEXTBUF_NULL, solution = TEXTBUF_NULL;
    int r = take_parts(task, parts, fault);
    if (r == 0)
        r = textbuf_open(&text);
    if (r == 0)
        r = textbuf_open(&solution);
    if (r < 0)
        return r;
    (void)fprintf(text.out,
                  "%s\n\n\ndef check(candidate):\n    args, kwargs = candidate()\n"
                  "    assert f(*args, **kwargs) == (%s\n    )\n",
                  json_string_value(parts[0]), json_string_value(parts[2]));
    (void)fprintf(solution.out, "f(%s)", json_string_value(parts[1]));
    r = keep(task, &text, &task->test);
    if (r == 0)
        r = keep(task, &solution, &task->solution);
    task->entry_point = task_keep(task, json_string("answer"));
    task->solution_form = SAMPLE_SOLUTION;
    task->has_no_names = task->is_joined = true;
    return task->entry_point ? r : -ENOMEM;
}

/* --- answers ------------------------------------------------------------------------------ */

struct slice {
    const char *text;
    size_t n;
};

/* Cuts SLICE before WORD, or behind it. */
static void cut(struct slice *slice, const char *word, bool behind)
{
    const char *found = memmem(slice->text, slice->n, word, strlen(word));
    if (!found)
        return;
    if (!behind) {
        slice->n = (size_t)(found - slice->text);
        return;
    }
    found += strlen(word);
    slice->n -= (size_t)(found - slice->text);
    slice->text = found;
}

static void trim(struct slice *slice)
{
    for (; slice->n > 0 && strchr(" \t\r\n", slice->text[0]); slice->n--)
        slice->text++;
    while (slice->n > 0 && strchr(" \t\r\n", slice->text[slice->n - 1]))
        slice->n--;
}

/* Finds the expression in an answer as CRUXEval asks for it: an assertion between marks. */
static struct slice find_answer(const json_t *text, bool is_output)
{
    struct slice slice = {json_string_value(text), json_string_length(text)};
    cut(&slice, "[/ANSWER]", false);
    cut(&slice, "# done", false);
    cut(&slice, "[ANSWER]", true);
    cut(&slice, "==", is_output);
    trim(&slice);
    if (!is_output)
        cut(&slice, "assert ", true);
    trim(&slice);
    return slice;
}

/* Makes a function that returns the value of the answer, or the arguments of the call in it. A call
 * of f in place of a value is none, and neither is an input without one. */
static int make_code(enum sample_form form, const json_t *text, bool is_output, json_t **ret)
{
    struct slice answer = {json_string_value(text), json_string_length(text)};
    _cleanup_textbuf_ struct textbuf out = TEXTBUF_NULL;
    int r = textbuf_open(&out);
    if (r < 0)
        return r;
    if (form == SAMPLE_GENERATION)
        answer = find_answer(text, is_output);
    bool is_call = memmem(answer.text, answer.n, "f(", 2) != NULL;
    (void)fputs("def answer():\n", out.out);
    if (!is_output)
        (void)fputs(is_call ? "    def f(*args, **kwargs):\n        return args, kwargs\n"
                            : "    raise ValueError(\"the answer is no call of f\")\n",
                    out.out);
    (void)fputs("    return (", out.out);
    textbuf_add(&out, answer.text, answer.n);
    (void)fputs("\n    )\n", out.out);
    return textbuf_finish(&out, ret);
}

static int join_output(_unused_ const struct task *task, _unused_ const char *language,
                       enum sample_form form, const json_t *text, json_t **ret)
{
    return make_code(form, text, true, ret);
}

static int join_input(_unused_ const struct task *task, _unused_ const char *language,
                      enum sample_form form, const json_t *text, json_t **ret)
{
    return make_code(form, text, false, ret);
}

#define SOURCE "facebookresearch/cruxeval, evaluation/evaluate_generations.py"
#define USES                            \
    (const char *const[])               \
    {                                   \
        "code", "input", "output", NULL \
    }
#define IDS                   \
    (const char *const[])     \
    {                         \
        "task_id", "id", NULL \
    }

const struct data_format data_format_cruxeval_o = {
    .name = "cruxeval-o",
    .title = "CRUXEval-O",
    .what = "the answer is what f(input) returns, by the isolated judge",
    .source = SOURCE,
    .differs =
        "the answer sees neither the function, so a call of it is wrong however it is written, "
        "nor what the record's code imports; a bare `1, 2` is the tuple, where an assertion of it "
        "fails",
    .samples =
        "id and solution (the value) or generation (free text with [ANSWER] assert f(...) == "
        "value [/ANSWER])",
    .ids = IDS,
    .uses = USES,
    .recognise = recognise,
    .take = take_output,
    .join = join_output,
};

const struct data_format data_format_cruxeval_i = {
    .name = "cruxeval-i",
    .title = "CRUXEval-I",
    .what = "f returns output for the input that the answer says, by the isolated judge",
    .source = SOURCE,
    .differs = "only by --format: a record is that of CRUXEval-O as well; the answer does not see "
               "the function",
    .samples = "id and solution (f(...)) or generation (free text with [ANSWER] assert f(...) == "
               "value [/ANSWER])",
    .ids = IDS,
    .uses = USES,
    .recognise = recognise_nothing,
    .take = take_input,
    .join = join_input,
};
