/* SPDX-License-Identifier: MIT */
#include "taskid.h"

#include <string.h>

int task_id_in(const json_t *object, const char *name, char ret[TASK_ID_MAX + 1],
               struct fault *fault)
{
    const json_t *id = json_object_get(object, name);
    size_t n = json_string_length(id);
    if (json_is_integer(id)) {
        (void)snprintf(ret, TASK_ID_MAX + 1, "%" JSON_INTEGER_FORMAT, json_integer_value(id));
        return 0;
    }
    if (!json_is_string(id))
        return fault_set(fault, "%s: expected a string or a number, got %s", name,
                         json_type_name(id));
    if (n == 0 || n > TASK_ID_MAX)
        return fault_set(fault, "%s: expected 1 to %d bytes, got %zu", name, TASK_ID_MAX, n);
    if (strlen(json_string_value(id)) != n)
        return fault_set(fault, "%s: a NUL is not allowed", name);
    memcpy(ret, json_string_value(id), n + 1);
    return 0;
}

int task_id_of(const json_t *object, char ret[TASK_ID_MAX + 1], struct fault *fault)
{
    return task_id_in(object, "task_id", ret, fault);
}
