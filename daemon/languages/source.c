/* SPDX-License-Identifier: MIT */
#include "source.h"

#include "proto/utf8.h"

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

#define BYTE_ORDER_MARK "\xEF\xBB\xBF"

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

/* Takes whatever is no ASCII for a letter: nothing else of that kind stands between words. */
static bool is_of_word(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '$' || (unsigned char)c >= 0x80;
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

/* --- classes ------------------------------------------------------------------------------- */

/* What stood before a word. */
enum before {
    BEFORE_OTHER,
    BEFORE_AT,
    BEFORE_VOID, /* of Java */
    BEFORE_FUN,  /* `fun` of Kotlin, `def` of Scala */
};

/* What is known of the classes so far; "" for none. */
struct classes {
    char package[SOURCE_PACKAGE_MAX];
    char outside[SOURCE_CLASS_MAX]; /* what the program calls the class of its file */
    char current[SOURCE_CLASS_MAX]; /* the outermost class around the place that is read */
    char public[SOURCE_CLASS_MAX];
    char public_main[SOURCE_CLASS_MAX]; /* public, with a main that can be run */
    char main[SOURCE_CLASS_MAX];        /* with such a main */
    char app[SOURCE_CLASS_MAX];
    char maybe_main[SOURCE_CLASS_MAX]; /* with a main that may be none */
    char first[SOURCE_CLASS_MAX];
    bool has_outer_main;
    bool is_public;     /* what is declared next */
    bool is_static;     /* likewise */
    bool is_object;     /* current */
    bool was_public;    /* current */
    bool is_of_file;    /* an annotation is that of the file */
    bool opens_package; /* the next brace is that of a package, and no class's */
    enum before before;
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
    size_t left = strlen(word);
    if (left == 0 || isdigit((unsigned char)*word))
        return false;
    while (left > 0) {
        int n = utf8_sequence(word, left);
        if (n <= 0 || !is_of_word(*word))
            return false;
        word += n;
        left -= (size_t)n;
    }
    return true;
}

/* Takes the next token if it is a name. */
static bool take_name(struct scan *scan)
{
    struct scan ahead = *scan;
    if (next(&ahead) != TOKEN_WORD || !is_name(ahead.word))
        return false;
    *scan = ahead;
    return true;
}

/* Takes the next token if it is SIGN. */
static bool take_if(struct scan *scan, char sign)
{
    struct scan ahead = *scan;
    if (next(&ahead) != TOKEN_SIGN || ahead.at[-1] != sign)
        return false;
    *scan = ahead;
    return true;
}

/* `package a.b`. Of several, as Scala has them, each lies in the one before. Leaves out
 * what is too long: such a program does not run. */
static void take_package(struct scan *scan, struct classes *classes)
{
    struct scan ahead = *scan;
    if (next(&ahead) == TOKEN_WORD && strcmp(ahead.word, "object") == 0)
        return;
    do {
        size_t n = strlen(classes->package);
        if (!take_name(scan))
            return;
        if (n + strlen(scan->word) + 2 <= sizeof(classes->package))
            (void)snprintf(classes->package + n, sizeof(classes->package) - n, "%s%s",
                           n > 0 ? "." : "", scan->word);
    } while (take_if(scan, '.'));
    classes->opens_package = true;
}

/* `JvmName("X")`. The name is in a string, which is no token. */
static void take_file_name(const struct scan *scan, struct classes *classes)
{
    struct scan ahead = *scan;
    char name[SOURCE_CLASS_MAX] = "";
    if (!take_if(&ahead, '('))
        return;
    while (ahead.at < ahead.end && isspace((unsigned char)*ahead.at))
        ahead.at++;
    if (ahead.at == ahead.end || *ahead.at != '"')
        return;
    const char *start = ++ahead.at;
    while (ahead.at < ahead.end && is_of_word(*ahead.at))
        ahead.at++;
    size_t n = (size_t)(ahead.at - start);
    if (ahead.at == ahead.end || *ahead.at != '"' || n >= sizeof(name))
        return;
    (void)snprintf(name, sizeof(name), "%.*s", (int)n, start);
    if (is_name(name))
        keep(classes->outside, name);
}

static void take_class(struct scan *scan, struct classes *classes)
{
    bool is_object = strcmp(scan->word, "object") == 0;
    if (!take_name(scan))
        return;
    classes->is_object = is_object;
    classes->was_public = classes->is_public;
    classes->is_of_file = false;
    (void)snprintf(classes->current, sizeof(classes->current), "%s", scan->word);
    keep(classes->first, scan->word);
    if (classes->is_public)
        keep(classes->public, scan->word);
}

static void take_outer_word(struct scan *scan, struct classes *classes)
{
    static const char *const kinds[] = {"class", "interface", "enum", "record", "object", NULL};
    static const char *const parents[] = {"extends", "with", NULL};
    classes->opens_package = false;
    if (strcmp(scan->word, "public") == 0) {
        classes->is_public = true;
    } else if (strcmp(scan->word, "package") == 0) {
        take_package(scan, classes);
    } else if (strcmp(scan->word, "file") == 0 && classes->before == BEFORE_AT) {
        classes->is_of_file = true;
    } else if (strcmp(scan->word, "JvmName") == 0 && classes->is_of_file) {
        take_file_name(scan, classes);
    } else if (is_word(scan, parents)) {
        struct scan ahead = *scan;
        if (next(&ahead) == TOKEN_WORD && strcmp(ahead.word, "App") == 0)
            keep(classes->app, classes->current);
    } else if (is_word(scan, kinds)) {
        take_class(scan, classes);
    } else if (strcmp(scan->word, "main") == 0 && classes->before >= BEFORE_VOID) {
        struct scan ahead = *scan;
        classes->has_outer_main |= take_if(&ahead, '(');
    }
}

/* Whether parameters that begin with the next token may be those of the `main` that Java runs. */
static bool takes_strings(struct scan ahead)
{
    enum token token;
    do
        token = next(&ahead);
    while (token == TOKEN_WORD && strcmp(ahead.word, "final") == 0);
    if (token == TOKEN_WORD && strcmp(ahead.word, "java") == 0 && take_if(&ahead, '.') &&
        take_name(&ahead) && take_if(&ahead, '.'))
        token = next(&ahead);
    return token == TOKEN_WORD && strcmp(ahead.word, "String") == 0;
}

static void take_inner_word(const struct scan *scan, struct classes *classes)
{
    static const char *const statics[] = {"static", "JvmStatic", NULL};
    struct scan ahead = *scan;
    if (is_word(scan, statics))
        classes->is_static = true;
    if (strcmp(scan->word, "main") != 0 || classes->before < BEFORE_VOID || !take_if(&ahead, '('))
        return;
    bool is_java = classes->before == BEFORE_VOID;
    if (is_java ? classes->is_static && classes->depth == 1 && takes_strings(ahead)
                : classes->is_static || (classes->is_object && classes->depth == 1))
        keep(classes->was_public ? classes->public_main : classes->main, classes->current);
    else
        keep(classes->maybe_main, classes->current);
}

static void take_sign(char sign, struct classes *classes)
{
    if (sign == '{' && classes->opens_package)
        classes->opens_package = false;
    else if (sign == '{')
        classes->depth++;
    else if (sign == '}' && classes->depth > 0)
        classes->depth--;
    if (strchr(";{}=", sign))
        classes->is_static = false;
    if (sign == '@')
        classes->is_of_file = false;
    if (classes->depth == 0 && (sign == '}' || sign == ';')) {
        classes->current[0] = '\0';
        classes->is_public = classes->is_object = classes->was_public = false;
        classes->opens_package = false;
    }
}

static enum before before_next(const struct scan *scan, enum token token)
{
    static const char *const functions[] = {"fun", "def", NULL};
    if (token == TOKEN_SIGN)
        return scan->at[-1] == '@' ? BEFORE_AT : BEFORE_OTHER;
    return strcmp(scan->word, "void") == 0 ? BEFORE_VOID
           : is_word(scan, functions)      ? BEFORE_FUN
                                           : BEFORE_OTHER;
}

static void read_classes(const struct bytes *code, struct classes *classes)
{
    struct scan scan = {.at = code->data, .end = code->data + code->length};
    enum token token;
    if (begins(&scan, BYTE_ORDER_MARK))
        scan.at += strlen(BYTE_ORDER_MARK);
    while ((token = next(&scan)) != TOKEN_END) {
        if (token == TOKEN_SIGN)
            take_sign(scan.at[-1], classes);
        else if (classes->depth == 0)
            take_outer_word(&scan, classes);
        else
            take_inner_word(&scan, classes);
        classes->before = before_next(&scan, token);
    }
}

/* Returns the first that is not empty; the last is not. */
static const char *first_of(const char *const *names)
{
    while (!**names)
        names++;
    return *names;
}

void source_read(const struct bytes *code, const char *file_class, struct source_names *ret)
{
    struct classes of = {.depth = 0};
    read_classes(code, &of);
    bool is_outer = of.has_outer_main || *file_class;
    const char *outside = *of.outside   ? of.outside
                          : *file_class ? file_class
                                        : SOURCE_DEFAULT_CLASS;
    const char *const sure[] = {of.public_main, of.main, outside};
    const char *const any[] = {of.public_main, of.main,  of.app, of.maybe_main,
                               of.public,      of.first, outside};
    const char *run = of.has_outer_main ? outside : first_of(is_outer ? sure : any);
    (void)snprintf(ret->file, sizeof(ret->file), "%s", *of.public ? of.public : run);
    (void)snprintf(ret->run, sizeof(ret->run), "%s%s%s", of.package, *of.package ? "." : "", run);
}

int language_source_name(const struct language *language, const struct bytes *code,
                         char **ret_source, char **ret_class)
{
    _cleanup_string_list_ struct string_list one = STRING_LIST_NULL, named = STRING_LIST_NULL;
    struct source_names names;
    source_read(code, language->file_class, &names);
    const struct language_values values = {.class_name = names.file};
    int r = string_list_add(&one, language->source);
    if (r == 0)
        r = language_words(language, &one, &values, &named);
    _cleanup_free_ char *run = r == 0 ? strdup(names.run) : NULL;
    _cleanup_free_ char *source = run ? strdup(named.item[0]) : NULL;
    if (!source)
        return -ENOMEM;
    *ret_source = TAKE_PTR(source);
    *ret_class = TAKE_PTR(run);
    return 0;
}
