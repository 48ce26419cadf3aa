/* SPDX-License-Identifier: MIT */
#include "json.h"
#include "utf8.h"

#include <string.h>

/* Returns the byte offset at which nesting exceeds JSON_DEPTH_MAX, or N. jansson has a bound of its
 * own, 2048, fixed at its build. Ignores brackets in strings. For bytes that are not JSON the
 * answer does not matter: the parser refuses them. */
static size_t too_deep_at(const char *text, size_t n)
{
    unsigned depth = 0;
    bool in_string = false;

    for (size_t i = 0; i < n; i++) {
        char c = text[i];
        if (in_string) {
            if (c == '\\')
                i++;
            else if (c == '"')
                in_string = false;
        } else if (c == '"') {
            in_string = true;
        } else if (c == '[' || c == '{') {
            if (++depth > JSON_DEPTH_MAX)
                return i;
        } else if ((c == ']' || c == '}') && depth > 0) {
            depth--;
        }
    }
    return n;
}

int json_read_object(const char *text, size_t n, json_t **ret, struct fault *fault)
{
    if (!text)
        text = "";
    size_t deep = too_deep_at(text, n);
    if (deep < n) {
        fault_set(fault, "JSON: nested deeper than %d levels at byte %zu", JSON_DEPTH_MAX, deep);
        return -EBADMSG;
    }

    const char *nul = memchr(text, '\0', n);
    if (nul) { /* jansson takes some of them for the end of the text */
        fault_set(fault, "JSON: NUL at byte %td", nul - text);
        return -EBADMSG;
    }

    json_error_t error;
    _cleanup_json_ json_t *value =
        json_loadb(text, n, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL | JSON_DECODE_ANY, &error);
    if (!value && (error.line < 0 || json_error_code(&error) == json_error_out_of_memory))
        return -ENOMEM;
    if (!value) {
        fault_set(fault, "JSON: line %d column %d: %s", error.line, error.column, error.text);
        return -EBADMSG;
    }
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
