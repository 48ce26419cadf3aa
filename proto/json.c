/* SPDX-License-Identifier: MIT */
#include "json.h"
#include "json_guard.h"
#include "utf8.h"

#include <string.h>

/* What jansson takes for a value besides its text: at least as much, with the place of the value in
 * its container. A key costs time rather than memory. The first value of a container counts with
 * it, each further one with its comma, and a key with its colon. */
#define OBJECT_OVERHEAD 384
#define ARRAY_OVERHEAD 320
#define VALUE_OVERHEAD 128
#define KEY_OVERHEAD 448
/* A real takes no more memory than an integer, but its digits take time, and most if it has an
 * exponent. That true and false have an `e`, too, does no harm. */
#define POINT_OVERHEAD 64
#define EXPONENT_OVERHEAD 128

/* A longer text that is wrong is explained in fewer words: jansson takes 15 ns for each byte. */
#define EXPLAINED_MAX (64u << 10)

/* What one pass over a text finds. */
struct outline {
    size_t too_deep; /* byte offset at which nesting exceeds JSON_DEPTH_MAX, or N */
    size_t too_many; /* byte offset at which the overhead exceeds its bound, or N */
    size_t overhead; /* of the whole text, if neither */
};

/* jansson has a bound of the depth of its own, 2048, fixed at its build. Ignores brackets in
 * strings. For bytes that are not JSON the answer does not matter: the parser refuses them. */
static struct outline outline_of(const char *text, size_t n, size_t max_overhead)
{
    static const uint16_t overheads[256] = {
        ['{'] = OBJECT_OVERHEAD,  ['['] = ARRAY_OVERHEAD, [','] = VALUE_OVERHEAD,
        [':'] = KEY_OVERHEAD,     ['.'] = POINT_OVERHEAD, ['e'] = EXPONENT_OVERHEAD,
        ['E'] = EXPONENT_OVERHEAD};
    size_t overhead = 0;
    unsigned depth = 0;

    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)text[i];
        if (c == '"') {
            i = json_string_end(text, n, i + 1);
            continue;
        }
        overhead += overheads[c];
        if (overhead > max_overhead)
            return (struct outline){.too_deep = n, .too_many = i};
        if (c == '[' || c == '{') {
            if (++depth > JSON_DEPTH_MAX)
                return (struct outline){.too_deep = i, .too_many = n};
        } else if ((c == ']' || c == '}') && depth > 0) {
            depth--;
        }
    }
    return (struct outline){.too_deep = n, .too_many = n, .overhead = overhead};
}

/* What a text of N bytes can take at most while it is parsed. A byte may stand in a token, whose
 * buffer doubles (and pieces of the guard are not used again), in the string that is made of it,
 * and in the key that this becomes. */
static size_t parse_max(size_t n, const struct outline *outline)
{
    return outline->overhead + (4 + 1 + 1) * n + 4096;
}

/* Says what jansson says of a text that json_parse() refuses. 0, -ENOMEM, or -EBADMSG with
 * *ret_error. */
static int parse_by_jansson(const char *text, size_t n, size_t memory, json_t **ret,
                            json_error_t *ret_error)
{
    int r = json_guard_begin(memory);
    if (r < 0)
        return r;
    json_t *value =
        json_loadb(text, n, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL | JSON_DECODE_ANY, ret_error);
    if (json_guard_was_needed()) {
        json_decref(value);
        r = -ENOMEM;
    } else {
        *ret = value;
        r = value ? 0 : -EBADMSG;
    }
    json_guard_end();
    return r;
}

/* Says what is wrong with a text that json_parse() refuses, in jansson's words unless that takes
 * long. 0 or -ENOMEM. */
static int explain(const char *text, size_t n, const struct outline *outline,
                   const struct json_wrong *wrong, size_t *ret_at, struct fault *fault)
{
    json_error_t error = {.line = 0};
    json_t *value = NULL;
    int r =
        n > EXPLAINED_MAX ? 0 : parse_by_jansson(text, n, parse_max(n, outline), &value, &error);
    if (r == -EBADMSG) {
        fault_set(fault, "JSON: line %d column %d: %s", error.line, error.column, error.text);
        *ret_at = MIN((size_t)MAX(error.position, 0), n);
        return 0;
    }
    json_decref(value);
    if (r < 0)
        return r;
    size_t lines = 1, columns = 0;
    for (size_t i = 0; i < wrong->at; i++) {
        columns = text[i] == '\n' ? 0 : columns + ((text[i] & 0xC0) != 0x80);
        lines += text[i] == '\n';
    }
    fault_set(fault, "JSON: line %zu column %zu: %s", lines, columns, wrong->what);
    *ret_at = wrong->at;
    return 0;
}

int json_read_object(const char *text, size_t n, json_t **ret, struct fault *fault)
{
    size_t at;
    return json_read_bounded(text, n, SIZE_MAX, ret, NULL, &at, fault);
}

/* Refuses what would take too much, before anything is allocated for it. */
static int check_outline(const char *text, size_t n, size_t max_overhead,
                         struct outline *ret_outline, size_t *ret_at, struct fault *fault)
{
    struct outline outline = outline_of(text, n, max_overhead);
    if (outline.too_deep < n) {
        fault_set(fault, "JSON: nested deeper than %d levels at byte %zu", JSON_DEPTH_MAX,
                  outline.too_deep);
        *ret_at = outline.too_deep + 1;
        return -EBADMSG;
    }
    if (outline.too_many < n) {
        fault_set(fault, "JSON: too large: its values would take more than %zu MiB",
                  max_overhead >> 20);
        *ret_at = outline.too_many + 1;
        return -EBADMSG;
    }
    const char *nul = memchr(text, '\0', n);
    if (nul) { /* jansson takes some of them for the end of the text */
        fault_set(fault, "JSON: NUL at byte %td", nul - text);
        *ret_at = (size_t)(nul - text) + 1;
        return -EBADMSG;
    }
    *ret_outline = outline;
    return 0;
}

int json_read_bounded(const char *text, size_t n, size_t max_overhead, json_t **ret,
                      struct json_places *places, size_t *ret_at, struct fault *fault)
{
    if (!text)
        text = "";
    struct outline outline;
    int r = check_outline(text, n, max_overhead, &outline, ret_at, fault);
    if (r < 0)
        return r;
    struct json_wrong wrong;
    _cleanup_json_ json_t *value = NULL;
    r = json_parse(text, n, &value, places, &wrong);
    if (r == -EBADMSG) {
        r = explain(text, n, &outline, &wrong, ret_at, fault);
        return r < 0 ? r : -EBADMSG;
    }
    if (r < 0)
        return r;
    if (!json_is_object(value))
        return fault_set(fault, "expected an object, got %s", json_type_name(value));
    *ret = TAKE_PTR(value);
    return 0;
}

json_t *json_text(const char *bytes, size_t n)
{
    size_t length;
    _cleanup_free_ char *text = utf8_replace(bytes, n, &length);
    return text ? json_stringn_nocheck(text, length) : NULL;
}

const char *json_type_name(const json_t *value)
{
    static const char *const names[] = {
        [JSON_OBJECT] = "an object", [JSON_ARRAY] = "an array", [JSON_STRING] = "a string",
        [JSON_INTEGER] = "a number", [JSON_REAL] = "a number",  [JSON_TRUE] = "a boolean",
        [JSON_FALSE] = "a boolean",  [JSON_NULL] = "null",
    };
    return value ? names[json_typeof(value)] : "nothing";
}
