/* SPDX-License-Identifier: MIT */
#include "source.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

/* Reads the text of a program as words and signs, without comments and the content of strings. */
struct scan {
    const char *at, *end;
    char word[SOURCE_CLASS_MAX]; /* the last word; "" if it was too long */
};

/* Bytes of a character literal at most, quotes included: '\uuuu1234'. */
#define CHARACTER_MAX ((size_t)10)

enum token {
    TOKEN_END,
    TOKEN_WORD,
    TOKEN_SIGN, /* scan->at[-1] */
};

static bool begins(const struct scan *scan, const char *text)
{
    size_t n = strlen(text);
    return (size_t)(scan->end - scan->at) >= n && memcmp(scan->at, text, n) == 0;
}

/* Goes behind the next TEXT, or to the end; with ESCAPES not behind one after a backslash. */
static void skip_to(struct scan *scan, const char *text, bool escapes)
{
    while (scan->at < scan->end && !begins(scan, text))
        scan->at += escapes && *scan->at == '\\' && scan->end - scan->at > 1 ? 2 : 1;
    scan->at += MIN((size_t)(scan->end - scan->at), strlen(text));
}

/* Skips 'x' and '\n'. A quote that closes nowhere near is something else, such as a symbol. Looks
 * no further than that: a text of nothing but such quotes must take linear time. */
static void skip_character(struct scan *scan)
{
    size_t most = MIN((size_t)(scan->end - scan->at), CHARACTER_MAX), n = 1;
    while (n < most && scan->at[n] != '\'')
        n += scan->at[n] == '\\' ? 2 : 1;
    scan->at += n < most ? n + 1 : 1;
}

/* Returns whether there was something to skip. */
static bool skip(struct scan *scan)
{
    if (begins(scan, "//"))
        skip_to(scan, "\n", false);
    else if (begins(scan, "/*"))
        skip_to(scan, "*/", false);
    else if (begins(scan, "\"\"\"")) {
        scan->at += 3;
        skip_to(scan, "\"\"\"", true);
    } else if (*scan->at == '"') {
        scan->at++;
        skip_to(scan, "\"", true);
    } else if (*scan->at == '\'')
        skip_character(scan);
    else if (isspace((unsigned char)*scan->at))
        scan->at++;
    else
        return false;
    return true;
}

static bool is_of_word(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '$';
}

static enum token next(struct scan *scan)
{
    while (scan->at < scan->end && skip(scan))
        ;
    if (scan->at == scan->end)
        return TOKEN_END;
    const char *start = scan->at;
    while (scan->at < scan->end && is_of_word(*scan->at))
        scan->at++;
    size_t n = (size_t)(scan->at - start);
    if (n == 0) {
        scan->at++;
        return TOKEN_SIGN;
    }
    (void)snprintf(scan->word, sizeof(scan->word), "%.*s", n < sizeof(scan->word) ? (int)n : 0,
                   start);
    return TOKEN_WORD;
}

static bool is_word(const struct scan *scan, const char *const *words)
{
    for (; *words; words++)
        if (strcmp(scan->word, *words) == 0)
            return true;
    return false;
}

/* What is known of the classes so far; "" for none. */
struct classes {
    char current[SOURCE_CLASS_MAX]; /* the outermost class around the place that is read */
    char public[SOURCE_CLASS_MAX];
    char with_main[SOURCE_CLASS_MAX];
    char app[SOURCE_CLASS_MAX];
    char first[SOURCE_CLASS_MAX];
    bool is_public; /* what is declared next */
    unsigned depth; /* of braces */
};

/* Keeps the first. */
static void keep(char at[SOURCE_CLASS_MAX], const char *name)
{
    if (!*at)
        (void)snprintf(at, SOURCE_CLASS_MAX, "%s", name);
}

static bool is_name(const char *word)
{
    return *word && !isdigit((unsigned char)*word);
}

static void take_outer_word(struct scan *scan, struct classes *classes)
{
    static const char *const kinds[] = {"class", "interface", "enum", "record", "object", NULL};
    if (strcmp(scan->word, "public") == 0) {
        classes->is_public = true;
    } else if (strcmp(scan->word, "extends") == 0) {
        struct scan ahead = *scan;
        if (next(&ahead) == TOKEN_WORD && strcmp(ahead.word, "App") == 0)
            keep(classes->app, classes->current);
    } else if (is_word(scan, kinds)) {
        struct scan ahead = *scan;
        if (next(&ahead) != TOKEN_WORD || !is_name(ahead.word))
            return;
        *scan = ahead;
        (void)snprintf(classes->current, sizeof(classes->current), "%s", scan->word);
        keep(classes->first, scan->word);
        if (classes->is_public)
            keep(classes->public, scan->word);
    }
}

static void take_inner_word(const struct scan *scan, struct classes *classes)
{
    struct scan ahead = *scan;
    if (strcmp(scan->word, "main") == 0 && next(&ahead) == TOKEN_SIGN && ahead.at[-1] == '(')
        keep(classes->with_main, classes->current);
}

static void take_sign(char sign, struct classes *classes)
{
    if (sign == '{')
        classes->depth++;
    else if (sign == '}' && classes->depth > 0)
        classes->depth--;
    if (classes->depth == 0 && (sign == '}' || sign == ';')) {
        classes->current[0] = '\0';
        classes->is_public = false;
    }
}

void source_class(const struct bytes *code, char ret[SOURCE_CLASS_MAX])
{
    struct scan scan = {.at = code->data, .end = code->data + code->length};
    struct classes classes = {.depth = 0};
    enum token token;
    while ((token = next(&scan)) != TOKEN_END) {
        if (token == TOKEN_SIGN)
            take_sign(scan.at[-1], &classes);
        else if (classes.depth == 0)
            take_outer_word(&scan, &classes);
        else
            take_inner_word(&scan, &classes);
    }
    const char *found[] = {classes.public, classes.with_main, classes.app, classes.first,
                           SOURCE_DEFAULT_CLASS};
    size_t i = 0;
    while (!*found[i])
        i++;
    (void)snprintf(ret, SOURCE_CLASS_MAX, "%s", found[i]);
}

int language_source_name(const struct language *language, const struct bytes *code,
                         char **ret_source, char **ret_class)
{
    _cleanup_string_list_ struct string_list one = STRING_LIST_NULL, named = STRING_LIST_NULL;
    char class_name[SOURCE_CLASS_MAX];
    source_class(code, class_name);
    const struct language_values values = {.class_name = class_name};
    int r = string_list_add(&one, language->source);
    if (r == 0)
        r = language_words(language, &one, &values, &named);
    _cleanup_free_ char *copy = r == 0 ? strdup(class_name) : NULL;
    _cleanup_free_ char *source = copy ? strdup(named.item[0]) : NULL;
    if (!source)
        return -ENOMEM;
    *ret_source = TAKE_PTR(source);
    *ret_class = TAKE_PTR(copy);
    return 0;
}
