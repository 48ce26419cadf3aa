/* SPDX-License-Identifier: MIT */
#include "names.h"
#include "pylex.h"

#include "proto/jobspec.h"
#include "proto/util.h"

#include <assert.h>
#include <string.h>

/* Within more brackets than this, no name is a target of an assignment. */
#define GROUPS_MAX 64

/* --- what a program defines --------------------------------------------------------------- */

/* Reads the statements of a module. */
struct definitions {
    struct pylex lex;
    struct pylex_token token;  /* the next one */
    struct pylex_token before; /* the one before it */
    const char *own;           /* names that the program binds before this place are left out */
    json_t *names;             /* array */
    json_t *seen;              /* object of the names that are in `names` or left out */
    bool failed;               /* memory ran out */
};

/* A part of an assignment that may be its target: what is before a "=". */
struct target {
    json_t *names; /* array */
    bool is_one;   /* it may be, so far */
    bool has_type; /* an annotation has begun */
    /* Whether each bracket groups targets, `(a, b) = 1, 2`, rather than trails: `a[b] = 1`. */
    bool groups[GROUPS_MAX];
};

static void step(struct definitions *of)
{
    of->before = of->token;
    of->token = pylex_next(&of->lex);
}

static bool at(const struct definitions *of, const char *text)
{
    return pylex_is(&of->token, text);
}

static bool at_line_end(const struct definitions *of)
{
    return of->token.kind == PYLEX_NEWLINE || of->token.kind == PYLEX_END;
}

static bool at_statement_end(const struct definitions *of)
{
    return at_line_end(of) || (of->token.depth == 0 && at(of, ";"));
}

static void skip_line(struct definitions *of)
{
    while (!at_line_end(of))
        step(of);
}

static void skip_statement(struct definitions *of)
{
    while (!at_statement_end(of))
        step(of);
}

/* Goes behind the colon of `if`, `for` and the like; what follows is a statement of the module. */
static void skip_head(struct definitions *of)
{
    bool in_lambda = false;
    for (; !at_line_end(of); step(of)) {
        if (at(of, "lambda")) {
            in_lambda = true;
        } else if (of->token.depth == 0 && at(of, ":")) {
            if (!in_lambda) {
                step(of);
                return;
            }
            in_lambda = false;
        }
    }
}

/* Adds the name in N bytes of TEXT, which a statement at PLACE binds. */
static void define(struct definitions *of, const char *text, size_t n, const char *place)
{
    if (json_object_getn(of->seen, text, n) || n > CODE_EXEC_ENTRY_POINT_MAX)
        return;
    if (json_object_setn_new(of->seen, text, n, json_true()) < 0 ||
        (place >= of->own && json_array_append_new(of->names, json_stringn(text, n)) < 0))
        of->failed = true;
}

static bool is_operand(const struct pylex_token *token)
{
    return token->kind == PYLEX_NAME || token->kind == PYLEX_LITERAL ||
           token->kind == PYLEX_FORMATTED || pylex_is(token, ")") || pylex_is(token, "]");
}

/* Whether all brackets around the token group targets. */
static bool is_grouped(const struct definitions *of, const struct target *target)
{
    for (size_t i = 0; i < of->token.depth; i++)
        if (i >= GROUPS_MAX || !target->groups[i])
            return false;
    return true;
}

/* Takes a name or an operator of what may be a target. FIRST: nothing of it came before. */
static void look_at(struct definitions *of, struct target *target, bool first)
{
    bool follows = !first && is_operand(&of->before);
    struct pylex_token token = of->token;
    if (target->has_type || !is_grouped(of, target))
        return;
    if (token.depth < GROUPS_MAX && (at(of, "(") || at(of, "["))) {
        target->groups[token.depth] = !follows;
    } else if (token.kind == PYLEX_NAME) {
        bool is_attribute = !first && pylex_is(&of->before, ".");
        struct pylex ahead = of->lex;
        struct pylex_token next = pylex_next(&ahead);
        bool is_head = pylex_is(&next, ".") || pylex_is(&next, "(") || pylex_is(&next, "[");
        target->is_one = target->is_one && !follows;
        if (!is_attribute && !is_head &&
            json_array_append_new(target->names, json_stringn(token.text, token.n)) < 0)
            of->failed = true;
    } else if (!at(of, ",") && !at(of, "*") && !at(of, ".") && !at(of, ")") && !at(of, "]")) {
        target->is_one = false;
    }
}

/* Defines the names of TARGET, and empties it. PLACE is where it begins. */
static void bind(struct definitions *of, struct target *target, const char *place)
{
    for (size_t i = 0; target->is_one && i < json_array_size(target->names); i++) {
        const json_t *name = json_array_get(target->names, i);
        define(of, json_string_value(name), json_string_length(name), place);
    }
    (void)json_array_clear(target->names);
    target->is_one = true;
    target->has_type = false;
}

/* Reads an assignment, or an expression, which defines nothing. */
static void read_assignment(struct definitions *of)
{
    _cleanup_json_ json_t *names = json_array();
    struct target target = {.names = names, .is_one = true};
    const char *place = of->token.text;
    bool first = true;
    if (!names)
        of->failed = true;
    for (; !at_statement_end(of) && !of->failed; step(of)) {
        bool is_outside = of->token.depth == 0;
        if (is_outside && at(of, "lambda")) {
            skip_statement(of); /* its parameters look like targets */
            return;
        }
        if (is_outside && at(of, "=")) {
            bind(of, &target, place);
            first = true;
            continue;
        }
        if (is_outside && at(of, ":") && !target.has_type) {
            if (!target.is_one) { /* `match x:` and the like */
                step(of);
                return;
            }
            target.has_type = true;
        }
        if (target.is_one)
            look_at(of, &target, first);
        first = false;
    }
}

/* Whether the next token begins a statement with statements of the same level in it. */
static bool at_block(const struct definitions *of)
{
    static const char *const words[] = {
        "if", "elif", "else", "for", "while", "try", "except", "finally", "with",
    };
    for (size_t i = 0; i < ARRAY_SIZE(words); i++)
        if (at(of, words[i]))
            return true;
    return false;
}

static void read_definition(struct definitions *of)
{
    step(of);
    if (of->token.kind == PYLEX_NAME)
        define(of, of->token.text, of->token.n, of->token.text);
    skip_line(of);
}

static void read_module(struct definitions *of)
{
    size_t body = SIZE_MAX; /* lines beyond this column are in the body of a definition */
    step(of);
    while (of->token.kind != PYLEX_END && !of->failed) {
        if (at_statement_end(of) || at(of, "async")) {
            step(of);
            continue;
        }
        if (of->token.indent > body) {
            skip_line(of);
            continue;
        }
        body = SIZE_MAX;
        if (at(of, "def") || at(of, "class")) {
            body = of->token.indent;
            read_definition(of);
        } else if (at_block(of)) {
            skip_head(of);
        } else if (of->token.kind == PYLEX_KEYWORD || at(of, "@")) {
            skip_statement(of);
        } else {
            read_assignment(of);
        }
    }
}

/* Sets *RET to the names that the solution defines and the prompt before it does not. */
static int find_defined(const struct names_texts *texts, json_t **ret)
{
    size_t before = json_string_length(texts->prompt), n = json_string_length(texts->solution);
    _cleanup_free_ char *program = malloc(before + n + 1);
    _cleanup_json_ json_t *names = json_array();
    _cleanup_json_ json_t *seen = json_object();
    if (!program || !names || !seen)
        return -ENOMEM;
    if (before > 0)
        memcpy(program, json_string_value(texts->prompt), before);
    memcpy(program + before, json_string_value(texts->solution), n);
    struct definitions of = {.own = program + before, .names = names, .seen = seen};
    pylex_init(&of.lex, program, before + n);
    read_module(&of);
    if (of.failed)
        return -ENOMEM;
    *ret = TAKE_PTR(names);
    return 0;
}

/* --- what the tests mention --------------------------------------------------------------- */

/* Sets the name in TEXT (N bytes) in the object WANTED, if it is there: to true if the tests look
 * it up, to null for good if they define it themselves. */
static void mark_name(const char *text, size_t n, bool is_theirs, json_t *wanted)
{
    const json_t *known = json_object_getn(wanted, text, n);
    if (known && !json_is_null(known))
        (void)json_object_setn_new(wanted, text, n, is_theirs ? json_null() : json_true());
}

/* Marks what the fields of a formatted string mention. Takes what else is between braces for
 * names, too: a name too many does no harm. */
static void mark_fields(const struct pylex_token *token, json_t *wanted)
{
    const char *end = token->text + token->n;
    for (const char *from = token->text; from && from < end;) {
        from = memchr(from, '{', (size_t)(end - from));
        const char *to = from ? memchr(from, '}', (size_t)(end - from)) : NULL;
        if (!to)
            return;
        struct pylex lex;
        pylex_init(&lex, from + 1, (size_t)(to - from - 1));
        struct pylex_token inner = pylex_next(&lex);
        for (; inner.kind != PYLEX_END; inner = pylex_next(&lex))
            if (inner.kind == PYLEX_NAME)
                mark_name(inner.text, inner.n, false, wanted);
        from = to + 1;
    }
}

/* Marks the names that the program of N bytes in TEXT looks up or assigns. */
static void mark(const char *text, size_t n, json_t *wanted)
{
    struct pylex lex;
    pylex_init(&lex, text, n);
    struct pylex_token before = {.kind = PYLEX_NEWLINE}, token = pylex_next(&lex), next;
    bool in_import = false;
    for (; token.kind != PYLEX_END; before = token, token = next) {
        next = pylex_next(&lex);
        bool begins = before.kind == PYLEX_NEWLINE || pylex_is(&before, ";") ||
                      (token.depth == 0 && pylex_is(&before, ":"));
        if (begins)
            in_import = pylex_is(&token, "import") || pylex_is(&token, "from");
        if (token.kind == PYLEX_FORMATTED)
            mark_fields(&token, wanted);
        bool is_argument = token.depth > 0 && pylex_is(&next, "=") &&
                           (pylex_is(&before, "(") || pylex_is(&before, ","));
        bool is_theirs = in_import || pylex_is(&before, "def") || pylex_is(&before, "class");
        if (token.kind == PYLEX_NAME && !is_argument && !pylex_is(&before, "."))
            mark_name(token.text, token.n, is_theirs, wanted);
    }
}

static void mark_text(const json_t *text, json_t *wanted)
{
    if (json_string_length(text) > 0)
        mark(json_string_value(text), json_string_length(text), wanted);
}

/* Makes an object of the NAMES, each of them false. */
static json_t *unmarked(const json_t *names)
{
    json_t *object = json_object();
    for (size_t i = 0; object && i < json_array_size(names); i++) {
        const json_t *name = json_array_get(names, i);
        if (json_object_setn_new(object, json_string_value(name), json_string_length(name),
                                 json_false()) < 0)
            return json_decref(object), NULL;
    }
    return object;
}

int names_find(const struct names_texts *texts, json_t **ret)
{
    _cleanup_json_ json_t *defined = NULL;
    int r = texts->solution ? find_defined(texts, &defined) : 0;
    if (r < 0)
        return r;
    _cleanup_json_ json_t *wanted = unmarked(defined);
    _cleanup_json_ json_t *names = json_array();
    if (!wanted || !names)
        return -ENOMEM;
    const char *entry_point = json_string_value(texts->entry_point);
    mark_text(texts->test, wanted);
    mark_text(texts->setup, wanted);
    for (size_t i = 0; i < json_array_size(texts->targets); i++)
        mark_text(json_array_get(texts->targets, i), wanted);
    for (size_t i = 0; i < json_array_size(defined); i++) {
        json_t *name = json_array_get(defined, i);
        const char *text = json_string_value(name);
        if (!json_is_true(json_object_get(wanted, text)) ||
            (entry_point && strcmp(text, entry_point) == 0) ||
            json_array_size(names) == CODE_EXEC_NAMES_MAX)
            continue;
        if (json_array_append(names, name) < 0)
            return -ENOMEM;
    }
    *ret = json_array_size(names) > 0 ? TAKE_PTR(names) : NULL;
    return 0;
}
