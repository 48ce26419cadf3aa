/* SPDX-License-Identifier: MIT */
#include "evalplus.h"

#include "proto/lenient.h"

#include <string.h>

#define PLUS "plus_input"
#define BASE "base_input"
/* There are 974 tasks in MBPP. */
#define MBPP_DIGITS_MAX 6

bool evalplus_is_raw(const json_t *object)
{
    const json_t *plus = json_object_get(object, PLUS);
    return plus && !json_is_null(plus);
}

bool evalplus_calls(const json_t *object)
{
    const char *name = json_string_value(json_object_get(object, "entry_point"));
    return name && strcmp(name, "check") == 0;
}

/* Writes VALUE, a string, as a literal of Python: those of JSON are, except for a surrogate pair in
 * escapes, which jansson does not write. */
static void put_literal(FILE *out, const json_t *value)
{
    char *text = json_dumps(value, JSON_ENCODE_ANY);
    (void)fputs(text ? text : "", out);
    free(text);
}

static void put_literal_of(FILE *out, const char *text, size_t n)
{
    _cleanup_json_ json_t *value = json_stringn(text, n);
    put_literal(out, value);
}

/* Writes the solution: a beginning and an end. */
static void put_program(FILE *out, const json_t *object)
{
    const char *const parts[] = {"prompt", "canonical_solution"};
    for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
        put_literal(out, json_object_get(object, parts[i]));
        (void)fputs(i == 0 ? " " : ", ", out); /* adjacent literals are one */
    }
}

/* Fails unless NAME is an array of arrays. */
static int check_inputs(const json_t *object, const char *name, struct fault *fault)
{
    const json_t *inputs = json_object_get(object, name);
    if (!json_is_array(inputs))
        return fault_set(fault, "%s: expected an array, got %s", name, json_type_name(inputs));
    for (size_t i = 0; i < json_array_size(inputs); i++)
        if (!json_is_array(json_array_get(inputs, i)))
            return fault_set(fault, "%s[%zu]: expected an array, got %s", name, i,
                             json_type_name(json_array_get(inputs, i)));
    return 0;
}

static int check(const json_t *object, struct fault *fault)
{
    const json_t *atol_ = json_object_get(object, "atol");
    if (atol_ && !json_is_null(atol_) && !json_is_number(atol_))
        return fault_set(fault, "atol: expected a number, got %s", json_type_name(atol_));
    int r = check_inputs(object, BASE, fault);
    if (r == 0)
        r = check_inputs(object, PLUS, fault);
    if (r == 0 && json_array_size(json_object_get(object, BASE)) +
                          json_array_size(json_object_get(object, PLUS)) ==
                      0)
        r = fault_set(fault, PLUS ": there is no input");
    return r;
}

/* The number of a task of MBPP+, whose inputs are turned into other types, task by task, and of
 * which some accept more than one answer; NULL for others. */
static const char *mbpp_number(const json_t *object)
{
    static const char prefix[] = "Mbpp/";
    const char *id = json_string_value(json_object_get(object, "task_id"));
    const char *number = id && strncmp(id, prefix, strlen(prefix)) == 0 ? id + strlen(prefix) : "";
    size_t n = strspn(number, "0123456789");
    return n > 0 && n < MBPP_DIGITS_MAX && number[0] != '0' && number[n] == '\0' ? number : NULL;
}

int evalplus_make_test(const json_t *object, const char *text, size_t n, json_t **ret,
                       struct fault *fault)
{
    static const char *const names[] = {BASE, PLUS};
    _cleanup_free_ char *test = NULL;
    size_t length = 0;
    int r = check(object, fault);
    if (r < 0)
        return r;
    FILE *out = open_memstream(&test, &length);
    if (!out)
        return -ENOMEM;
    bool calls = evalplus_calls(object);
    (void)fprintf(out, "%s\n\n%s", evalplus_code,
                  calls ? "_evalplus(check, " : "def check(candidate):\n    _evalplus(candidate, ");
    put_program(out, object);
    put_literal(out, json_object_get(object, "entry_point"));
    (void)fputs(", [", out);
    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        const char *inputs;
        size_t inputs_n;
        if (json_member_text(text, n, names[i], &inputs, &inputs_n))
            put_literal_of(out, inputs, inputs_n);
        (void)fputs(", ", out);
    }
    const char *number = mbpp_number(object);
    (void)fprintf(out, "], %.17g, %s)\n", json_number_value(json_object_get(object, "atol")),
                  number ? number : "None");
    bool failed = ferror(out) != 0;
    if (fclose(out) != 0 || failed)
        return -ENOMEM;
    *ret = json_stringn(test, length);
    return *ret ? 0 : -ENOMEM;
}
