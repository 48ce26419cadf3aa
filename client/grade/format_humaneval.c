/* SPDX-License-Identifier: MIT */
/* HumanEval: the end of a function in Python, and a check() for it. */
#include "formats.h"
#include "pylex.h"

#include "conf/suggest.h"
#include "proto/util.h"

#include <string.h>

#define CHECK "check"

/* Functions of the tests that may be meant by CHECK, at most. */
#define DEFINED_MAX 32

static bool recognise(const json_t *record)
{
    return task_member(record, "test") && task_member(record, "entry_point");
}

static bool mentions(const json_t *text, const char *name)
{
    struct pylex lex;
    struct pylex_token token;
    pylex_init(&lex, json_string_value(text), json_string_length(text));
    do {
        token = pylex_next(&lex);
        if (token.kind == PYLEX_NAME && token.n == strlen(name) &&
            memcmp(token.text, name, token.n) == 0)
            return true;
    } while (token.kind != PYLEX_END);
    return false;
}

/* Says that TEST, a program without CHECK, lacks it, and which function may be meant. */
static int name_lacking(const json_t *test, struct fault *fault)
{
    char names[DEFINED_MAX][SUGGEST_WORD_MAX + 1];
    const char *defined[DEFINED_MAX], *near;
    size_t n = 0;
    struct pylex lex;
    pylex_init(&lex, json_string_value(test), json_string_length(test));
    for (struct pylex_token token = pylex_next(&lex), next; token.kind != PYLEX_END; token = next) {
        next = pylex_next(&lex);
        if (n < DEFINED_MAX && pylex_is(&token, "def") && next.kind == PYLEX_NAME) {
            (void)snprintf(names[n], sizeof(names[n]), "%.*s", (int)next.n, next.text);
            defined[n] = names[n];
            n++;
        }
    }
    near = suggest(CHECK, defined, n);
    return fault_set(fault, "test: it defines no check(candidate), which is to be called%s%s%s",
                     near ? "; found \"" : "", near ? near : "",
                     near ? "\": did you mean check?" : "");
}

static int take(struct task *task, _unused_ const struct task_source *source, struct fault *fault)
{
    int r = task_take_string(task->object, "prompt", &task->prompt, fault);
    if (r == 0)
        r = task_take_string(task->object, "test", &task->test, fault);
    if (r == 0 && !mentions(task->test, CHECK) && !mentions(task->prompt, CHECK))
        r = name_lacking(task->test, fault);
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
        "be in a fence or lack the indentation of its first line, and a solution may be the body "
        "of the function alone: there these are wrong; code that prints more than the limit of "
        "output ends in an error: there what it prints is dropped",
    .samples = "task_id and completion (continues the prompt), solution (a whole program) or "
               "generation (free text)",
    .uses = (const char *const[]){"prompt", "test", "entry_point", "canonical_solution", NULL},
    .recognise = recognise,
    .take = take,
};
