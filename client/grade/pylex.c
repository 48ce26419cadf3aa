/* SPDX-License-Identifier: MIT */
#include "pylex.h"

#include "proto/python.h"
#include "proto/util.h"

#include <string.h>

/* Columns between two stops of a tab. */
#define TAB 8
/* The longest prefix of a string: "rb". */
#define PREFIX_MAX 2

void pylex_init(struct pylex *lex, const char *text, size_t n)
{
    static const char mark[] = "\xEF\xBB\xBF";
    bool is_marked = n >= strlen(mark) && memcmp(text, mark, strlen(mark)) == 0;
    *lex = (struct pylex){.text = text, .n = n, .at = is_marked ? strlen(mark) : 0};
}

/* Returns the character OFFSET behind the next one; NUL behind the end. */
static char peek(const struct pylex *lex, size_t offset)
{
    return lex->n - lex->at > offset ? lex->text[lex->at + offset] : '\0';
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Takes every byte beyond ASCII for a part of a name. */
static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || is_digit(c) || c == '_' ||
           (unsigned char)c >= 0x80;
}

static bool is_one_of(char c, const char *set)
{
    return c && strchr(set, c);
}

static bool is_newline(char c)
{
    return c == '\n' || c == '\r';
}

/* --- what is between tokens --------------------------------------------------------------- */

static void skip_comment(struct pylex *lex)
{
    while (lex->at < lex->n && !is_newline(peek(lex, 0)))
        lex->at++;
}

/* Skips the end of a line: LF, CR or both. */
static void skip_newline(struct pylex *lex)
{
    lex->at += peek(lex, 0) == '\r' && peek(lex, 1) == '\n' ? 2 : 1;
}

/* Skips blanks, comments, and ends of lines that end no logical line; measures the indent of a
 * logical line that begins. */
static void skip_blanks(struct pylex *lex)
{
    size_t column = 0;
    for (; lex->at < lex->n; lex->at++) {
        char c = peek(lex, 0);
        if (c == '#') {
            skip_comment(lex);
            c = peek(lex, 0);
        }
        if (c == '\\' && is_newline(peek(lex, 1))) {
            lex->at++;
            skip_newline(lex);
            lex->at--;
        } else if (is_newline(c)) {
            if (lex->in_line && lex->depth == 0)
                break;
            skip_newline(lex);
            lex->at--;
            column = 0;
        } else if (c == '\t') {
            column = column / TAB * TAB + TAB;
        } else if (c == '\f') {
            column = 0;
        } else if (c == ' ') {
            column++;
        } else {
            break;
        }
    }
    if (!lex->in_line)
        lex->indent = column;
}

/* --- tokens ------------------------------------------------------------------------------- */

/* Steps behind a string whose first quote is next. One without an end ends with its line, or with
 * the text. */
static void skip_string(struct pylex *lex)
{
    char quote = peek(lex, 0);
    bool is_long = peek(lex, 1) == quote && peek(lex, 2) == quote;
    size_t quotes = is_long ? 3 : 1;
    lex->at += quotes;
    while (lex->at < lex->n) {
        char c = peek(lex, 0);
        if (c == '\\' && lex->n - lex->at > 1) {
            lex->at++;
            skip_newline(lex); /* of whatever is escaped */
            continue;
        }
        if (!is_long && is_newline(c))
            return;
        if (c == quote && (!is_long || (peek(lex, 1) == quote && peek(lex, 2) == quote))) {
            lex->at += quotes;
            return;
        }
        lex->at++;
    }
}

/* Takes a name, a keyword, or a string that begins with a prefix. */
static enum pylex_kind take_word(struct pylex *lex)
{
    const char *text = lex->text + lex->at;
    size_t n = 0;
    bool is_prefix = true, is_formatted = false;
    for (; is_word(peek(lex, n)); n++) {
        is_prefix = is_prefix && is_one_of(text[n], "rRbBuUfF");
        is_formatted |= is_one_of(text[n], "fF");
    }
    lex->at += n;
    if (!is_prefix || n > PREFIX_MAX || !is_one_of(peek(lex, 0), "'\""))
        return python_is_keyword(text, n) ? PYLEX_KEYWORD : PYLEX_NAME;
    skip_string(lex);
    return is_formatted ? PYLEX_FORMATTED : PYLEX_LITERAL;
}

static enum pylex_kind take_number(struct pylex *lex)
{
    while (is_word(peek(lex, 0)) || peek(lex, 0) == '.')
        lex->at++;
    return PYLEX_LITERAL;
}

/* Takes an operator, so that "=" is never a part of another one. */
static enum pylex_kind take_operator(struct pylex *lex)
{
    char c = peek(lex, 0);
    if (is_one_of(c, "([{"))
        lex->depth++;
    lex->at++;
    if (is_one_of(c, "*/<>") && peek(lex, 0) == c)
        lex->at++;
    if ((is_one_of(c, "+-*/%&|^@<>=!:") && peek(lex, 0) == '=') ||
        (c == '-' && peek(lex, 0) == '>'))
        lex->at++;
    return PYLEX_OPERATOR;
}

static enum pylex_kind take(struct pylex *lex)
{
    char c = peek(lex, 0);
    if (is_newline(c)) {
        skip_newline(lex);
        return PYLEX_NEWLINE;
    }
    if (is_digit(c) || (c == '.' && is_digit(peek(lex, 1))))
        return take_number(lex);
    if (is_word(c))
        return take_word(lex);
    if (is_one_of(c, "'\"")) {
        skip_string(lex);
        return PYLEX_LITERAL;
    }
    return take_operator(lex);
}

struct pylex_token pylex_next(struct pylex *lex)
{
    skip_blanks(lex);
    if (lex->at >= lex->n)
        return (struct pylex_token){.kind = PYLEX_END, .text = lex->text + lex->n};
    if (is_one_of(peek(lex, 0), ")]}") && lex->depth > 0)
        lex->depth--;
    struct pylex_token token = {
        .text = lex->text + lex->at,
        .indent = lex->indent,
        .depth = lex->depth,
    };
    token.kind = take(lex);
    token.n = (size_t)(lex->text + lex->at - token.text);
    lex->in_line = token.kind != PYLEX_NEWLINE;
    return token;
}

bool pylex_is(const struct pylex_token *token, const char *text)
{
    return (token->kind == PYLEX_OPERATOR || token->kind == PYLEX_KEYWORD) &&
           token->n == strlen(text) && memcmp(token->text, text, token->n) == 0;
}
