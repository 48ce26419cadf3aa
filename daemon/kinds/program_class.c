/* SPDX-License-Identifier: MIT */
#include "program_class.h"

#include "proto/util.h"

#include <stdbool.h>
#include <string.h>

/* A longer name cannot be that of a file. */
#define NAME_MAX_BYTES 200

#define CLASS_DEFAULT "Main"

struct span {
    const char *at; /* NULL: none */
    size_t length;
};

struct reader {
    const char *text;
    size_t n, at;
};

struct found {
    struct span package, public_class, main_class, first_class;
};

/* --- tokens ------------------------------------------------------------------------------- */

static bool is_name_byte(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '$' || (unsigned char)c >= 0x80;
}

static bool looks_at(const struct reader *reader, const char *word)
{
    size_t length = strlen(word);
    return reader->n - reader->at >= length && memcmp(reader->text + reader->at, word, length) == 0;
}

/* Moves behind the next END, in which a backslash escapes what follows it if ESCAPES. */
static void skip_past(struct reader *reader, const char *end, bool escapes)
{
    while (reader->at < reader->n && !looks_at(reader, end))
        reader->at += escapes && reader->text[reader->at] == '\\' ? 2 : 1;
    reader->at = MIN(reader->at + strlen(end), reader->n);
}

/* Moves beyond a comment or a literal. Returns false if there is none. */
static bool skip_opaque(struct reader *reader)
{
    static const struct {
        const char *begin, *end;
        bool escapes;
    } opaque[] = {
        {"//", "\n", false}, {"/*", "*/", false}, {"\"\"\"", "\"\"\"", true},
        {"\"", "\"", true},  {"'", "'", true},
    };
    for (size_t i = 0; i < ARRAY_SIZE(opaque); i++) {
        if (looks_at(reader, opaque[i].begin)) {
            reader->at += strlen(opaque[i].begin);
            skip_past(reader, opaque[i].end, opaque[i].escapes);
            return true;
        }
    }
    return false;
}

/* Reads the next name or the next other character that is not white space. False at the end. */
static bool next_token(struct reader *reader, struct span *ret)
{
    while (reader->at < reader->n &&
           (strchr(" \t\r\n\f", reader->text[reader->at]) || skip_opaque(reader)))
        if (reader->at < reader->n && strchr(" \t\r\n\f", reader->text[reader->at]))
            reader->at++;
    if (reader->at >= reader->n)
        return false;
    size_t from = reader->at++;
    if (is_name_byte(reader->text[from]))
        while (reader->at < reader->n && is_name_byte(reader->text[reader->at]))
            reader->at++;
    *ret = (struct span){reader->text + from, reader->at - from};
    return true;
}

static bool is(const struct span *token, const char *word)
{
    return token->length == strlen(word) && memcmp(token->at, word, token->length) == 0;
}

/* --- declarations ------------------------------------------------------------------------- */

static bool begins_type(const struct span *token)
{
    return is(token, "class") || is(token, "interface") || is(token, "enum") || is(token, "record");
}

/* Reads the name of a package, up to its semicolon. */
static void read_package(struct reader *reader, struct found *found)
{
    struct span token, first = {NULL, 0};
    while (next_token(reader, &token) && !is(&token, ";")) {
        if (!first.at)
            first = token;
        found->package = (struct span){first.at, (size_t)(token.at + token.length - first.at)};
    }
}

static void note_class(const struct span *name, bool is_public, struct found *found)
{
    if (!is_name_byte(*name->at) || name->length > NAME_MAX_BYTES)
        return;
    if (!found->first_class.at)
        found->first_class = *name;
    if (is_public && !found->public_class.at)
        found->public_class = *name;
}

static void read_all(struct reader *reader, struct found *found)
{
    struct span token, class = {NULL, 0}, before = {"", 0};
    bool is_public = false;
    size_t depth = 0;
    while (next_token(reader, &token)) {
        if (is(&token, "{"))
            depth++;
        else if (is(&token, "}") && depth > 0)
            depth--;
        else if (depth == 0 && is(&token, "package"))
            read_package(reader, found);
        else if (depth == 0 && is(&token, "public"))
            is_public = true;
        else if (depth == 0 && begins_type(&token) && next_token(reader, &class))
            note_class(&class, is_public, found);
        else if (depth == 1 && is(&token, "(") && is(&before, "main") && class.at &&
                 !found->main_class.at && class.length <= NAME_MAX_BYTES)
            found->main_class = class;
        if (depth == 0 && (is(&token, "}") || is(&token, ";")))
            is_public = false;
        before = token;
    }
}

/* Its parts become directories: none of them is empty. */
static bool is_package(const struct span *name)
{
    if (!name->at || name->length > NAME_MAX_BYTES)
        return false;
    for (size_t i = 0; i < name->length; i++) {
        bool is_dot = name->at[i] == '.';
        bool may_be_dot = i > 0 && i + 1 < name->length && name->at[i - 1] != '.';
        if (is_dot ? !may_be_dot : !is_name_byte(name->at[i]))
            return false;
    }
    return true;
}

int program_class_find(const char *code, size_t n, char **ret_package, char **ret_class)
{
    struct reader reader = {.text = code, .n = n};
    struct found found = {.package = {NULL, 0}};
    read_all(&reader, &found);
    struct span class = {CLASS_DEFAULT, strlen(CLASS_DEFAULT)};
    if (found.public_class.at)
        class = found.public_class;
    else if (found.main_class.at)
        class = found.main_class;
    else if (found.first_class.at)
        class = found.first_class;
    bool has_package = is_package(&found.package);
    _cleanup_free_ char *name = strndup(class.at, class.length);
    char *package = has_package ? strndup(found.package.at, found.package.length) : NULL;
    if (!name || (has_package && !package)) {
        free(package);
        return -ENOMEM;
    }
    *ret_class = TAKE_PTR(name);
    *ret_package = package;
    return 0;
}
