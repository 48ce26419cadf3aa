/* SPDX-License-Identifier: MIT */
#include "salvage.h"

#include "json_parse.h"
#include "utf8.h"
#include "util.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* Deeper messages have no id. Above JSON_DEPTH_MAX, so that one that is nested a little too deep
 * still has. */
#define LEVELS_MAX 512
/* The longest escape, \u0000, has six bytes. */
#define ESCAPE_MAX 6
#define SHOWN_KEY_MAX 40

enum expected {
    EXPECT_VALUE,
    EXPECT_FIRST_VALUE, /* or the end of the array */
    EXPECT_KEY,
    EXPECT_FIRST_KEY, /* or the end of the object */
    EXPECT_COLON,
    EXPECT_NEXT, /* a comma, or the end of what is open */
    EXPECT_NOTHING,
    BROKEN,
};

struct token {
    size_t start, end;
    char what; /* one of {}[]:, or '"' for a string, 'w' for a word, 0 for none */
};

/* An object or an array that is open. */
struct level {
    bool is_array, has_key;
    size_t key, key_end; /* of the member in an object, with its quotes */
    size_t index;        /* of the element in an array */
};

struct scan {
    const char *text;
    size_t n;
    unsigned depth;
    bool id_is_next; /* the value that comes is that of an `id` */
    unsigned ids;
    struct token id;
    struct level levels[LEVELS_MAX];
};

/* --- tokens -------------------------------------------------------------------------------- */

/* What a byte begins: 's' is white space, 'w' a word, 0 nothing. Some messages have millions. A row
 * has 16 bytes of ASCII. */
/* clang-format off */
static const char beginnings[256] =
    "\0\0\0\0\0\0\0\0\0ss\0\0s\0\0"
    "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"
    "s\0\"\0\0\0\0\0\0\0\0w,ww\0"
    "wwwwwwwwww:\0\0\0\0\0"
    "\0wwwwwwwwwwwwwww"
    "wwwwwwwwwww[\0]\0\0"
    "\0wwwwwwwwwwwwwww"
    "wwwwwwwwwww{\0}\0\0";
/* clang-format on */

static char beginning(const struct scan *scan, size_t at)
{
    return beginnings[(unsigned char)scan->text[at]];
}

/* Returns the offset behind the string that begins at START, or 0 if it does not end. */
static size_t end_of_string(const struct scan *scan, size_t start)
{
    size_t end = json_string_end(scan->text, scan->n, start + 1);
    return end < scan->n ? end + 1 : 0;
}

static struct token next_token(const struct scan *scan, size_t from)
{
    struct token token = {.start = from};
    while (token.start < scan->n && beginning(scan, token.start) == 's')
        token.start++;
    token.end = token.start;
    if (token.start == scan->n)
        return token;
    token.what = beginning(scan, token.start);
    if (token.what == '"') {
        token.end = end_of_string(scan, token.start);
        token.what = token.end > 0 ? '"' : 0;
    } else if (token.what == 'w') {
        while (token.end < scan->n && beginning(scan, token.end) == 'w')
            token.end++;
    } else if (token.what) {
        token.end++;
    }
    return token;
}

/* --- ids ----------------------------------------------------------------------------------- */

/* Decodes a string; NULL if it is wrong. */
static json_t *decode_string(const struct scan *scan, const struct token *token)
{
    return json_loadb(scan->text + token->start, token->end - token->start,
                      JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
}

/* Whether the string is "id", as it stands there or written with escapes. */
static bool says_id(const struct scan *scan, const struct token *token)
{
    size_t n = token->end - token->start;
    if (n == 4)
        return memcmp(scan->text + token->start, "\"id\"", 4) == 0;
    if (n > 2 + 2 * ESCAPE_MAX || !memchr(scan->text + token->start, '\\', n))
        return false;
    json_t *key = decode_string(scan, token);
    bool says = key && strcmp(json_string_value(key), "id") == 0;
    json_decref(key);
    return says;
}

static json_t *take_id(const struct scan *scan, size_t id_max)
{
    if (scan->ids != 1 || scan->id.what != '"' ||
        scan->id.end - scan->id.start > 2 + ESCAPE_MAX * id_max)
        return NULL;
    json_t *id = decode_string(scan, &scan->id);
    size_t length = json_string_length(id);
    if (id && length > 0 && length <= id_max)
        return id;
    json_decref(id);
    return NULL;
}

/* --- the grammar --------------------------------------------------------------------------- */

static struct level *top(struct scan *scan)
{
    return &scan->levels[scan->depth - 1];
}

static enum expected open_level(struct scan *scan, bool is_array)
{
    if (scan->depth == LEVELS_MAX)
        return BROKEN;
    scan->levels[scan->depth++] = (struct level){.is_array = is_array};
    return is_array ? EXPECT_FIRST_VALUE : EXPECT_FIRST_KEY;
}

static enum expected close_level(struct scan *scan, bool is_array)
{
    if (top(scan)->is_array != is_array)
        return BROKEN;
    scan->depth--;
    return scan->depth > 0 ? EXPECT_NEXT : EXPECT_NOTHING;
}

static enum expected take_value(struct scan *scan, const struct token *token)
{
    if (scan->id_is_next) {
        scan->id_is_next = false;
        scan->id = *token;
        scan->ids++;
    }
    if (token->what == '{' || token->what == '[')
        return open_level(scan, token->what == '[');
    return token->what == '"' || token->what == 'w' ? EXPECT_NEXT : BROKEN;
}

static enum expected take_key(struct scan *scan, const struct token *token)
{
    struct level *level = top(scan);
    if (token->what != '"')
        return BROKEN;
    level->has_key = true;
    level->key = token->start;
    level->key_end = token->end;
    scan->id_is_next = scan->depth == 1 && says_id(scan, token);
    return EXPECT_COLON;
}

static enum expected take_next(struct scan *scan, const struct token *token)
{
    struct level *level = top(scan);
    if (token->what == '}' || token->what == ']')
        return close_level(scan, token->what == ']');
    if (token->what != ',')
        return BROKEN;
    level->index++;
    level->has_key = false;
    return level->is_array ? EXPECT_VALUE : EXPECT_KEY;
}

static enum expected take_token(struct scan *scan, enum expected expected,
                                const struct token *token)
{
    switch (expected) {
    case EXPECT_FIRST_VALUE:
        if (token->what == ']')
            return close_level(scan, true);
        return take_value(scan, token);
    case EXPECT_VALUE:
        return take_value(scan, token);
    case EXPECT_FIRST_KEY:
        if (token->what == '}')
            return close_level(scan, false);
        return take_key(scan, token);
    case EXPECT_KEY:
        return take_key(scan, token);
    case EXPECT_COLON:
        return token->what == ':' ? EXPECT_VALUE : BROKEN;
    case EXPECT_NEXT:
        return take_next(scan, token);
    case EXPECT_NOTHING:
    case BROKEN:
        break;
    }
    return BROKEN;
}

/* --- the path ------------------------------------------------------------------------------ */

static void write_path(const struct scan *scan, char *path)
{
    size_t used = 0;
    path[0] = '\0';
    for (unsigned i = 0; i < scan->depth; i++) {
        const struct level *level = &scan->levels[i];
        char step[SHOWN_KEY_MAX + 16] = "";
        if (level->is_array) {
            (void)snprintf(step, sizeof(step), "[%zu]", level->index);
        } else if (level->has_key) {
            const char *key = scan->text + level->key + 1;
            size_t length = level->key_end - level->key - 2;
            (void)snprintf(step, sizeof(step), "%s%.*s%s", used > 0 ? "." : "",
                           (int)utf8_cut(key, length, SHOWN_KEY_MAX), key,
                           length > SHOWN_KEY_MAX ? "..." : "");
        }
        size_t length = strlen(step);
        if (used + length + sizeof("...") > SALVAGE_PATH_MAX) {
            memcpy(path + used, "...", sizeof("..."));
            return;
        }
        memcpy(path + used, step, length + 1);
        used += length;
    }
}

/* --- all of it ----------------------------------------------------------------------------- */

void salvage_read(const char *text, size_t n, size_t at, size_t id_max, struct salvage *ret)
{
    struct scan scan; /* its levels are set when they are opened */
    scan.text = text;
    scan.n = n;
    scan.depth = scan.ids = 0;
    scan.id_is_next = false;
    *ret = (struct salvage){.id = NULL};

    struct token token = next_token(&scan, 0);
    enum expected expected = token.what == '{' ? open_level(&scan, false) : BROKEN;
    bool has_path = false;
    while (expected != BROKEN && expected != EXPECT_NOTHING) {
        token = next_token(&scan, token.end);
        if (!has_path && (token.what == 0 || token.end >= at)) {
            if (token.what == '"' && (expected == EXPECT_KEY || expected == EXPECT_FIRST_KEY))
                (void)take_key(&scan, &token); /* the key is wrong: it is part of the path */
            write_path(&scan, ret->path);
            has_path = true;
        }
        expected = token.what ? take_token(&scan, expected, &token) : BROKEN;
    }
    if (!has_path)
        write_path(&scan, ret->path);
    if (expected == EXPECT_NOTHING && next_token(&scan, token.end).start == n)
        ret->id = take_id(&scan, id_max);
}
