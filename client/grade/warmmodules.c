/* SPDX-License-Identifier: MIT */
#include "warmmodules.h"
#include "pylex.h"

#include "proto/json.h"
#include "proto/util.h"

#include <stdint.h>
#include <string.h>

/* Others are loaded in less time than a job takes. */
static const char *const slow[] = {"matplotlib", "networkx", "numpy", "pandas",
                                   "scipy",      "sklearn",  "sympy"};

/* Returns the bit of the module that TOKEN names; 0: none of those. */
static uint32_t bit_of(const struct pylex_token *token)
{
    for (size_t i = 0; i < ARRAY_SIZE(slow); i++)
        if (token->kind == PYLEX_NAME && strlen(slow[i]) == token->n &&
            memcmp(slow[i], token->text, token->n) == 0)
            return UINT32_C(1) << i;
    return 0;
}

static bool ends_statement(const struct pylex_token *token)
{
    return token->kind == PYLEX_NEWLINE || token->kind == PYLEX_END ||
           (token->depth == 0 && pylex_is(token, ";"));
}

/* Reads the rest of a statement that begins with FIRST, up to what ends it. Returns the bits of
 * what it imports. */
static uint32_t read_statement(struct pylex *lex, struct pylex_token *token)
{
    uint32_t bits = 0;
    bool imports = token->indent == 0 && pylex_is(token, "import");
    bool is_from = token->indent == 0 && pylex_is(token, "from");
    bool names = imports || is_from; /* the next name is that of a module */
    while (!ends_statement(token)) {
        *token = pylex_next(lex);
        if (names)
            bits |= bit_of(token);
        names = imports && pylex_is(token, ",");
    }
    return bits;
}

/* Returns the bits of the modules that TEXT, a string or NULL, imports at its top level. */
static uint32_t imported_by(const json_t *text)
{
    struct pylex lex;
    uint32_t bits = 0;
    if (!json_is_string(text))
        return 0;
    pylex_init(&lex, json_string_value(text), json_string_length(text));
    struct pylex_token token = pylex_next(&lex);
    for (; token.kind != PYLEX_END; token = pylex_next(&lex))
        bits |= read_statement(&lex, &token);
    return bits;
}

static uint32_t imported_by_task(const struct task *task)
{
    uint32_t bits =
        imported_by(task->prompt) | imported_by(task->test) | imported_by(task->test_setup);
    for (size_t i = 0; i < json_array_size(task->targets); i++)
        bits |= imported_by(json_array_get(task->targets, i));
    return bits;
}

json_t *warmmodules_find(const struct dataset *dataset)
{
    uint32_t bits = UINT32_MAX;
    size_t tasks = 0;
    for (size_t i = 0; i < dataset->n && bits != 0; i++)
        if (!task_is_program(&dataset->tasks[i])) {
            bits &= imported_by_task(&dataset->tasks[i]);
            tasks++;
        }
    _cleanup_json_ json_t *names = tasks > 0 && bits != 0 ? json_array() : NULL;
    for (size_t i = 0; names && i < ARRAY_SIZE(slow); i++)
        if (bits & UINT32_C(1) << i && json_array_append_new(names, json_string(slow[i])) < 0)
            return NULL;
    return TAKE_PTR(names);
}
