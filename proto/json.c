/* SPDX-License-Identifier: MIT */
#include "json.h"
#include "utf8.h"

#include <math.h>
#include <string.h>

void bytes_deinit(struct bytes *bytes)
{
    free(bytes->data);
    *bytes = (struct bytes)BYTES_NULL;
}

int bytes_copy(const char *data, size_t n, struct bytes *ret)
{
    char *copy = malloc(n + 1);
    if (!copy)
        return -ENOMEM;
    if (n > 0)
        memcpy(copy, data, n);
    copy[n] = '\0';
    *ret = (struct bytes){.data = copy, .length = n};
    return 0;
}

/* Byte offset at which nesting passes JSON_DEPTH_MAX, or N. jansson's own bound (2048) is fixed
 * when it is built. Brackets in strings don't count; in bytes that are not JSON the answer does
 * not matter, the parser refuses them. */
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
    if (nul) { /* some of which jansson takes for the end */
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

/* Significant digits that REAL needs to be read back as itself: 15, 16 or 17. */
static size_t digits_of(double real)
{
    for (int digits = 15; digits < 17; digits++) {
        char text[40];
        (void)snprintf(text, sizeof(text), "%.*g", digits, real);
        if (strtod(text, NULL) == real)
            return (size_t)digits;
    }
    return 17;
}

/* Recursion is bounded: what is printed was read under JSON_DEPTH_MAX or built here. */
static size_t digits_needed(const json_t *value) // NOLINT(misc-no-recursion)
{
    size_t needed = 15, of_item;
    if (json_is_real(value)) {
        needed = digits_of(json_real_value(value));
    } else if (json_is_array(value)) {
        for (size_t i = 0; i < json_array_size(value); i++) {
            of_item = digits_needed(json_array_get(value, i));
            needed = MAX(needed, of_item);
        }
    } else if (json_is_object(value)) {
        json_t *walked = (json_t *)(uintptr_t)value;
        for (void *i = json_object_iter(walked); i; i = json_object_iter_next(walked, i)) {
            of_item = digits_needed(json_object_iter_value(i));
            needed = MAX(needed, of_item);
        }
    }
    return needed;
}

struct printer {
    struct bytes text;
    size_t capacity;
    bool failed;
};

/* jansson goes on after a failed write here and there: what counts is `failed`. */
static int append(const char *text, size_t n, void *userdata)
{
    struct printer *printer = userdata;
    if (printer->text.length + n + 1 > printer->capacity) {
        size_t capacity = MAX(printer->text.length + n + 1, MAX(printer->capacity * 2, 256));
        char *data = realloc(printer->text.data, capacity);
        if (!data) {
            printer->failed = true;
            return -1;
        }
        printer->text.data = data;
        printer->capacity = capacity;
    }
    memcpy(printer->text.data + printer->text.length, text, n);
    printer->text.length += n;
    printer->text.data[printer->text.length] = '\0';
    return 0;
}

int json_print(const json_t *value, struct bytes *ret)
{
    struct printer printer = {.text = BYTES_NULL};
    int r = json_dump_callback(value, append, &printer,
                               JSON_COMPACT | JSON_ENCODE_ANY |
                                   JSON_REAL_PRECISION(digits_needed(value)));
    if (r < 0 || printer.failed || !printer.text.data) {
        bytes_deinit(&printer.text);
        return -ENOMEM;
    }
    *ret = printer.text;
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
