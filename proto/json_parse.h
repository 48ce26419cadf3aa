/* SPDX-License-Identifier: MIT */
#pragma once
/* A parser that makes jansson's values, in a tenth of the time that jansson's own takes for long
 * strings. Nobody else is served while the largest frame is parsed.
 *
 * It accepts what json_read_object() does. Its tree is the one that jansson makes. */

#include "util.h"

#include <jansson.h>
#include <stddef.h>

/* Deepest nesting that is read; the outermost object counts as 1. */
#define JSON_DEPTH_MAX 200

static inline void json_decref_pointer(json_t **value)
{
    json_decref(*value);
}
#define _cleanup_json_ _cleanup_(json_decref_pointer)

/* Members of the outermost object, and of objects in it, that have a known place; more have none.
 */
#define JSON_PLACES_MAX 32

/* Where the text of some values is: of the members of a request, and of those of its job. */
struct json_places {
    const char *text; /* borrowed */
    unsigned count;
    struct json_place {
        const json_t *value; /* borrowed */
        size_t start, end;
    } place[JSON_PLACES_MAX];
};

/* What is wrong with a text. */
struct json_wrong {
    size_t at; /* offset behind it */
    const char *what;
};

/* Parses the N bytes at TEXT, which nest at most JSON_DEPTH_MAX levels and have no NUL. PLACES may
 * be NULL. 0; -ENOMEM; -EBADMSG with *ret_wrong. The caller owns *ret. */
int json_parse(const char *text, size_t n, json_t **ret, struct json_places *places,
               struct json_wrong *ret_wrong);

/* Copies the text of VALUE without the white space between its tokens to RET, which has at least
 * the room that json_place_length() returns. Returns how many bytes that took. */
size_t json_place_copy(const struct json_places *places, const json_t *value, char *ret);

/* Returns the length of the text of VALUE; 0 if its place is not known. Accepts NULL for PLACES. */
size_t json_place_length(const struct json_places *places, const json_t *value);

/* Returns the offset of the quote that ends the string whose contents begin at AT; N if none does.
 * What is in the string may be wrong. */
size_t json_string_end(const char *text, size_t n, size_t at);
