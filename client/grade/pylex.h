/* SPDX-License-Identifier: MIT */
#pragma once
/* Splits a Python program into tokens, as far as finding names needs that: strings, comments and
 * continued lines hide no name and make none. Never fails: a text that is not Python gives tokens,
 * too. Pure. */

#include <stdbool.h>
#include <stddef.h>

enum pylex_kind {
    PYLEX_NAME,
    PYLEX_KEYWORD,
    PYLEX_LITERAL,   /* a number or a string */
    PYLEX_FORMATTED, /* a string with fields in it */
    PYLEX_OPERATOR,
    PYLEX_NEWLINE, /* the end of a logical line */
    PYLEX_END,
};

struct pylex_token {
    enum pylex_kind kind;
    const char *text; /* borrowed from the program */
    size_t n;
    size_t indent; /* columns before the first token of its logical line */
    size_t depth;  /* brackets around it */
};

struct pylex {
    const char *text; /* borrowed */
    size_t n;
    size_t at;
    size_t depth;
    size_t indent;
    bool in_line; /* the logical line has a token already */
};

void pylex_init(struct pylex *lex, const char *text, size_t n);

/* Returns the next token; PYLEX_END again and again behind the last. */
struct pylex_token pylex_next(struct pylex *lex);

/* Whether TOKEN is the operator or the keyword TEXT. */
bool pylex_is(const struct pylex_token *token, const char *text);
