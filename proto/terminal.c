/* SPDX-License-Identifier: MIT */
#include "terminal.h"
#include "base64.h"

#include <string.h>

static int decode_measure(const json_t *value, const char *path, const char *name, unsigned *ret,
                          struct fault *fault)
{
    char where[FIELD_PATH_MAX];
    json_int_t n = json_integer_value(value);
    field_path(where, path, name);
    if (n < 0 || n > TERMINAL_SIZE_MAX)
        return fault_set(fault, "%s: expected an integer from 0 to %d", where, TERMINAL_SIZE_MAX);
    *ret = (unsigned)n;
    return 0;
}

int terminal_decode_size(const json_t *rows, const json_t *columns, const char *path,
                         struct terminal_size *ret, struct fault *fault)
{
    int r = decode_measure(rows, path, "rows", &ret->rows, fault);
    return r < 0 ? r : decode_measure(columns, path, "columns", &ret->columns, fault);
}

/* It becomes a part of the path of a file, for many a program. */
static int decode_term(const json_t *value, const char *path, char **ret, struct fault *fault)
{
    static const char allowed[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+-._";
    const char *name = json_string_value(value);
    size_t n = strlen(name);
    if (n == 0 || n > TERMINAL_NAME_MAX || strspn(name, allowed) != n || name[0] == '.')
        return fault_set(fault,
                         "%s.term: expected 1 to %d letters, digits and +-._, the first of them no "
                         "dot",
                         path, TERMINAL_NAME_MAX);
    return job_copy_text(value, ret);
}

int terminal_decode(const json_t *object, const char *path, struct job_terminal *ret,
                    struct fault *fault)
{
    enum { ROWS, COLUMNS, TERM, FIELDS };
    static const struct field table[FIELDS] = {
        [ROWS] = {"rows", FIELD_INTEGER, FIELD_REQUIRED},
        [COLUMNS] = {"columns", FIELD_INTEGER, FIELD_REQUIRED},
        [TERM] = {"term", FIELD_TEXT, FIELD_NULLABLE},
    };
    const json_t *values[FIELDS];
    int r = fields_decode(object, path, table, FIELDS, values, fault);
    if (r == 0)
        r = terminal_decode_size(values[ROWS], values[COLUMNS], path, &ret->size, fault);
    if (r == 0 && values[TERM])
        r = decode_term(values[TERM], path, &ret->name, fault);
    ret->is_wanted = true;
    return r;
}

int terminal_decode_job(const json_t *value, uint64_t *ret, struct fault *fault)
{
    if (json_integer_value(value) <= 0)
        return fault_set(fault, "job_no: expected an integer above 0");
    *ret = (uint64_t)json_integer_value(value);
    return 0;
}

int terminal_decode_input(const json_t *value, struct bytes *ret, struct fault *fault)
{
    int r = base64_decode(json_string_value(value), json_string_length(value), ret);
    if (r == -EINVAL)
        return fault_set(fault, "base64: not base64 with padding and nothing else");
    if (r == 0 && (ret->length == 0 || ret->length > TERMINAL_INPUT_MAX))
        return fault_set(fault, "base64: expected 1 to %d bytes, got %zu", TERMINAL_INPUT_MAX,
                         ret->length);
    return r;
}
