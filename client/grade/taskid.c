/* SPDX-License-Identifier: MIT */
#include "taskid.h"

#include <string.h>

int task_id_of(const json_t *object, char ret[TASK_ID_MAX + 1], struct fault *fault)
{
    const json_t *id = json_object_get(object, "task_id");
    size_t n = json_string_length(id);
    if (json_is_integer(id)) {
        (void)snprintf(ret, TASK_ID_MAX + 1, "%" JSON_INTEGER_FORMAT, json_integer_value(id));
        return 0;
    }
    if (!json_is_string(id))
        return fault_set(fault, "task_id: expected a string or a number, got %s",
                         json_type_name(id));
    if (n == 0 || n > TASK_ID_MAX)
        return fault_set(fault, "task_id: expected 1 to %d bytes, got %zu", TASK_ID_MAX, n);
    if (strlen(json_string_value(id)) != n)
        return fault_set(fault, "task_id: a NUL is not allowed");
    memcpy(ret, json_string_value(id), n + 1);
    return 0;
}
