/* SPDX-License-Identifier: MIT */
#include "fields.h"
#include "utf8.h"

#include <string.h>

/* Messages show at most this many bytes of a name that a client chose. */
#define NAME_SHOWN_MAX 64

void field_path(char out[FIELD_PATH_MAX], const char *path, const char *name)
{
    if (!*name)
        name = "\"\"";
    size_t length = strlen(name), shown = utf8_cut(name, length, NAME_SHOWN_MAX);
    (void)snprintf(out, FIELD_PATH_MAX, "%.80s%s%.*s%s", path, *path ? "." : "", (int)shown, name,
                   shown < length ? "..." : "");
}

static bool has_type(const json_t *value, enum field_type type)
{
    switch (type) {
    case FIELD_STRING:
    case FIELD_TEXT:
        return json_is_string(value);
    case FIELD_INTEGER:
        return json_is_integer(value);
    case FIELD_NUMBER:
        return json_is_number(value);
    case FIELD_BOOLEAN:
        return json_is_boolean(value);
    case FIELD_OBJECT:
        return json_is_object(value);
    case FIELD_ARRAY:
        return json_is_array(value);
    case FIELD_ANY:
        return true;
    }
    return false;
}

/* Tells whether TYPE asks for a C string and VALUE has a NUL in it. */
static bool has_nul(const json_t *value, enum field_type type)
{
    return type == FIELD_TEXT && strlen(json_string_value(value)) != json_string_length(value);
}

int field_check_type(const json_t *value, enum field_type type, const char *path,
                     struct fault *fault)
{
    static const char *const expected[] = {
        [FIELD_STRING] = "a string", [FIELD_TEXT] = "a string",     [FIELD_INTEGER] = "an integer",
        [FIELD_NUMBER] = "a number", [FIELD_BOOLEAN] = "a boolean", [FIELD_OBJECT] = "an object",
        [FIELD_ARRAY] = "an array",  [FIELD_ANY] = "anything",
    };
    if (!has_type(value, type))
        return fault_set(fault, "%s: expected %s, got %s", path, expected[type],
                         json_type_name(value));
    if (has_nul(value, type))
        return fault_set(fault, "%s: contains a NUL character", path);
    return 0;
}

int field_text_at(const json_t *list, size_t i, const char *path, char where[FIELD_PATH_MAX],
                  const char **ret_text, struct fault *fault)
{
    const json_t *item = json_array_get(list, i);
    (void)snprintf(where, FIELD_PATH_MAX, "%s[%zu]", path, i);
    *ret_text = json_string_value(item);
    return field_check_type(item, FIELD_TEXT, where, fault);
}

static int decode_one(const json_t *object, const char *path, const struct field *field,
                      const json_t **value, struct fault *fault)
{
    const json_t *found = json_object_get(object, field->name);
    bool is_missing = !found && field->presence == FIELD_REQUIRED;
    if (json_is_null(found) && field->presence == FIELD_NULLABLE)
        found = NULL;
    /* Format the path only on failure: every field of every message passes here. */
    if (is_missing || (found && (!has_type(found, field->type) || has_nul(found, field->type)))) {
        char where[FIELD_PATH_MAX];
        field_path(where, path, field->name);
        return is_missing ? fault_set(fault, "%s: missing", where)
                          : field_check_type(found, field->type, where, fault);
    }
    *value = found;
    return 0;
}

static bool in_table(const char *name, const struct field *table, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(name, table[i].name) == 0)
            return true;
    return false;
}

int fields_decode(const json_t *object, const char *path, const struct field *table, size_t n,
                  const json_t *values[], struct fault *fault)
{
    json_t *walked = (json_t *)(uintptr_t)object; /* jansson's iterators take no const */
    for (void *i = json_object_iter(walked); i; i = json_object_iter_next(walked, i)) {
        if (!in_table(json_object_iter_key(i), table, n)) {
            char where[FIELD_PATH_MAX];
            field_path(where, path, json_object_iter_key(i));
            return fault_set(fault, "%s: unknown field", where);
        }
    }
    for (size_t i = 0; i < n; i++) {
        int r = decode_one(object, path, &table[i], &values[i], fault);
        if (r < 0)
            return r;
    }
    return 0;
}
