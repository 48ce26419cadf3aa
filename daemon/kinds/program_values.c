/* SPDX-License-Identifier: MIT */
#include "program.h"

#include "proto/request.h"
#include "proto/utf8.h"

#include <assert.h>
#include <math.h>
#include <string.h>

/* --- equality ----------------------------------------------------------------------------- */

static bool is_countable(const json_t *value)
{
    return json_is_number(value) || json_is_boolean(value);
}

static json_int_t integer_of(const json_t *value)
{
    return json_is_boolean(value) ? json_is_true(value) : json_integer_value(value);
}

/* Compares an integer with a real as numbers, without rounding the integer. */
static bool same_number(json_int_t integer, double real)
{
    return real >= -0x1p63 && real < 0x1p63 && trunc(real) == real && (json_int_t)real == integer;
}

/* As Python compares: 1, 1.0 and True are the same. */
static bool same_count(const json_t *a, const json_t *b)
{
    if (json_is_real(a) && json_is_real(b))
        return json_real_value(a) == json_real_value(b);
    if (json_is_real(a))
        return same_number(integer_of(b), json_real_value(a));
    if (json_is_real(b))
        return same_number(integer_of(a), json_real_value(b));
    return integer_of(a) == integer_of(b);
}

static bool same_value(const json_t *a, const json_t *b);

static bool same_array(const json_t *a, const json_t *b) // NOLINT(misc-no-recursion)
{
    if (json_array_size(a) != json_array_size(b))
        return false;
    for (size_t i = 0; i < json_array_size(a); i++)
        if (!same_value(json_array_get(a, i), json_array_get(b, i)))
            return false;
    return true;
}

static bool same_object(const json_t *a, const json_t *b) // NOLINT(misc-no-recursion)
{
    json_t *walked = (json_t *)(uintptr_t)a;
    if (json_object_size(a) != json_object_size(b))
        return false;
    for (void *i = json_object_iter(walked); i; i = json_object_iter_next(walked, i)) {
        const json_t *other = json_object_get(b, json_object_iter_key(i));
        if (!other || !same_value(json_object_iter_value(i), other))
            return false;
    }
    return true;
}

/* The parser has bounded how deep they are. */
static bool same_value(const json_t *a, const json_t *b) // NOLINT(misc-no-recursion)
{
    assert(a && b);
    if (is_countable(a) && is_countable(b))
        return same_count(a, b);
    if (json_typeof(a) != json_typeof(b))
        return false;
    if (json_is_array(a))
        return same_array(a, b);
    return json_is_object(a) ? same_object(a, b) : json_equal(a, b);
}

/* --- texts -------------------------------------------------------------------------------- */

/* Copies the beginning of TEXT as valid UTF-8. 0 or -ENOMEM. */
static int excerpt(const char *text, size_t n, struct bytes *ret)
{
    size_t length;
    char *copy = utf8_replace(text, MIN(n, (size_t)COMPARE_EXCERPT_MAX), &length);
    if (!copy)
        return -ENOMEM;
    length = utf8_cut(copy, length, COMPARE_EXCERPT_MAX);
    copy[length] = '\0';
    *ret = (struct bytes){.data = copy, .length = length};
    return 0;
}

/* Reads {"value": ...}. 0; -EINVAL with *ret_why; or -ENOMEM. */
static int read_value(const char *text, size_t n, json_t **ret, const char **ret_why)
{
    size_t at;
    struct fault fault = FAULT_NULL;
    *ret_why = "the function gave back nothing";
    if (n == 0)
        return -EINVAL;
    *ret_why = "the value is none that JSON has";
    _cleanup_json_ json_t *object = NULL;
    int r = json_read_bounded(text, n, REQUEST_OVERHEAD_MAX, &object, NULL, &at, &fault);
    if (r == -ENOMEM)
        return r;
    json_t *value = r < 0 ? NULL : json_object_get(object, "value");
    if (!value)
        return -EINVAL;
    *ret = json_incref(value);
    return 0;
}

static int differ(const struct bytes *got, const struct bytes *expected, const char *why,
                  struct difference *ret)
{
    static const char head[] = "{\"value\": ";
    size_t n = strlen(head);
    bool is_value = got->length > n && memcmp(got->data, head, n) == 0;
    const char *shown = is_value ? got->data + n : got->data ? got->data : "";
    _cleanup_difference_ struct difference difference = DIFFERENCE_NULL;
    /* Without the brace that ends the object. */
    int r = excerpt(shown, is_value ? got->length - n - 1 : got->length, &difference.got);
    if (r == 0)
        r = excerpt(expected->data, expected->length, &difference.expected);
    if (r < 0)
        return r;
    difference.differs = true;
    difference.why = why;
    *ret = TAKE_STRUCT(difference, DIFFERENCE_NULL);
    return 0;
}

/* Puts the expected value into an object, as the caller of the function does with the other. */
static int wrap(const struct bytes *value, struct bytes *ret)
{
    struct printer printer = PRINTER_NULL;
    printer_open(&printer);
    printer_name(&printer, "value");
    printer_bytes(&printer, value);
    printer_close(&printer);
    return printer_finish(&printer, ret);
}

int program_compare_values(const struct bytes *got, const struct bytes *expected,
                           struct difference *ret)
{
    const char *why = NULL;
    _cleanup_json_ json_t *value = NULL, *wanted = NULL;
    _cleanup_bytes_ struct bytes wrapped = BYTES_NULL;
    int r = wrap(expected, &wrapped);
    if (r == 0)
        r = read_value(wrapped.data, wrapped.length, &wanted, &why);
    if (r == 0)
        r = read_value(got->data, got->length, &value, &why);
    if (r == -EINVAL)
        return differ(got, expected, why, ret);
    if (r < 0)
        return r;
    if (!same_value(value, wanted))
        return differ(got, expected, "the values differ", ret);
    *ret = (struct difference)DIFFERENCE_NULL;
    return 0;
}
